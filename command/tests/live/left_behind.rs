//! Does a load leave nothing behind, however it ends?

use crate::machine::{Machine, eventually, is_root};
use crate::program::{PATH, Running, Said, tardy};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs::{read_dir, read_link, read_to_string};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A time to sleep that nobody else has.
const SLEEP: &str = "86399.875";

/// Threads, processes, a command, namespaces, devices, files, timers, pinned threads.
fn everything() -> String {
    let loads = [
        "storm:5,fifo",
        "timers:3,kind=timerfd",
        "timers:3,kind=posix",
        "timers:1,kind=rearm",
        "irq:1,kind=ipi",
        "irq:1,kind=tlb",
        "irq:1,kind=timer,cpu=0",
        "irq:1,kind=softirq",
        "net:2",
        "net:2,udp,rate=1000",
        "hackbench:1,fds=4",
        "cpu:1",
        "mem:1,size=1m",
        "disk:1,dir=.,size=1m",
        "mix:stacking",
    ];
    format!("{}+cmd:sleep {SLEEP}", loads.join("+"))
}

/// What a load might change or leave.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Around {
    /// In the namespace of the tests.
    devices: BTreeSet<String>,
    /// Those that any process is in.
    namespaces: BTreeSet<PathBuf>,
    /// Who holds CPUs out of their idle states.
    latency_holders: BTreeSet<PathBuf>,
    settings: Vec<(PathBuf, String)>,
    /// Where the first process and this one may run.
    affinities: Vec<String>,
}

impl Around {
    fn now() -> Self {
        let dev = read_to_string("/proc/self/net/dev").expect("proc(5)");
        let devices =
            dev.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
        let all =
            |of: fn(&Path) -> Vec<PathBuf>| processes().iter().flat_map(|one| of(one)).collect();
        let mut settings: Vec<_> = entries(Path::new("/proc/sys/kernel"))
            .filter(|path| {
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"sched"))
            })
            .map(|path| (path.clone(), read_to_string(path).unwrap_or_default()))
            .collect();
        settings.sort();
        let affinity = |process: &str| {
            let status = read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            let line = status.lines().find(|line| line.starts_with("Cpus_allowed:"));
            line.unwrap_or_default().to_owned()
        };
        Self {
            devices: devices.collect(),
            namespaces: all(|process| {
                let of = |task: PathBuf| read_link(task.join("ns/net")).ok();
                entries(&process.join("task")).filter_map(of).collect()
            }),
            latency_holders: all(|process| {
                let is_it = |fd: &PathBuf| {
                    read_link(fd).is_ok_and(|file| file.ends_with("cpu_dma_latency"))
                };
                entries(&process.join("fd")).filter(is_it).collect()
            }),
            settings,
            affinities: ["1", "self"].map(affinity).into(),
        }
    }

    /// Whether nothing is there that was not before, and nothing else is changed.
    fn is_as(&self, before: &Self) -> bool {
        self.devices == before.devices
            && self.namespaces.is_subset(&before.namespaces)
            && self.latency_holders.is_subset(&before.latency_holders)
            && (&self.settings, &self.affinities) == (&before.settings, &before.affinities)
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn processes() -> Vec<PathBuf> {
    let is_process = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
    };
    entries(Path::new("/proc")).filter(is_process).collect()
}

/// Processes that run the program under test, or the command that it was given.
fn ours() -> Vec<PathBuf> {
    let is_ours = |process: &PathBuf| {
        let command = read_to_string(process.join("cmdline")).unwrap_or_default();
        read_link(process.join("exe")).is_ok_and(|exe| exe == Path::new(PATH))
            || command.starts_with(&format!("sleep\0{SLEEP}\0"))
    };
    processes().into_iter().filter(is_ours).collect()
}

fn threads(pid: u32) -> Vec<String> {
    let comm = |task: PathBuf| read_to_string(task.join("comm")).ok();
    entries(&PathBuf::from(format!("/proc/{pid}/task"))).filter_map(comm).collect()
}

/// Starts everything, in a folder of its own, and lets `end` end it.
fn started_and_ended_by(end: impl FnOnce(Running)) {
    let _machine = Machine::alone();
    if !is_root() {
        eprintln!("skipped: this needs root, to make network namespaces");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let before = Around::now();
    let mut command = tardy(["load", &everything(), "--quiet"]);
    let mut load = Running::start(command.current_dir(&folder).env("TMPDIR", folder.path()));
    let pid = load.pid();
    eventually("the command does not start, which is the last of the loads", || {
        assert!(load.has_ended().is_none(), "it ended by itself");
        ours()
            .iter()
            .any(|process| read_link(process.join("exe")).is_ok_and(|exe| exe != Path::new(PATH)))
    });
    let names = threads(pid).concat();
    for thread in ["storm-", "posix-", "rearm-", "irq-spin-", "net-send-"] {
        assert!(names.contains(thread), "no thread {thread}: {names}");
    }
    assert!(ours().len() >= 3, "hackbench and the command have processes: {:?}", ours());
    end(load);
    eventually(&format!("left: {:?}", ours()), || ours().is_empty());
    eventually(&format!("before {before:?}, now {:?}", Around::now()), || {
        Around::now().is_as(&before)
    });
    let files: Vec<_> = entries(folder.path()).collect();
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn all_loads_at_once_ended_by_ctrl_c() {
    started_and_ended_by(|load| {
        load.interrupt().expect(0);
    });
}

#[test]
fn all_loads_at_once_ended_by_a_request() {
    started_and_ended_by(|load| {
        load.signal(Signal::TERM);
        load.said().expect(0);
    });
}

#[test]
fn all_loads_at_once_killed() {
    started_and_ended_by(Running::kill);
}

/// Namespaces without a name are seen by nobody; but a user namespace counts those made in it. `$1` is
/// the program. With room for two there is room for one load, and again as soon as its namespaces are
/// gone.
const ROOM_FOR_TWO: &str = r#"
    echo 2 > /proc/sys/user/max_net_namespaces || { echo "skipped: no bound can be set"; exit 0; }
    round=0
    while [ $round -lt 5 ]; do
        "$1" load net+net:1,udp,rate=10 -D 100ms 2>&1 | grep -q max_net_namespaces ||
            { echo "two loads had room"; exit 1; }
        tries=0
        until "$1" load net -q -D 100ms > /dev/null; do
            tries=$((tries + 1))
            [ $tries -lt 100 ] || { echo "its namespaces are still there"; exit 1; }
            sleep 0.2
        done
        "$1" load net -q > /dev/null & load=$!
        tries=0
        until cat /proc/$load/task/*/comm 2> /dev/null | grep -q net-send; do
            kill -0 $load 2> /dev/null || { "$1" load net -q > /dev/null & load=$!; }
            tries=$((tries + 1))
            [ $tries -lt 100 ] || { echo "it does not start"; exit 1; }
            sleep 0.2
        done
        kill -9 $load
        wait $load 2> /dev/null
        round=$((round + 1))
    done
    until "$1" load net -q -D 100ms > /dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { echo "the killed one's namespaces are still there"; exit 1; }
        sleep 0.2
    done
"#;

#[test]
fn the_kernel_forgets_the_namespaces_of_a_killed_load() {
    let _machine = Machine::alone();
    let in_namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", PATH]);
        command
    };
    let can = in_namespace("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no user namespace can be made by unshare(1) here");
        return;
    }
    let said = Said::by(&mut in_namespace(ROOM_FOR_TWO)).expect(0);
    eprint!("{}", said.out);
}

#[test]
fn without_root_it_says_what_would_help() {
    let _machine = Machine::alone();
    let stranger = crate::no_root::Stranger::new();
    let said = Said::by(&mut stranger.tardy(&["load", "net", "-D", "1"])).expect(1);
    assert!(said.err.contains("CAP_NET_ADMIN") && said.err.contains("unshare"), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
}
