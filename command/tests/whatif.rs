//! `tardy whatif` on a recording of a simulated system: what it prints, and what it refuses.
#![allow(missing_docs)]

#[path = "live/program.rs"]
#[allow(dead_code)] // this file uses a part of it
mod program;

use program::{Said, tardy};
use serde_json::Value;
use std::fs;
use std::path::Path;

const SYSTEM: &str = r#"
title = "a thread with the default slack, and a hog on its CPU"
span = "3s"
policies = ["hardirq"]

[machine]
like = "counted-x86"
cpus = 2

[kernel]
preemption = "full"
softirqs = "irq-tail"

[[thread]]
name = "victim"
cpus = [0]
program = [{ sleep-grid = { period = "1ms" } }, { run = "20us" }]
watched = true

[[thread]]
name = "hog"
cpus = [0]
program = [{ run = "exponential 3ms" }, { sleep = "exponential 6ms" }]
"#;

fn recorded(folder: &Path) -> std::path::PathBuf {
    let file = folder.join("hog.toml");
    fs::write(&file, SYSTEM).unwrap();
    let recording = folder.join("recording");
    let mut sim = tardy(["sim", "-q", "--runs", "1", "-o"]);
    Said::by(sim.arg(&recording).arg(&file)).expect(0);
    recording
}

#[test]
fn changes_are_ranked_by_what_they_gain() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let said = Said::by(tardy(["whatif", "--json"]).arg(&recording)).expect(0);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["schema"], "tardy.whatif/1");
    assert!(document["baseline"]["error"]["mean"].as_f64().unwrap() < 0.2, "{document:#}");
    let changes = document["changes"].as_array().unwrap();
    let first = changes[0]["change"].as_str().unwrap();
    assert!(first.contains("hog") || first.starts_with("prio(victim)"), "{first}");
    let worst = |change: &Value| {
        let figures = change["figures"].as_array().unwrap();
        let worst = figures.iter().find(|figure| figure["figure"] == "worst_percent").unwrap();
        worst["predicted_ns"].as_f64().unwrap() / worst["recorded_ns"].as_f64().unwrap()
    };
    assert!(worst(&changes[0]) < 0.1, "{:#}", changes[0]);
    let text = Said::by(tardy(["whatif"]).arg(&recording)).expect(0).out;
    assert!(text.contains("The recording, simulated as it was"), "{text}");
    assert!(text.contains("Predicted: what would help") && text.contains("remove(hog)"), "{text}");
}

#[test]
fn the_best_changes_are_under_the_verdict_and_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    let screen = Said::by(tardy(["explain"]).arg(&recording)).expect(0).out;
    let at = screen.find("Would help").unwrap_or_else(|| panic!("{screen}"));
    assert!(at < screen.find("Lateness").unwrap(), "{screen}");
    assert!(screen[at..].lines().next().unwrap().contains(" → "), "{screen}");
    let page = fs::read_to_string(recording.join("report.html")).unwrap();
    assert!(page.contains("Predicted: what would help"), "the page has none");
    let without = Said::by(tardy(["explain", "--no-whatif", "--full"]).arg(&recording)).expect(0);
    assert!(!without.out.contains("would help"), "{}", without.out);
    // Of three wakeups nothing can be predicted, and whoever reads all is told so.
    let few = folder.path().join("few");
    fs::create_dir(&few).unwrap();
    fs::write(few.join("few.toml"), SYSTEM.replace("span = \"3s\"", "span = \"20ms\"")).unwrap();
    let recording = few.join("recording");
    let mut sim = tardy(["sim", "-q", "--runs", "1", "-o"]);
    Said::by(sim.arg(&recording).arg(few.join("few.toml"))).expect(0);
    let full = Said::by(tardy(["explain", "--full"]).arg(&recording)).expect(0).out;
    assert!(full.contains("Nothing can be predicted from it, because"), "{full}");
}

#[test]
fn what_cannot_be_told_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recorded(folder.path());
    // Where it ends early, that is said.
    let cut = folder.path().join("cut");
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg("-r").arg(&recording).arg(&cut).status().unwrap().success());
    let manifest = fs::read_to_string(cut.join("manifest.json")).unwrap();
    let unsealed = manifest.replace("\"sealed\": true", "\"sealed\": false");
    assert_ne!(unsealed, manifest);
    fs::write(cut.join("manifest.json"), unsealed).unwrap();
    let said = Said::by(tardy(["whatif", "--change", "remove(hog)"]).arg(&cut)).expect(0);
    assert!(said.out.starts_with("Note: the recording did not end properly"), "{}", said.out);
    let said = Said::by(tardy(["whatif", "--change", "remove(hog)", "--json"]).arg(&cut)).expect(0);
    assert!(said.json()["notes"][0].as_str().unwrap().contains("did not end properly"));
    // Undecided, with the reason.
    let said = Said::by(tardy(["whatif", "--change", "preempt=full"]).arg(&recording)).expect(4);
    assert!(said.out.contains("not known, because"), "{}", said.out);
    let said = Said::by(tardy(["whatif", "--change", "slack=1"]).arg(&recording)).expect(2);
    assert!(said.err.contains("slack must say for whom"), "{}", said.err);
    let said = Said::by(tardy(["whatif", "--comm", "nobody"]).arg(&recording)).expect(2);
    assert!(said.err.contains("no wakeup of a thread called nobody"), "{}", said.err);
    let listed = Said::by(&mut tardy(["whatif", "--list"])).expect(0).out;
    assert!(listed.contains("slack(victim)=1ns"), "{listed}");
}
