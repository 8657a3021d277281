//! The tables in a recording's folder: there where they were asked for, and only there.

use super::{WAKEUPS, lateness_ns, recording};
use crate::program::{Said, tardy};
use std::fs;
use std::path::Path;

const TABLES: [&str; 2] = ["wakeups.parquet", "segments.parquet"];

fn are_there(recording: &Path) -> [bool; 2] {
    TABLES.map(|table| recording.join(table).exists())
}

#[test]
fn they_are_written_where_asked_for() {
    let (_folder, recording) = recording();
    let explain = |more: &[&str]| {
        let mut command = tardy(["explain", "--json"]);
        Said::by(command.args(more).arg(&recording))
    };
    explain(&[]).expect(0);
    assert!(recording.join("report.html").exists());
    assert_eq!(are_there(&recording), [false; 2]);
    let document = explain(&["--tables"]).expect(0).json();
    assert_eq!(document["lateness"]["wakeups"], WAKEUPS);
    assert_eq!(are_there(&recording), [true; 2]);
    let left = fs::read_dir(&recording).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")));
    let said = explain(&["--tables", "--no-write"]).expect(2);
    assert!(said.err.contains("cannot be used with"), "{}", said.err);
}

#[test]
fn a_trace_of_another_tools_has_no_folder_for_them() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/futex-pi-spike.txt");
    let said = Said::by(tardy(["explain", "--tables"]).arg(&trace)).expect(2);
    assert!(said.err.contains("futex-pi-spike.txt is a file: tardy export"), "{}", said.err);
    assert_eq!(said.out, "");
}

/// What was found is told all the same.
#[test]
fn what_stands_in_their_way_costs_the_tables_alone() {
    let (_folder, recording) = recording();
    fs::create_dir(recording.join("segments.parquet")).unwrap();
    let said = Said::by(tardy(["explain", "--json", "--tables"]).arg(&recording)).expect(1);
    let causes = said.json()["causes"].as_array().unwrap().clone();
    let ns: u64 = causes.iter().map(|cause| cause["ns"].as_u64().unwrap()).sum();
    assert_eq!(ns, lateness_ns());
    assert!(recording.join("report.html").exists());
    assert_eq!(are_there(&recording), [false, true]);
    let lines: Vec<&str> = said.err.lines().collect();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(line.contains("segments.parquet: ") && line.contains("is the disk full"), "{line}");
}
