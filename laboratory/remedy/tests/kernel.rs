//! Every remedy: what it sets here is there afterwards, in the kernel, and is taken back.
#![allow(missing_docs)]

use std::process::{Child, Command, Stdio};
use tardy_changes::Change;
use tardy_host::Root;
use tardy_remedy::remedy::{REGISTRY, of};
use tardy_remedy::{Journal, Outcome, Place, Setting, System, Thread, Undone};

/// A process that sleeps until it is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").stdin(Stdio::null()).spawn().expect("sleep starts"))
    }
}

impl Sleeper {
    /// In a control group of its own, where one can be made.
    fn in_group(controller: &str) -> (Option<Group>, Self) {
        let sleeper = Self::new();
        let group = Group::with(sleeper.0.id(), controller);
        (group, sleeper)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn change(text: &str) -> Change {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Values of all places, as the kernel tells them.
fn values(settings: &[Setting]) -> Vec<Option<String>> {
    let root = Root::system();
    settings.iter().map(|setting| setting.place.read(&root).unwrap()).collect()
}

/// A control group with one process in it, until it is dropped; `None` where none can be made.
struct Group(std::path::PathBuf);

impl Group {
    fn with(pid: u32, controller: &str) -> Option<Self> {
        let is_v2 = std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let base = "/sys/fs/cgroup".to_owned();
        let base = if is_v2 { base } else { format!("{base}/{controller}") };
        let group = Self(format!("{base}/tardy-test-{pid}.service").into());
        std::fs::create_dir(&group.0).ok()?;
        std::fs::write(group.0.join("cgroup.procs"), pid.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The kernel ends threads of its own at any time.
fn has_ended(setting: &Setting) -> bool {
    setting.place.thread().is_some_and(|thread| !thread.is_there())
}

/// Applies it to this kernel, looks, takes it back, looks again. The first of the changes that alters anything is taken:
/// a place that holds already what it is set to shows nothing.
fn round(name: &str, texts: &[&str]) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: {name}: only root may");
        return;
    }
    // The group is dropped after the process that is in it.
    // Real-time threads have to be of a group that has a bandwidth for them.
    let (_group, sleeper) = match name {
        "cpu-max" | "cpu-weight" => Sleeper::in_group("cpu"),
        "swap" => Sleeper::in_group("memory"),
        _ => (None, Sleeper::new()),
    };
    let system = System::new(vec![sleeper.0.id()]);
    // Whatever is changed of the CPUs that there are, what it is bound to is its own.
    let bound = Place::Affinity(Thread::of(sleeper.0.id()).expect("it runs"));
    bound.write(&Root::system(), Some("0")).expect("CPU 0 is there");
    let folder = tempfile::tempdir().unwrap();
    // The journal alone is elsewhere: `run` of a folder whose `sys` and `proc` are this system's.
    for real in ["sys", "proc"] {
        std::os::unix::fs::symlink(format!("/{real}"), folder.path().join(real)).unwrap();
    }
    let journal = Journal::at(Root::at(folder.path()));
    let remedy = of(name).unwrap();
    let mut told = String::new();
    for text in texts {
        let settings = match remedy.settings(&change(text), &system) {
            Ok(settings) => settings,
            Err(lacking) => {
                told = lacking.to_string();
                continue;
            }
        };
        assert!(!settings.is_empty(), "{text}");
        let before = values(&settings);
        let changed = match journal.change(&settings, text) {
            Ok(changed) if changed.entries().is_empty() => {
                "it is so already".clone_into(&mut told);
                continue;
            }
            Ok(changed) => changed,
            Err(error) => {
                assert_eq!(values(&settings), before, "{text}: {error}");
                told = error.to_string();
                continue;
            }
        };
        for (setting, now) in settings.iter().zip(values(&settings)) {
            let is_so =
                setting.place.holds(now.as_deref(), Some(&setting.to)) || setting.place.is_beside();
            assert!(is_so || has_ended(setting), "{text}: {now:?}");
        }
        assert_ne!(values(&settings), before, "{text}");
        let undone = changed.undo();
        let is_back = |one: &Undone| match one.outcome {
            Outcome::Restored => true,
            Outcome::Nothing => one.entry.place.thread().is_some_and(|thread| !thread.is_there()),
            _ => false,
        };
        assert!(undone.iter().all(is_back), "{undone:?}");
        let now = settings.iter().zip(values(&settings)).zip(&before);
        for ((setting, now), before) in now {
            assert!(now == *before || has_ended(setting), "{text}: {before:?}, now {now:?}");
        }
        assert_eq!(bound.read(&Root::system()).unwrap().as_deref(), Some("0"), "{text}");
        println!("{text}: done and taken back");
        return;
    }
    println!("skipped: {name}: {told}");
}

/// One test, a remedy after the other: two at a time would see each other's changes.
#[test]
fn each_is_done_and_taken_back_in_the_kernel() {
    let rounds: &[(&str, &[&str])] = &[
        ("slack", &["slack(victim)=7us"]),
        ("prio", &["prio(victim)=fifo:1"]),
        ("affinity", &["affinity(victim)=1"]),
        ("isolate", &["isolate=1"]),
        ("cpu-max", &["cpu-max(victim)=400ms/500ms", "cpu-max(victim)=off"]),
        ("cpu-weight", &["cpu-weight(victim)=90"]),
        ("rt-runtime", &["rt-runtime=off", "rt-runtime=900ms/1s"]),
        ("preempt", &["preempt=full", "preempt=lazy"]),
        ("idle-latency", &["idle-latency=1ms"]),
        ("halt-poll", &["halt-poll=1us", "halt-poll=2us"]),
        ("governor", &["governor=performance", "governor=powersave"]),
        ("epp", &["epp=performance", "epp=balance_performance"]),
        ("timer-migration", &["timer-migration=off", "timer-migration=on"]),
        ("workqueue-cpus", &["workqueue-cpus=0", "workqueue-cpus=0-1"]),
        ("unbound-kthreads", &["unbound-kthreads=0"]),
        ("thp", &["thp=madvise", "thp=never"]),
        ("khugepaged", &["khugepaged=off", "khugepaged=on"]),
        ("swap", &["swap(victim)=off"]),
        ("swappiness", &["swappiness=59", "swappiness=60"]),
        ("watchdog", &["watchdog=off", "watchdog=on"]),
        ("vmstat-interval", &["vmstat-interval=2s", "vmstat-interval=1s"]),
    ];
    let names: Vec<&str> = rounds.iter().map(|(name, _)| *name).collect();
    let all: Vec<&str> = REGISTRY.iter().map(|remedy| remedy.name()).collect();
    assert_eq!(names, all, "each has its test");
    for (name, texts) in rounds {
        round(name, texts);
    }
}

#[test]
fn a_unit_is_all_of_its_processes() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root makes control groups");
        return;
    }
    let (group, sleeper) = Sleeper::in_group("cpu");
    let Some(_group) = group else {
        println!("skipped: no control group can be made");
        return;
    };
    let whom = sleeper.0.id();
    let change = change(&format!("slack(tardy-test-{whom}.service)=7us"));
    let settings = of("slack").unwrap().settings(&change, &System::new(Vec::new())).unwrap();
    let threads: Vec<u32> =
        settings.iter().filter_map(|one| Some(one.place.thread()?.tid)).collect();
    assert_eq!(threads, [whom]);
    drop(sleeper);
    let lacking = of("slack").unwrap().settings(&change, &System::new(Vec::new())).unwrap_err();
    assert!(lacking.to_string().contains("no process of the unit"), "{lacking}");
}

/// Where the kernel shares out real-time bandwidth among control groups, one that has none lets no thread be real-time.
#[test]
fn a_group_without_time_for_real_time_threads_is_named() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root makes control groups");
        return;
    }
    let (group, sleeper) = Sleeper::in_group("cpu");
    let Some(group) = group.filter(|group| group.0.join("cpu.rt_runtime_us").exists()) else {
        println!("skipped: control groups have no real-time bandwidth here");
        return;
    };
    let system = System::new(vec![sleeper.0.id()]);
    let lacking =
        of("prio").unwrap().settings(&change("prio(victim)=fifo:1"), &system).unwrap_err();
    assert!(lacking.to_string().contains("no time for real-time threads"), "{lacking}");
    // It may have lost that since it was planned.
    let place = Place::Policy(Thread::of(sleeper.0.id()).unwrap());
    let settings = [Setting { place, to: "fifo:1".to_owned() }];
    let folder = tempfile::tempdir().unwrap();
    for real in ["sys", "proc"] {
        std::os::unix::fs::symlink(format!("/{real}"), folder.path().join(real)).unwrap();
    }
    let error = Journal::at(Root::at(folder.path())).change(&settings, "x").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("no time for real-time threads"), "{error}");
    assert!(error.contains(group.0.to_str().unwrap()), "{error}");
    drop(sleeper);
}

/// The kernel shows all threads of a process under the number of each.
#[test]
fn a_number_of_a_thread_is_that_thread() {
    let tid = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    let threads = |whom: u32| -> Vec<u32> {
        let change = change(&format!("affinity({whom})=0"));
        let settings = of("affinity").unwrap().settings(&change, &System::new(Vec::new())).unwrap();
        settings.iter().filter_map(|one| Some(one.place.thread()?.tid)).collect()
    };
    let process = std::process::id();
    std::thread::scope(|scope| {
        let own = scope.spawn(move || (tid(), threads(tid()))).join().unwrap();
        assert_eq!(own.1, [own.0]);
    });
    assert!(threads(process).contains(&process) && threads(process).len() > 1);
}

/// CPUs that are offline among them: `sched_getaffinity(2)` leaves those out.
#[test]
fn what_a_thread_may_run_on_is_what_the_kernel_shows() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let own = Place::Affinity(Thread::of(std::process::id()).unwrap());
    assert_eq!(own.read(&Root::system()).unwrap().as_deref(), Some(list.trim()));
}

/// However it is named: a real-time priority would give it its CPU for good.
#[test]
fn a_thread_that_never_sleeps_gets_no_real_time_priority() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root makes control groups");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shell = folder.path().join("tardy-spins");
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    let mut command = Command::new(&shell);
    let spinner = Sleeper(command.args(["-c", "while :; do :; done"]).spawn().unwrap());
    let id = spinner.0.id();
    let group = Group::with(id, "cpu");
    let unit = group.as_ref().map(|_| format!("tardy-test-{id}.service"));
    let names =
        [Some("victim".to_owned()), Some(id.to_string()), Some("tardy-spins".to_owned()), unit];
    let system = System::new(vec![id]);
    let prio = of("prio").unwrap();
    for whom in names.into_iter().flatten() {
        // Each takes a second of a CPU.
        let to = if whom == "victim" { "rr:1" } else { "fifo:1" };
        let lacking = prio.settings(&change(&format!("prio({whom})={to}")), &system).unwrap_err();
        assert!(
            lacking.to_string().contains("did not sleep while it was watched"),
            "{whom}: {lacking}"
        );
        prio.settings(&change(&format!("prio({whom})=other:5")), &system).unwrap();
    }
    drop(spinner);
}
