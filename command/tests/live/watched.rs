//! Does `record` follow whom it is told to, and end as it is told to?

use crate::explained::explain_all;
use crate::machine::{Machine, eventually};
use crate::program::{Running, Said, manifest, tardy};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_commands_threads_are_followed() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let mut command = tardy(["record", "--json", "-D", "10", "-o"]);
    command.arg(&recording).args(["--", "sh", "-c", "for i in $(seq 10); do sleep 0.03; done"]);
    let document = Said::by(&mut command).expect(0).json();
    assert_eq!(document["schema"], "tardy.record/1");
    assert_eq!(document["recording"], recording.to_str().unwrap());
    // It ends with its command, not with its time.
    assert!(document["span_ns"].as_u64().unwrap() < 10_000_000_000);
    assert_eq!(manifest(&recording)["sealed"], true);

    let explained = explain_all(&recording, &[]);
    assert_eq!(document["events"], explained.events);
    let sleeps: Vec<_> = explained.timed().filter(|wakeup| wakeup.task == "sleep").collect();
    // One each; some machines hide a stretch now and then, and one of these may be in it.
    assert!((8..=10).contains(&sleeps.len()), "{:?}", explained.wakeups);
    for sleep in sleeps.iter().filter(|sleep| !sleep.touched_by_loss) {
        // What comes after the switch to it is its own way back, and no lateness.
        assert_eq!(sleep.ns_of("own_kernel_work"), 0, "{sleep:?}");
        assert!(sleep.ns_of("slack") > 0, "an ordinary thread has slack: {sleep:?}");
    }
}

/// A process that sleeps 10 ms again and again, for a minute at most.
fn sleeper() -> Running {
    let mut command = Command::new("sh");
    Running::start(command.args(["-c", "for i in $(seq 6000); do sleep 0.01; done"]))
}

#[test]
fn a_process_that_runs_already_is_followed_and_ctrl_c_seals() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    // Its storm's threads are threads of the process.
    let watched = Running::start(&mut tardy(["load", "storm:3", "-q"]));
    let other = sleeper();
    let mut command = tardy(["record", "-o"]);
    let recorder = Running::start(command.arg(&recording).args(["-p", &watched.pid().to_string()]));
    eventually("no recording begins", || recording.join("manifest.json").exists());
    std::thread::sleep(Duration::from_millis(500));
    let said = recorder.interrupt().expect(0);
    assert!(said.out.contains(recording.to_str().unwrap()), "{}", said.out);
    assert_eq!(manifest(&recording)["sealed"], true);
    other.kill();
    watched.interrupt().expect(0);

    let explained = explain_all(&recording, &[]);
    let storm = |name: &str| name.starts_with("storm-") || name == "tardy";
    assert!(explained.wakeups.iter().all(|wakeup| storm(&wakeup.task)), "nobody else");
    let timed: Vec<_> =
        explained.timed().filter(|found| found.task.starts_with("storm-")).collect();
    assert!(timed.len() > 10, "{}", timed.len());
    assert!(timed.iter().all(|wakeup| wakeup.ns_of("own_kernel_work") == 0), "{timed:?}");
}

#[test]
fn whom_nobody_can_follow_is_refused() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("recording");
    let mut no_process = tardy(["record", "-p", "4194999", "-o"]);
    let said = Said::by(no_process.arg(&out)).expect(2);
    assert!(said.err.contains("there is no process 4194999"), "{}", said.err);
    let mut no_command = tardy(["record", "-D", "1", "-o"]);
    let said = Said::by(no_command.arg(&out).args(["--", "/no/such/program"])).expect(1);
    assert!(said.err.contains("/no/such/program"), "{}", said.err);
    assert!(!out.exists(), "nothing is recorded for a command that is not there");
}
