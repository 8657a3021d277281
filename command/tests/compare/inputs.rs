//! What can be compared, and what is said where it cannot.

use super::{compare, data, json, refused, text, zynq};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn import(trace: &Path, folder: &Path) -> String {
    let out = folder.join("recording");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(["import", "-q", "-o"]).arg(&out).arg(trace);
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text(&out)
}

#[test]
fn a_recording_against_a_trace_by_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = import(&data("armv7-v6-mono.dat"), folder.path());
    let trace = format!("{}:cyclictest", text(&data("armv7-v7-zstd-local.dat")));
    let recording = format!("{recording}:cyclictest");
    let document = json(&[&recording, &trace]);
    let kinds: Vec<&Value> =
        document["sides"].as_array().expect("a list").iter().map(|side| &side["kind"]).collect();
    assert_eq!(kinds, ["recording", "trace"]);
    let subject = &document["subjects"][0];
    for side in subject["sides"].as_array().expect("a list") {
        assert!(side["samples"].as_u64() > Some(40), "{side}");
        assert_eq!((&side["blocks"], &side["resolution_ns"]), (&32.into(), &1.into()));
    }
    assert_eq!(subject["comparisons"][0]["basis"], "blocks");
    let fewer = json(&["--blocks", "4", &recording, &trace]);
    assert_eq!(fewer["subjects"][0]["comparisons"][0]["basis"], "values");

    // The same file, read and imported, is the same.
    let same = format!("{}:cyclictest", text(&data("armv7-v6-mono.dat")));
    let document = json(&[&recording, &same]);
    let comparison = &document["subjects"][0]["comparisons"][0];
    assert_eq!(comparison["verdict"], "no_difference_shown");
    assert_eq!(comparison["mean"]["b_minus_a"]["ns"], 0.0);
}

#[test]
fn cyclictests_json_and_its_histogram() {
    let file = text(&data("histogram/cyclictest-2.40.json"));
    let document = json(&[&file, &text(&data("histogram/cyclictest-2.40.hist"))]);
    let sides = &document["sides"];
    assert_eq!(
        sides[0]["circumstances"]["tool"].as_str().map(|tool| &tool[..10]),
        Some("cyclictest")
    );
    let subjects = document["subjects"].as_array().expect("a list");
    assert!(!subjects.is_empty());
    for subject in subjects {
        for side in subject["sides"].as_array().expect("a list") {
            assert!(side["samples"].as_u64() > Some(0) && side["resolution_ns"] == 1_000, "{side}");
        }
    }
    let coarse = json(&["--merge", &file, &text(&data("histogram/rtla-timerlat-6.1.txt"))]);
    let warnings = coarse["warnings"].as_array().expect("a list");
    assert!(!warnings.is_empty(), "{coarse}");
}

#[test]
fn one_row_can_be_chosen_for_each_side() {
    let (one, two) = (format!("{}:thread 0", zynq()), format!("{}:thread 1", zynq()));
    let document = json(&[&one, &two]);
    let subject = &document["subjects"][0];
    assert_eq!(subject["name"], Value::Null);
    assert_eq!(subject["sides"][0]["samples"], 243_037_975u64);
    assert_eq!(subject["sides"][1]["samples"], 243_037_770u64);
    assert_eq!(subject["comparisons"][0]["verdict"], "differ");
    let said = refused(2, &[&one, &zynq(), "--thread", "thread 1"]);
    assert!(said.contains("leave one out"), "{said}");
}

#[test]
fn what_holds_nothing_to_compare_is_told_what_would() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        super::text(&path)
    };
    let figures =
        file("figures.json", "{\n  \"schema\": \"tardy.measure/1\", \"threads\": []\n}\n");
    let said = refused(1, &[&figures, &zynq()]);
    assert!(said.contains("figures.json") && said.contains("--histfile"), "{said}");
    let run = file("run.json", "{\"schema\":\"tardy.run/1\"}");
    assert!(refused(1, &[&zynq(), &run]).contains("folder"));

    let letter = file("letter.txt", "Dear list,\nmy thread is late.\n");
    let said = refused(1, &[&zynq(), &letter]);
    assert!(said.contains("letter.txt") && said.contains("trace.dat"), "{said}");
    let said = refused(1, &[&zynq(), &super::text(&folder.path().join("none.hist"))]);
    assert!(said.contains("none.hist"), "{said}");
    let said = refused(1, &[&zynq(), &zynq(), "--thread", "thread 7"]);
    assert!(said.contains("thread 7") && said.contains("thread 0"), "{said}");
    let trace = text(&data("armv7-v6-mono.dat"));
    let said = refused(1, &[&trace, &trace, "--thread", "nobody"]);
    assert!(said.contains("nobody"), "{said}");

    let bare = std::fs::read_to_string(data("histogram/cyclictest-2.40.json")).expect("the file");
    let mut bare: Value = serde_json::from_str(&bare).expect("JSON");
    for thread in bare["thread"].as_object_mut().expect("threads").values_mut() {
        thread["histogram"] = serde_json::json!({});
    }
    let bare = file("bare.json", &bare.to_string());
    let said = refused(1, &[&bare, &zynq()]);
    assert!(said.contains("bare.json") && said.contains("cyclictest -h"), "{said}");
}

#[test]
fn one_side_or_too_many_are_wrong_usage() {
    let zynq = zynq();
    assert_eq!(compare(&[&zynq]).status.code(), Some(2));
    let seven = [zynq.as_str(); 7];
    assert!(refused(2, &seven).contains("at most 6"));
}
