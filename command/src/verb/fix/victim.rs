//! Whose lateness is to be fixed: threads that run, a command, or threads that measure.

use crate::confine::Kept;
use crate::explanation::is_still_there;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::program;
use crate::recordings;
use crate::session::{self, Request, Session, settings};
use crate::verb::load;
use crate::verb::trial::{Victim, VictimFlags, threads_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_explain::Explanation;
use tardy_recording::{Manifest, Trigger};
use tardy_whatif::WhatIf;

/// What was found of the lateness, and on whom a remedy can be tried.
pub(super) struct Found {
    pub(super) explanation: Explanation,
    /// The recording, simulated; or why it cannot be.
    pub(super) whatif: Result<WhatIf, String>,
    pub(super) victim: Victim,
    /// The late threads that run now.
    pub(super) threads: Vec<u32>,
    /// None of the late threads runs any more: a plan can be shown, and nothing be tried.
    pub(super) has_ended: bool,
    /// What ran beside.
    pub(super) load: String,
    /// The wakeup that it was kept for, of a recording that was.
    pub(super) kept_for: Option<Trigger>,
}

impl Found {
    /// The processes that had a part in the lateness: a name that is proposed is for those, and for no stranger who is
    /// called the same.
    pub(super) fn culprits(&self) -> BTreeSet<u32> {
        if self.has_ended {
            return BTreeSet::new();
        }
        let all = self.explanation.culprits.iter().filter_map(|culprit| culprit.process);
        all.filter(|process| is_still_there(*process, &self.explanation)).collect()
    }
}

/// Records those that are chosen for a while.
pub(super) fn record(
    flags: &VictimFlags,
    beside: &str,
    duration: Duration,
    interrupt: &Interrupt,
    output: &Output,
) -> Result<PathBuf, Failure> {
    let victim = flags.victim()?;
    let load = load::parse(beside, None, output)?;
    let mut running = victim.start();
    let processes = running.watched();
    let mut settings = settings::of_run(Some(&load), Some(duration));
    settings.extend(settings::of_processes(processes.iter().copied()));
    settings.extend(settings::of_command(&flags.command));
    let request = Request {
        folder: output::recording_folder(None, "fix")?,
        settings,
        watched_processes: processes.clone(),
        watch_children: victim.is_command(),
        ..Request::default()
    };
    let load = load.start()?;
    let session = Session::begin(&session::probe_host(), request)
        .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
    running.see_to_it()?;
    let quiet = output.hides_progress();
    let threads = program::threads(None, &processes, &flags.comm);
    let words = || format!("{} events to {}", session.events(), session.folder.display());
    program::attend(&session, interrupt, None, Some(duration), quiet, threads, words)?;
    drop(running);
    load.stop();
    let sealed = session.end()?;
    if interrupt.is_asked() {
        return Err(Failure::new("interrupted: nothing was changed"));
    }
    Ok(sealed.dir)
}

/// Before a recording is read that is not of this user and system: of it only a plan can be shown, and who reads it gives
/// up all that this does not take.
pub(super) fn see_where_from(
    folder: &Path,
    manifest: &Manifest,
    only_plan: bool,
) -> Result<(), Failure> {
    if recordings::is_of_here(folder, manifest) {
        return Ok(());
    }
    if !only_plan {
        return Err(Failure::usage(format!(
            "{} was not recorded by this user on this system since it booted, so its processes are not those that run \
             now: name what to try changes on, a process (tardy fix -p PID) or a command (tardy fix -- CMD); \
             --dry-run shows the plan alone",
            folder.display()
        )));
    }
    Kept::for_results(None).reading(folder).alone();
    Ok(())
}

/// On whom a remedy can be tried: who was chosen; else the late threads of the recording, where they still run; else,
/// where they did nothing but measure, such threads again.
pub(super) fn found(
    flags: &VictimFlags,
    manifest: &Manifest,
    explanation: Explanation,
    whatif: Result<WhatIf, String>,
    load: String,
    folder: &Path,
    only_plan: bool,
) -> Result<Found, Failure> {
    let victims = &explanation.victims;
    let has_ended = false;
    if flags.is_chosen() {
        let victim = flags.victim()?;
        let late: BTreeSet<u32> = victims.iter().filter_map(|victim| victim.label.pid).collect();
        let all: Vec<u32> =
            victim.numbers().iter().flat_map(|process| threads_of(*process)).collect();
        let threads = all.into_iter().filter(|tid| late.contains(tid)).collect();
        return Ok(Found { explanation, whatif, victim, threads, has_ended, load, kept_for: None });
    }
    // Numbers of processes in it are those of others, and what it says may be anybody's.
    let is_foreign = !recordings::is_of_here(folder, manifest);
    if !is_foreign && !victims.is_empty() && victims.iter().all(|victim| victim.measures) {
        let victim = Victim::command(measuring(manifest)?);
        let threads = Vec::new();
        return Ok(Found { explanation, whatif, victim, threads, has_ended, load, kept_for: None });
    }
    let living =
        victims.iter().filter(|victim| !victim.has_exited && !victim.measures && !is_foreign);
    let living: Vec<(u32, u32)> = living
        .filter_map(|victim| {
            let (process, tid) = (victim.process?, victim.label.pid?);
            let name = std::fs::read_to_string(format!("/proc/{process}/task/{tid}/comm")).ok()?;
            let is_it = name.trim_end() == victim.label.name
                && [process, tid].into_iter().all(|number| is_still_there(number, &explanation));
            is_it.then_some((process, tid))
        })
        .collect();
    if living.is_empty() && !only_plan {
        let command = match crate::explanation::recorded_command(Some(folder), manifest) {
            command if command.is_empty() => "CMD".to_owned(),
            command => command,
        };
        return Err(Failure::usage(format!(
            "none of the late threads of this recording is running any more: name what to try changes on, a command \
             (tardy fix -- {command}) or a process (tardy fix -p PID); --dry-run shows the plan alone"
        )));
    }
    let has_ended = living.is_empty();
    let processes: BTreeSet<u32> = living.iter().map(|(process, _)| *process).collect();
    let threads = living.into_iter().map(|(_, tid)| tid).collect();
    Ok(Found {
        explanation,
        whatif,
        victim: Victim::processes(processes.into_iter().collect()),
        threads,
        has_ended,
        load,
        kept_for: manifest.trigger.clone(),
    })
}

/// The command that measures as the recording's threads did.
fn measuring(manifest: &Manifest) -> Result<Vec<String>, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::new(format!("tardy cannot find its own program: {error}")))?;
    let mut command =
        vec![own.display().to_string(), "measure".to_owned(), "cyclic".to_owned(), "-q".to_owned()];
    let mut flag = |name: &str, value: &str| command.extend([name.to_owned(), value.to_owned()]);
    let told = |name: &str| manifest.settings.get(name).map(String::as_str);
    if let Some(interval) = told("run.interval") {
        flag("--interval", interval);
    }
    if let Some(threads) = told("run.threads").filter(|threads| threads.parse::<u32>().is_ok()) {
        flag("--threads", threads);
    }
    if let Some(policy) = told("run.policy") {
        match policy.split_once(' ') {
            Some((policy, prio)) => {
                flag("--policy", policy);
                flag("--priority", prio);
            }
            None => flag("--policy", policy),
        }
    }
    if let Some(slack) = told("run.slack").filter(|slack| *slack != "default") {
        flag("--slack", slack);
    }
    if told("run.idle_latency_limit_us") == Some("none") {
        command.push("--laptop".to_owned());
    }
    Ok(command)
}
