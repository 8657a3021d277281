//! However a load ends, nothing of it stays.

use crate::program::{Program, left_of, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// A shell that leaves sleepers behind in a session of their own, without a parent, one of which does
/// not listen to SIGTERM, and then waits.
const LEAVES_ORPHANS: &str = "cmd:sh -c 'setsid sh -c \"(trap : TERM; while :; do sleep 86400; done) & sleep 86401 &\"; \
     sleep 86402'";

/// Loads with processes of their own, and how many are beneath the program at least, keepers counted.
const LOADS: [(&str, usize); 6] = [
    ("hackbench:2,fds=3", 13),
    ("hackbench:1,fds=3,pipe", 7),
    ("hackbench:1,fds=3,threads", 1),
    ("mem:1,size=1m", 1),
    ("cmd:sleep 86400+cmd:sleep 86400", 4),
    (LEAVES_ORPHANS, 6),
];

fn started(load: &str, processes: usize) -> Option<Program> {
    let program = Program::start(load)?;
    wait_until("all processes", || program.beneath().len() >= processes);
    Some(program)
}

#[test]
fn nothing_stays_when_it_is_stopped() {
    for (load, processes) in LOADS {
        let Some(program) = started(load, processes) else { return };
        let beneath = program.beneath();
        program.stop();
        // Stopping waits for all of them: there is nothing left to wait for.
        assert_eq!(left_of(&beneath), [], "{load}");
    }
}

#[test]
fn nothing_stays_when_the_program_is_killed() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        for (load, processes) in LOADS {
            let Some(mut program) = started(load, processes) else { return };
            let beneath = program.beneath();
            kill_process(Pid::from_child(&program.child), signal).unwrap();
            program.child.wait().unwrap();
            wait_until(load, || left_of(&beneath).is_empty());
        }
    }
}

#[test]
fn nothing_stays_of_hackbench_when_its_keeper_is_killed() {
    let Some(program) = started("hackbench:1,fds=3", 7) else { return };
    let beneath = program.beneath();
    let child = procfs::process::Process::new(program.tids[0] as i32).unwrap().stat().unwrap();
    kill_process(Pid::from_raw(child.ppid).unwrap(), Signal::KILL).unwrap();
    wait_until("their end", || {
        // The keeper itself stays a zombie until the program looks.
        left_of(&beneath).iter().all(|(pid, _)| *pid == child.ppid)
    });
    let said = program.stop();
    assert!(said.contains("note: something else ended its process"), "{said}");
}

#[test]
fn nothing_stays_when_it_is_killed_while_it_starts() {
    let Some(path) = crate::program::path() else { return };
    // Whatever point of the start the kill meets: sooner or later by what has been started so far.
    for started in [1, 2, 5, 20, 60] {
        let mut child = std::process::Command::new(&path).arg("hackbench:5").spawn().unwrap();
        let keeper = || {
            procfs::process::all_processes()
                .unwrap()
                .find_map(|one| one.ok()?.stat().ok().filter(|stat| stat.ppid == child.id() as i32))
        };
        let mut keeper_pid = None;
        wait_until("some of them", || {
            keeper_pid = keeper_pid.or_else(|| keeper().map(|stat| stat.pid));
            keeper_pid.is_some_and(|pid| children(pid).len() >= started)
        });
        let keeper_pid = keeper_pid.unwrap();
        let mut family: std::collections::BTreeSet<_> = children(keeper_pid).into_iter().collect();
        let keeper = keeper().unwrap();
        family.insert((keeper.pid, keeper.starttime));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("their end", || {
            family.extend(children(keeper_pid));
            left_of(&family).is_empty()
        });
    }
}

fn children(of: i32) -> Vec<crate::program::Process> {
    let all = procfs::process::all_processes().unwrap();
    let stats = all.filter_map(|one| one.ok()?.stat().ok());
    stats.filter(|stat| stat.ppid == of).map(|stat| (stat.pid, stat.starttime)).collect()
}

#[test]
fn a_disk_load_has_no_name_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let load = format!("disk:2,size=64k,dir={}", folder.path().display());
    let Some(mut program) = Program::start(&load) else { return };
    wait_until("bytes", || program.count() > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
