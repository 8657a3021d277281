//! A recording without a wakeup of those who are asked for: who is missing, whose wakeups there are, and what to do.

use crate::failure::Failure;
use crate::input::{ImportFlags, Input};
use crate::output::Output;
use crate::verb::WatchFlags;
use std::cmp::Reverse;
use std::path::Path;
use tardy_explain::{Explainer, Explanation, Options, VictimFinding, Watch};
use tardy_model::event::Comm;
use tardy_report::units::{counted, duration};

/// Threads that are named at most.
const NAMED_MAX: usize = 5;

/// Fails where nobody who is asked for has a wakeup in a recording in which others have some; says who is missing where
/// only some are.
pub(crate) fn must_have_wakeups(
    explanation: &Explanation,
    watch: &WatchFlags,
    recording: &Path,
    import: &ImportFlags,
) -> Result<(), Failure> {
    let name = recording.display();
    let missing = missing(explanation, watch);
    let lacks = (!missing.is_empty())
        .then(|| format!("{name} has no wakeup of {}", missing.join(", or of ")));
    if explanation.latencies.count() > 0 {
        if let Some(lacks) = lacks {
            Output::default().remark(&lacks);
        }
        return Ok(());
    }
    let others = others(recording, import)?;
    if lacks.is_none() && others.is_empty() {
        // It has no wakeup at all, which is no mistake of who asks.
        return Ok(());
    }
    let what = lacks.unwrap_or_else(|| format!("{name} does not say which threads matter"));
    Err(Failure::usage(format!("{what}; {}", to_do(others, &watch.comm))))
}

/// Those of the chosen who have no wakeup.
fn missing(explanation: &Explanation, watch: &WatchFlags) -> Vec<String> {
    // Some who have wakeups are not listed.
    if explanation.victims_left_out > 0 {
        return Vec::new();
    }
    let victims = &explanation.victims;
    let has_name =
        |name: &str| victims.iter().any(|it| Comm::new(&it.label.name) == Comm::new(name));
    let has_id =
        |pid: u32| victims.iter().any(|it| [it.label.pid, it.process].contains(&Some(pid)));
    let ids = watch.pid.iter().filter(|pid| !has_id(**pid));
    let names = watch.comm.iter().filter(|name| !has_name(name));
    let ids = ids.map(|pid| format!("a thread or process {pid}"));
    ids.chain(names.map(|name| format!("a thread called {name}"))).collect()
}

/// Who has wakeups in it, most lateness first. What can be read once tells nothing more.
fn others(recording: &Path, import: &ImportFlags) -> Result<Vec<VictimFinding>, Failure> {
    if !recording.is_dir() && !recording.is_file() {
        return Ok(Vec::new());
    }
    let mut input = Input::open(recording, import)?;
    let watch = Watch { all: true, ..Watch::default() };
    let mut explainer = Explainer::new(Options { watch: input.watch(watch), worst: 0 }, ());
    input.show_to(&mut explainer)?;
    let (explanation, ()) = explainer.finish();
    Ok(explanation.victims)
}

/// Whom to choose, and how: first those whose names are much like a wanted one.
fn to_do(mut others: Vec<VictimFinding>, wanted: &[String]) -> String {
    if others.is_empty() {
        return "choose other threads with --comm NAME, --pid PID or --all".to_owned();
    }
    let is_like = |victim: &VictimFinding| {
        let name = victim.label.name.to_lowercase();
        wanted.iter().any(|wanted| name.contains(&wanted.to_lowercase()))
    };
    others.sort_by_key(|victim| Reverse(is_like(victim)));
    let all = counted(others.len() as u64, "thread");
    let named: Vec<String> = others.iter().take(NAMED_MAX).map(in_words).collect();
    let (such_as, named) =
        (if others.len() > NAMED_MAX { ", such as" } else { ":" }, named.join(", "));
    format!("it has wakeups of {all}{such_as} {named}; choose with --comm NAME, --pid PID or --all")
}

/// `cyclic-0 (2906: 9,987 wakeups, the latest by 3.34 ms)`.
fn in_words(victim: &VictimFinding) -> String {
    let id = victim.label.pid.map_or_else(String::new, |pid| format!("{pid}: "));
    let wakeups = counted(victim.latencies.count(), "wakeup");
    let latest = duration(victim.latencies.max_ns());
    format!("{} ({id}{wakeups}, the latest by {latest})", victim.label.name)
}
