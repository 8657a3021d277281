//! Loads do what they say and count it.

use crate::program::{Program, of_thread, path, stat_field, wait_until};
use std::process::Command;
use tardy_lab::load::Spec;

#[test]
fn hackbench_sends_every_message_of_its_loops() {
    for options in ["", ",pipe", ",threads", ",pipe,threads"] {
        let load = format!("hackbench:2,fds=3,loops=50{options}");
        let Some(program) = Program::start(&load) else { return };
        assert_eq!(program.tids.len(), 12);
        let mut program = program;
        // Each of 2 × 3 senders, 50 times, to 3 receivers.
        wait_until("the last message", || program.count() == 2 * 3 * 3 * 50);
        let said = program.wait();
        assert!(said.contains("over after"), "{said}");
        assert!(!said.contains("note"), "{said}");
    }
}

#[test]
fn hackbench_says_where_one_of_its_processes_was_killed() {
    // More than can be sent before the kill.
    let Some(program) = Program::start("hackbench:1,fds=2,loops=1000000000") else { return };
    let victim = rustix::process::Pid::from_raw(program.tids[0] as i32).unwrap();
    rustix::process::kill_process(victim, rustix::process::Signal::KILL).unwrap();
    // Its senders then fail, and with them the other receiver has nothing more to read.
    let said = program.wait();
    assert!(said.contains("note: hackbench: 3 of 4 senders and receivers failed"), "{said}");
}

#[test]
fn hackbench_goes_on_until_it_is_stopped() {
    for options in ["", ",pipe", ",threads", ",pipe,threads,size=8k"] {
        let Some(mut program) = Program::start(&format!("hackbench:1,fds=4{options}")) else {
            return;
        };
        for tid in &program.tids {
            assert!(of_thread(*tid, "comm").starts_with("hackbench"));
        }
        wait_until("messages", || program.count() > 1000);
        let said = program.stop();
        assert!(!said.contains("over after") && !said.contains("note"), "{said}");
    }
}

#[test]
fn a_load_is_ordinary_work_whoever_starts_it() {
    for load in ["hackbench:1,fds=2", "hackbench:1,fds=2,threads", "mem:1,size=64k", "cpu:1"] {
        let Some(path) = path() else { return };
        let may = Command::new("chrt").args(["-f", "7", "true"]).status();
        if !may.is_ok_and(|status| status.success()) {
            return println!("skipped: SCHED_FIFO is not permitted here, or there is no chrt");
        }
        let program = Program::start_by(Command::new("chrt").args(["-f", "7"]).arg(path).arg(load));
        for tid in &program.tids {
            assert_eq!(stat_field(*tid, 41), 0, "{load}: SCHED_OTHER");
        }
        program.stop();
    }
}

#[test]
fn cpus_are_kept_busy_at_the_rank_asked_for() {
    let spec: Spec = "cpu:2,nice=7+cpu:1".parse().unwrap();
    let own = stat_field(std::process::id(), 19);
    let running = spec.start().unwrap();
    let nices: Vec<_> = running.tids().iter().map(|tid| stat_field(*tid, 19)).collect();
    assert_eq!(nices, [7, 7, own]);
    wait_until("rounds", || running.work().iter().all(|work| work[0].count > 10));
    let tids = running.tids();
    running.stop();
    for tid in tids {
        assert!(!std::path::Path::new(&format!("/proc/self/task/{tid}")).exists());
    }
    assert_eq!(stat_field(std::process::id(), 19), own, "the caller's own stays");

    match "cpu:1,fifo=3".parse::<Spec>().unwrap().start() {
        Ok(running) => {
            let tid = running.tids()[0];
            assert_eq!((stat_field(tid, 41), stat_field(tid, 40)), (1, 3));
        }
        Err(error) => assert!(error.to_string().contains("leave `fifo` out"), "{error}"),
    }
}

#[test]
fn every_page_that_is_counted_has_faulted() {
    let Some(mut program) = Program::start("mem:2,size=256k,faults") else { return };
    let mut counted = 0;
    wait_until("faults", || {
        counted = program.count();
        counted > 1000
    });
    let faults: i64 = program.tids.iter().map(|tid| stat_field(*tid, 10)).sum();
    assert!(faults as u64 >= counted, "{faults} faults of {counted} pages");
    program.stop();
}

#[test]
fn memory_is_copied() {
    let Some(mut program) = Program::start("mem:1,size=8m") else { return };
    wait_until("bytes", || program.count() > 32 << 20);
    program.stop();
}

#[test]
fn a_disk_is_written_synced_and_read() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let dir = folder.path().display();
    for (sync, syncs_per_turn) in [("", 1), (",sync", 5)] {
        let spec: Spec = format!("disk:1,dir={dir},size=256k{sync}").parse().unwrap();
        let running = spec.start().unwrap();
        wait_until("two turns", || running.work()[0][1].count >= 2 * (256 << 10));
        let work = running.stop().remove(0);
        let counts: Vec<_> = work.iter().map(|work| work.count).collect();
        // The counts go on while they are read, so only what was there before is certain.
        assert!(counts[0] >= 2 * (256 << 10) && counts[2] >= 2 * syncs_per_turn, "{work:?}");
    }
}

#[test]
fn a_command_counts_the_time_of_all_its_processes() {
    let load = "cmd:sh -c 'setsid sh -c \"while :; do :; done\" & sleep 86400'";
    let Some(mut program) = Program::start(load) else { return };
    wait_until("CPU time", || program.count() >= 20);
    assert!(program.stop().contains("CPU milliseconds"));
}

#[test]
fn a_command_that_ends_early_says_so() {
    for (load, says) in [
        (
            "cmd:sh -c 'echo no such + option >&2; exit 3'",
            "with exit status 3; it said: no such + option",
        ),
        ("cmd:sh -c 'kill -9 $$'", "by signal 9"),
        ("cmd:true", "note: `true` ended by itself after"),
    ] {
        let Some(program) = Program::start(load) else { return };
        let said = program.wait();
        assert!(said.contains(says) && said.contains("over after"), "{load}: {said}");
    }
}
