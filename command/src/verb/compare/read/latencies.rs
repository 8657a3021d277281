//! The latencies of a recording, or of another tool's trace, in order of time.

use super::super::opened::{Data, Opened};
use super::super::rows::listed;
use super::circumstance;
use crate::failure::Failure;
use crate::input::Input;
use crate::session::settings;
use std::collections::HashMap;
use tardy_explain::change::Account;
use tardy_explain::{Explainer, Named, Options, Sink, Watch};
use tardy_model::Batch;
use tardy_recording::Manifest;
use tardy_report::{SideFacts, SideKind, units};

/// Latencies of one side at most: 16 bytes each, 512 MiB. A thread that wakes every millisecond has as
/// many in nine hours.
const LATENCIES_MAX: usize = 1 << 25;

/// Names of threads at most, as many as their places can tell.
const NAMES_MAX: usize = u16::MAX as usize;

/// Reads all wakeups of the threads that the recording watched, or of those of one name.
pub(super) fn read(given: &str, mut input: Input, thread: Option<&str>) -> Result<Opened, Failure> {
    let kind = match input {
        Input::Recording(..) => SideKind::Recording,
        Input::Trace(..) => SideKind::Trace,
    };
    let chosen =
        Watch { comms: thread.iter().map(|name| (*name).to_owned()).collect(), ..Watch::default() };
    let options = Options { watch: input.watch(chosen), worst: 0 };
    let manifest = input.manifest();
    let mut explainer = Explainer::new(options, InOrder::default());
    let mut batch = Batch::default();
    while input.read(&mut batch)? {
        explainer.batch(&batch);
        batch.clear();
        if let Some(bound) = explainer.sink_mut().bound {
            return Err(Failure::new(format!(
                "{given} has more than {bound}: choose a thread with --thread, or record for less long"
            )));
        }
    }
    let (explanation, found) = explainer.finish();
    if let (Some(name), true) = (thread, found.series.is_empty()) {
        return Err(Failure::new(format!(
            "{given} has no wakeup of {name:?}: tardy explain --all lists the threads in it"
        )));
    }
    let end = input.closing();
    let mut notes = manifest.notes.clone();
    notes.extend(end.notes);
    if explanation.lost > 0 {
        notes.push(format!(
            "{} events were lost, which may affect {} of {} wakeups",
            units::count(explanation.lost),
            units::count(found.touched_by_loss),
            units::count(found.series.len() as u64)
        ));
    }
    if found.names.len() > 1 {
        let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
        notes.push(format!("wakeups of {}", listed(&names)));
    }
    Ok(Opened {
        facts: SideFacts {
            given: given.to_owned(),
            kind,
            circumstances: circumstances(&manifest),
            notes,
            ..SideFacts::default()
        },
        settings: manifest.settings,
        account: Ok(found.account),
        reserve: None,
        names: found.names,
        data: Data::Series(found.series),
    })
}

fn circumstances(manifest: &Manifest) -> Vec<(String, String)> {
    let host = &manifest.host;
    let cpus = match host.cpus_online {
        0 => String::new(),
        cpus => cpus.to_string(),
    };
    // What is kept with the settings now, old recordings tell only so.
    let is_kept = manifest.settings.contains_key(settings::LOAD);
    let load = load(&manifest.command_line).filter(|_| !is_kept);
    let told = [
        ("kernel", host.kernel_release.as_str()),
        ("architecture", &host.arch),
        ("preemption", host.preemption.as_deref().unwrap_or_default()),
        ("host", &host.name),
        ("hypervisor", host.hypervisor.as_deref().unwrap_or_default()),
        ("CPUs", &cpus),
        ("events", &manifest.source),
        ("load", load.unwrap_or_default()),
        ("kernel build", &host.kernel_version),
    ];
    told.into_iter().filter_map(|(name, value)| circumstance(name, value)).collect()
}

/// The load that a recording's command line asked for.
fn load(command_line: &[String]) -> Option<&str> {
    command_line.iter().enumerate().find_map(|(at, argument)| match argument.as_str() {
        "--load" => command_line.get(at + 1).map(String::as_str),
        argument => argument.strip_prefix("--load="),
    })
}

/// Wakeups as they end.
#[derive(Default)]
struct InOrder {
    names: Vec<String>,
    places: HashMap<String, u16>,
    series: Vec<(u16, u64)>,
    account: Account,
    touched_by_loss: u64,
    /// The bound that was reached; nothing is kept after it.
    bound: Option<&'static str>,
}

impl Sink for InOrder {
    fn wakeup(&mut self, named: &Named<'_>) {
        if self.bound.is_some() {
            return;
        }
        let name = &named.victim().name;
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.names.len() == NAMES_MAX => {
                self.bound = Some("65,535 names of threads");
                return;
            }
            None => {
                let place = self.names.len() as u16;
                self.names.push(name.clone());
                self.places.insert(name.clone(), place);
                place
            }
        };
        if self.series.len() == LATENCIES_MAX {
            self.bound = Some("33,554,432 wakeups");
            return;
        }
        let wakeup = named.wakeup();
        self.series.push((place, wakeup.lateness_ns));
        self.account.add(named);
        self.touched_by_loss += u64::from(wakeup.near_loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_that_of_the_command_line() {
        let line = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(load(&line("tardy run --load storm:40 -o x")), Some("storm:40"));
        assert_eq!(load(&line("tardy run --load=hackbench")), Some("hackbench"));
        assert_eq!(load(&line("tardy record --load")), None);
    }
}
