//! Simulated systems, through the command, as a user would ask. Needs no rights.
#![forbid(unsafe_code)]

mod sweeps;

use serde_json::Value;
use std::process::{Command, Output};

fn tardy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tardy")).args(arguments).output().expect("the command starts")
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let output = tardy(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_result_is_the_same_for_any_number_of_threads() {
    let with =
        |jobs| json(&["sim", "storm", "--json", "-D", "200ms", "--runs", "3", "--jobs", jobs]);
    let one = with("1");
    assert_eq!(one, with("3"));
    let policies = one["policies"].as_array().expect("a list");
    assert_eq!(policies.len(), 2);
    let mean = |at: usize| policies[at]["threads"][0]["mean_ns"].as_f64().expect("a number");
    assert!(mean(1) < mean(0), "deferring ordinary sleepers helps the cyclic thread");
    assert_ne!(one, json(&["sim", "storm", "--json", "-D", "200ms", "--runs", "3", "--seed", "2"]));
}

#[test]
fn a_simulated_system_is_recorded_and_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("sim");
    let recording = recording.to_str().expect("a name");
    let simulated =
        json(&["sim", "storm", "--json", "-D", "500ms", "--runs", "1", "-o", recording]);
    let samples = simulated["policies"][0]["threads"][0]["samples"].as_u64().expect("a number");
    let explained = json(&["explain", recording, "--json", "--worst", "all"]);
    let wakeups = explained["wakeups"].as_array().expect("a list");
    assert!(wakeups.len() as u64 >= samples, "{} of {samples}", wakeups.len());
    let share = |cause: &str| {
        let causes = explained["causes"].as_array().expect("a list");
        let found = causes.iter().find(|found| found["cause"] == cause);
        found.and_then(|found| found["share"].as_f64()).unwrap_or(0.0)
    };
    assert!(share("stacked_timers") > 0.1, "the storm's timers are the main part");
    assert!(share("unexplained") < 0.001);
}

#[test]
fn what_cannot_be_simulated_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, "[machine]\ncpus = 1\nswitch = \"-1us\"\n").expect("it is written");
    let refused = tardy(&["sim", file.to_str().expect("a name")]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("bad.toml: line 3: ") && said.contains("negative"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let refused = tardy(&["sim", "storm", "--policies", "best"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no timer policy best"));
}

#[test]
fn what_comes_with_it_is_listed_and_shown() {
    let list = json(&["sim", "list", "--json"]);
    for known in
        ["systems", "machines"].iter().flat_map(|kind| list[*kind].as_array().expect("a list"))
    {
        let name = known["name"].as_str().expect("a name");
        let shown = tardy(&["sim", "show", name]);
        assert!(shown.status.success() && shown.stdout.starts_with(b"# "), "{name}");
    }
    assert_eq!(tardy(&["sim", "show", "nothing"]).status.code(), Some(2));
}
