//! What is kept of how a recording was made, so that two of them can be compared: the options of the run, the program,
//! and how the threads that it is about are scheduled. What is kept of the machine is a list of `tardy-host`'s.

use super::Session;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_host::{Root, Threads, ids_of_threads, of_threads};
use tardy_lab::Policy;
use tardy_lab::cyclic::{Affinity, Plan, Prepared};
use tardy_lab::load::Spec;
use tardy_lab::written::exactly;

/// The load, as on the command line; `none` for none.
pub(crate) const LOAD: &str = "run.load";

/// How long it was to take, as on the command line; or until what.
pub(crate) const DURATION: &str = "run.duration";

/// A command that was started to be watched.
pub(crate) const COMMAND: &str = "run.command";

/// The policy that threads which measure were to have and that was refused, with its priority.
pub(crate) const POLICY_REFUSED: &str = "run.policy_refused";

/// The policy that they have, with its priority.
const POLICY: &str = "run.policy";

/// The duration of what ends by itself.
const UNTIL_IT_ENDS: &str = "until it ends";

/// The first look at threads: by then they have mostly become what they are to be. Each next one is after twice the
/// time, so that looking costs nothing in the long run, and a thread that lives at all long is seen.
const FIRST_LOOK: Duration = Duration::from_millis(50);

/// Settings by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// What runs beside, and how long. Without a duration it is until it ends.
pub(crate) fn of_run(load: Option<&Spec>, duration: Option<Duration>) -> Settings {
    let load = load.map_or_else(|| "none".to_owned(), ToString::to_string);
    let duration = duration.map_or_else(
        || UNTIL_IT_ENDS.to_owned(),
        |duration| exactly(duration.as_nanos().try_into().unwrap_or(u64::MAX)),
    );
    Settings::from([(LOAD.to_owned(), load), (DURATION.to_owned(), duration)])
}

/// What the threads that measure were asked to be.
pub(crate) fn of_plan(plan: &Plan) -> Settings {
    let or_default = |told: Option<String>| told.unwrap_or_else(|| "default".to_owned());
    let affinity = match &plan.affinity {
        Affinity::EachCpu => "each thread to one CPU".to_owned(),
        Affinity::FirstCpu => "all threads to one CPU".to_owned(),
        Affinity::Unbound => "none".to_owned(),
        Affinity::Cpus(cpus) => cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    };
    let latency_limit = plan.dma_latency_us.map_or_else(|| "none".to_owned(), |us| us.to_string());
    let levels: Vec<_> = plan.timer_levels.iter().map(ToString::to_string).collect();
    let timer_levels = (!levels.is_empty()).then(|| levels.join(","));
    let threads = plan.threads.map_or_else(|| "one per CPU".to_owned(), |n| n.to_string());
    [
        ("run.affinity", affinity),
        ("run.distance", exactly(plan.distance_ns)),
        ("run.idle_latency_limit_us", latency_limit),
        ("run.interval", exactly(plan.interval_ns)),
        (POLICY, with_priority(plan.policy.name(), plan)),
        ("run.slack", or_default(plan.timer_slack_ns.map(exactly))),
        ("run.threads", threads),
    ]
    .into_iter()
    .chain(timer_levels.map(|levels| ("run.timer_levels", levels)))
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// What became of the policy that they were asked to have, where it was refused.
pub(crate) fn of_refusal(plan: &Plan, prepared: &Prepared) -> Settings {
    match prepared.threads().iter().find(|thread| thread.policy != plan.policy) {
        None => Settings::new(),
        Some(thread) => Settings::from([
            (POLICY.to_owned(), thread.policy.name().to_owned()),
            (POLICY_REFUSED.to_owned(), with_priority(plan.policy.kernel_name(), plan)),
        ]),
    }
}

/// The plan's policy by this name of it, with the priority, where it has one.
fn with_priority(name: &str, plan: &Plan) -> String {
    match plan.policy {
        Policy::Fifo | Policy::Rr => format!("{name} {}", plan.prio),
        _ => name.to_owned(),
    }
}

/// A command that is started to be watched, and the file that it is.
pub(crate) fn of_command(command: &[String]) -> Settings {
    let Some(program) = command.first() else { return Settings::new() };
    let mut settings = Settings::from([(COMMAND.to_owned(), command.join(" "))]);
    if let Some(file) = found(program).as_deref().and_then(file) {
        settings.insert("run.program".to_owned(), file);
    }
    settings
}

/// The file of processes that run already, where they have one.
pub(crate) fn of_processes(processes: impl IntoIterator<Item = u32>) -> Settings {
    let files = processes.into_iter().filter_map(|process| {
        let path = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        file(&path)
    });
    let mut files: Vec<String> = files.collect();
    files.sort_unstable();
    files.dedup();
    let told = (!files.is_empty()).then(|| ("run.program".to_owned(), files.join("; ")));
    told.into_iter().collect()
}

/// tardy's own file.
pub(super) fn of_tardy() -> Settings {
    let told = std::env::current_exe().ok().as_deref().and_then(file);
    told.map(|file| ("program.tardy".to_owned(), file)).into_iter().collect()
}

/// `ls, 151,344 bytes of 2025-06-04 15:14:05`: another build of a program has another size, or at least another time.
fn file(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    let changed = Timestamp::try_from(about.modified().ok()?).ok()?;
    let name = path.file_name()?.to_string_lossy();
    let changed = changed.strftime("%Y-%m-%d %H:%M:%S");
    Some(format!("{name}, {} bytes of {changed}", tardy_report::units::count(about.len())))
}

/// The file that a command's name stands for.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Looks at threads now and then while they are recorded.
pub(crate) struct Looks<'a> {
    session: Option<&'a Session>,
    threads: Threads,
    next: Duration,
}

impl<'a> Looks<'a> {
    /// For a session, where there is one.
    pub(crate) fn new(session: Option<&'a Session>, threads: Threads) -> Self {
        Self { session, threads, next: FIRST_LOOK }
    }

    /// At threads of this process whose names begin so.
    pub(crate) fn at_own(session: Option<&'a Session>, names: &str) -> Self {
        let threads = Threads {
            processes: vec![std::process::id()],
            with_children: false,
            names: vec![format!("{names}*")],
        };
        Self::new(session, threads)
    }

    /// Looks, where so much time has passed since the beginning that it is time to.
    pub(crate) fn after(&mut self, elapsed: Duration) {
        if elapsed < self.next {
            return;
        }
        self.next = elapsed * 2;
        if let Some(session) = self.session {
            let root = Root::system();
            session.learn(of_threads(&root, &self.threads));
            session.learn_affinities(ids_of_threads(&root, &self.threads).into_iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_its_file() {
        let told = of_command(&["sh".to_owned(), "-c".to_owned(), "true".to_owned()]);
        assert_eq!(told["run.command"], "sh -c true");
        assert!(told["run.program"].starts_with("sh, "), "{told:?}");
        assert!(of_command(&["no-such-program-anywhere".to_owned()]).len() == 1);
        assert!(of_command(&[]).is_empty());
    }

    #[test]
    fn a_plan_is_told_as_it_was_asked_for() {
        let told = of_plan(&Plan { timer_slack_ns: Some(1), ..Plan::default() });
        assert_eq!(told["run.slack"], "1ns");
        assert_eq!((&told["run.interval"][..], &told["run.distance"][..]), ("1ms", "0ns"));
        let told = of_run(None, Some(Duration::from_secs(90)));
        assert_eq!((&told[LOAD][..], &told[DURATION][..]), ("none", "90s"));
        assert_eq!(of_run(None, None)[DURATION], UNTIL_IT_ENDS);
    }
}
