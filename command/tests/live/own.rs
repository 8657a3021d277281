//! `tardy run` of a program of one's own: it is the measurement, and nobody else is.

use crate::machine::Machine;
use crate::program::{Running, Said, manifest, tardy};
use serde_json::Value;
use std::path::Path;

fn run(recording: &Path, arguments: &[&str]) -> Value {
    let mut command = tardy(["run", "--json", "-q", "-o"]);
    Said::by(command.arg(recording).args(arguments)).expect(0).json()
}

fn victims(document: &Value) -> Vec<String> {
    let victims = document["explain"]["victims"].as_array().expect("victims");
    victims.iter().map(|victim| victim["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_command_is_run_to_its_end_and_explained() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let script = "echo said; for i in $(seq 20); do sleep 0.01; done; exit 7";
    let mut command = tardy(["run", "--json", "-q", "-o"]);
    let said = Said::by(command.arg(&recording).args(["--", "sh", "-c", script])).expect(1);
    assert!(said.err.contains("the command ended with exit status: 7"), "{}", said.err);
    let document = said.json();
    assert_eq!(document["schema"], "tardy.run/1");
    assert_eq!(document["measure"], Value::Null, "nobody else measures");
    let victims = victims(&document);
    assert!(victims.iter().any(|name| name == "sleep"), "{victims:?}");
    assert!(
        !victims.iter().any(|name| name.starts_with("storm")),
        "no load of its own: {victims:?}"
    );
    assert!(document["explain"]["lateness"]["wakeups"].as_u64().unwrap() >= 20);
    assert_eq!(manifest(&recording)["sealed"], true);
    assert!(recording.join("report.html").exists() && recording.join("summary.json").exists());
}

#[test]
fn a_command_is_compared_and_not_what_becomes_it() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let script = "for i in $(seq 30); do sleep 0.01; done";
    run(&recording, &["--", "sh", "-c", script]);
    let settings = &manifest(&recording)["settings"];
    assert_eq!(settings["run.command"], format!("sh -c {script}"));
    assert_eq!(settings["run.duration"], "until it ends");
    assert_eq!(settings["thread.sh.policy"], "SCHED_OTHER", "{settings}");
    let path = recording.to_str().unwrap();
    let document = Said::by(&mut tardy(["compare", "-q", "--json", path, path])).expect(0).json();
    let subjects = document["subjects"].as_array().unwrap();
    let names: Vec<&str> =
        subjects.iter().map(|subject| subject["name"].as_str().unwrap_or_default()).collect();
    assert!(!names.contains(&"tardy"), "{names:?}");
    assert!(names.contains(&"sh") || names.contains(&"sleep"), "{names:?}");
    assert_eq!(document["settings"]["differing"], serde_json::json!([]));
    let change = &document["changes"][0];
    assert_eq!(change["total"], serde_json::json!({ "mean_ns": 0, "worst_ns": 0 }), "{change}");
    assert!(change["wakeups"]["all"][0].as_u64().unwrap() >= 30);
}

#[test]
fn threads_are_found_by_their_name_and_processes_by_number() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let load = Running::start(&mut tardy(["load", "storm:3", "-q"]));
    let by_name = run(&folder.path().join("name"), &["-D", "0.5", "--comm", "storm-01"]);
    assert_eq!(victims(&by_name), ["storm-01"]);
    let pid = load.pid().to_string();
    let by_number = run(&folder.path().join("number"), &["-D", "0.5", "--pid", &pid]);
    let found = victims(&by_number);
    assert!((0..3).all(|at| found.contains(&format!("storm-{at:02}"))), "{found:?}");
    load.interrupt().expect(0);
}

#[test]
fn what_goes_only_with_measuring_is_refused() {
    for (arguments, named) in [
        (&["run", "-t", "2", "--", "true"][..], "--threads"),
        (&["run", "-i", "200", "--comm", "x"], "--interval"),
        (&["run", "--pid", "999999999"], "no process 999999999"),
    ] {
        let said = Said::by(&mut tardy(arguments)).expect(2);
        assert!(said.err.contains(named), "{}", said.err);
    }
}
