//! Files in and out, from end to end, without root: `tardy export` of a made-up recording, and
//! `tardy report` of other tools' histograms.
#![forbid(unsafe_code)]

mod duckdb;
mod hostile;
mod kept;
#[path = "../live/program.rs"]
#[allow(dead_code, reason = "the tests on a live kernel use the rest")]
mod program;
#[path = "../../../diagnosis/export/tests/synthetic/mod.rs"]
mod synthetic;
mod tables;

use program::{Said, tardy};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tardy_recording::{Host, Manifest, ManifestEnd, Writer};

const WAKEUPS: u64 = 300;

/// What the wakeups of the stream are late by, together.
fn lateness_ns() -> u64 {
    (0..WAKEUPS).map(|at| 2_500 + 1_000 * at).sum()
}

/// A recording in a folder, which lives as long as the returned one.
fn recording() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rec");
    let host = Host { name: "made-up".to_owned(), hz: Some(250), ..Host::default() };
    let manifest = Manifest { host, ..Manifest::default() };
    let mut writer = Writer::create(&path, manifest).unwrap();
    for batch in synthetic::stream(WAKEUPS) {
        writer.append_waiting(batch).unwrap();
    }
    writer.seal(ManifestEnd::default()).unwrap();
    (folder, path)
}

/// Exports the recording to a file or folder of this name; what was printed, and where it is.
#[track_caller]
fn export(name: &str, more: &[&str]) -> (tempfile::TempDir, Value, PathBuf) {
    let (folder, recording) = recording();
    let out = folder.path().join(name);
    let mut command = tardy(["export", "--json"]);
    command.arg(&recording).arg("-o").arg(&out).args(more);
    let document = Said::by(&mut command).expect(0).json();
    (folder, document, out)
}

#[test]
fn every_format_is_listed_and_can_be_written() {
    let listed = Said::by(&mut tardy(["export", "--formats", "--json"])).expect(0).json();
    let formats = listed["formats"].as_array().unwrap();
    assert!(formats.len() >= 8, "{listed}");
    let text = Said::by(&mut tardy(["export", "--formats"])).expect(0).out;
    for format in formats {
        let name = format["name"].as_str().unwrap();
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
        let (folder, recording) = recording();
        let out = folder.path().join("out");
        let mut command = tardy(["export", "--json", "--format", name, "-o"]);
        let said = Said::by(command.arg(&out).arg(&recording));
        if name == "duckdb" && said.status == 1 && said.err.contains("pip install duckdb") {
            println!("skipped: DuckDB is not installed here");
            continue;
        }
        let document = said.expect(0).json();
        assert_eq!(document["schema"], "tardy.export/1");
        assert_eq!(document["format"], name);
        assert_eq!(document["wakeups"], WAKEUPS);
        assert_eq!(document["path"].as_str().map(Path::new), Some(out.as_path()));
        assert!(out.exists(), "{name}");
    }
}

#[test]
fn the_ending_tells_the_format_and_stacks_sum_to_what_explain_says() {
    let (folder, document, out) = export("late.folded", &[]);
    assert_eq!(document["format"], "folded");
    let text = fs::read_to_string(out).unwrap();
    let ns = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(ns.sum::<u64>(), lateness_ns());
    let mut explain = tardy(["explain", "--json", "--no-write"]);
    let explained = Said::by(explain.arg(folder.path().join("rec"))).expect(0).json();
    let causes = explained["causes"].as_array().unwrap();
    let ns = causes.iter().map(|cause| cause["ns"].as_u64().unwrap());
    assert_eq!(ns.sum::<u64>(), lateness_ns());
}

#[test]
fn the_watch_flags_choose_whose_wakeups() {
    let (_folder, document, out) = export("all.folded", &["--all"]);
    let all = document["wakeups"].as_u64().unwrap();
    assert!(all >= WAKEUPS);
    assert!(fs::read_to_string(out).unwrap().contains("(4101)"));
}

#[test]
fn a_histogram_goes_out_and_comes_in_again() {
    for name in ["h.hist", "h.json"] {
        let (_folder, _, out) = export(name, &[]);
        let mut report = tardy(["report", "--json"]);
        let document = Said::by(report.arg(&out)).expect(0).json();
        assert_eq!(document["schema"], "tardy.measure/1");
        let thread = &document["threads"][0];
        assert_eq!(thread["samples"], WAKEUPS, "{name}");
        assert_eq!((&thread["min_ns"], &thread["max_ns"]), (&2_000.into(), &301_000.into()));
        // The one in the middle is 150 µs later than the first.
        assert_eq!(thread["p50_ns"], 152_000, "{name}");
        let text = Said::by(tardy(["report"]).arg(&out)).expect(0).out;
        assert!(text.contains("152.0 µs") && text.contains("301.0 µs"), "{text}");
    }
}

#[test]
fn sixteen_hours_of_another_board() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../diagnosis/sources/import/tests/data/histogram/zynq-2016-timer-load.hist"
    );
    let document = Said::by(&mut tardy(["report", file, "--json"])).expect(0).json();
    let thread = &document["threads"][1];
    assert_eq!(thread["samples"], 243_037_770);
    assert_eq!((&thread["min_ns"], &thread["max_ns"]), (&11_000.into(), &154_000.into()));
    // By its bins; the file's own mean is cut to 29.
    let mean_ns = thread["mean_ns"].as_f64().unwrap();
    assert!((mean_ns - 29_122.075).abs() < 0.001, "{mean_ns}");
    assert_eq!((&thread["p99_ns"], &thread["policy"]), (&53_000.into(), &Value::Null));
}

#[test]
fn wrong_usage_is_status_2_and_names_what_is_wrong() {
    let (folder, recording) = recording();
    let recording = recording.to_str().unwrap();
    let nowhere = folder.path().join("x").to_str().unwrap().to_owned();
    for (arguments, named) in [
        (&["export"][..], "export -o FILE"),
        (&["export", recording], "export -o FILE"),
        (&["export", recording, "-o", &nowhere], "the format is not clear"),
        (&["export", recording, "-o", &nowhere, "--format", "pdf"], "`pdf`"),
        (&["export", recording, "-o", "-", "--format", "text", "--json"], "both write"),
        (&["report", recording, "--json"], "explain --json"),
    ] {
        let said = Said::by(&mut tardy(arguments)).expect(2);
        assert!(said.err.contains(named), "{arguments:?}: {}", said.err);
    }
    assert!(!Path::new(&nowhere).exists());
}

#[test]
fn what_cannot_be_read_or_written_is_one_line_with_its_path() {
    let (folder, recording) = recording();
    let recording = recording.to_str().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "hello\n").unwrap();
    let text = text.to_str().unwrap();
    for (arguments, named) in [
        (&["export", "/no/such/recording", "-o", "x.folded"][..], "/no/such/recording"),
        (&["export", recording, "-o", "/no/such/folder/x.folded"], "/no/such/folder/x.folded"),
        (&["export", recording, "-o", "/dev/full", "--format", "text"], "/dev/full"),
        (&["export", recording, "-o", "-", "--format", "csv"], "standard output"),
        (&["report", text], text),
    ] {
        let said = Said::by(&mut tardy(arguments)).expect(1);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(said.err.contains(named), "{}", said.err);
    }
}

#[test]
fn text_goes_to_standard_output() {
    let (_folder, recording) = recording();
    let mut command = tardy(["export", "--format", "text", "-o", "-"]);
    let said = Said::by(command.arg(&recording)).expect(0);
    assert!(said.out.contains("# clock: mono\n# host: made-up\n"), "{}", &said.out[..200]);
    let arms = said.out.lines().filter(|line| line.contains(": hrtimer_start: ")).count();
    assert_eq!(arms as u64, WAKEUPS);
}

/// A recording of which the end is missing is exported up to there, and the reader is told.
#[test]
fn a_recording_that_was_cut_is_exported_up_to_its_cut() {
    let (folder, recording) = recording();
    let segment = recording.join("events/000000.seg");
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 5]).unwrap();
    let out = folder.path().join("cut.csv");
    let mut command = tardy(["export", "--json", "-o"]);
    let document = Said::by(command.arg(&out).arg(&recording)).expect(0).json();
    assert!(document["notes"].to_string().contains("ends early"), "{document}");
}
