//! Does a measurement alone keep its promises: bounds, files, exit statuses?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Said, manifest, tardy};

#[test]
fn the_json_has_what_the_reference_says() {
    let _machine = Machine::alone();
    let said =
        Said::by(&mut tardy(["measure", "cyclic", "-D", "1", "--json", "-t", "2"])).expect(0);
    let document = said.json();
    assert_eq!(document["schema"], "tardy.measure/1");
    assert!(document["broken_by"].is_null() && document["notes"].is_array());
    let threads = document["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    for thread in threads {
        let number =
            |field: &str| thread[field].as_f64().unwrap_or_else(|| panic!("`{field}` in {thread}"));
        let rising = ["min_ns", "p50_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns"].map(number);
        assert!(rising.is_sorted(), "{thread}");
        assert!((number("min_ns")..=number("max_ns")).contains(&number("mean_ns")), "{thread}");
        assert!(number("samples") > 0.0 && number("pid") > 0.0 && number("overruns") >= 0.0);
        assert_eq!(thread["interval_ns"], 1_000_000);
        assert!(thread["cpu"].is_u64() && thread["prio"].is_u64());
        let policy = thread["policy"].as_str().unwrap();
        assert!(["fifo", "other"].contains(&policy), "{policy}");
        assert!(thread["name"].as_str().unwrap().starts_with("cyclic-"));
    }
}

#[test]
fn a_bound_that_is_exceeded_is_told_by_status_3_and_the_recording_is_kept() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let mut command = tardy(["measure", "cyclic", "-b", "1us", "-D", "20", "--json", "--record"]);
    let document = Said::by(command.arg(&recording)).expect(3).json();
    let broken = &document["broken_by"];
    let (thread, latency_ns) = (broken["thread"].as_str().unwrap(), &broken["latency_ns"]);
    assert!(latency_ns.as_u64().unwrap() > 1000);
    assert_eq!(manifest(&recording)["sealed"], true);
    let explained = explain_all(&recording, &[]);
    let late = explained.wakeups.iter().find(|wakeup| wakeup.expiry_ns == broken["expiry_ns"]);
    let late = late.expect("what broke the bound is in the recording");
    assert_eq!((late.task.as_str(), late.lateness_ns), (thread, latency_ns.as_u64().unwrap()));

    let mut command = tardy(["explain", "-q", "--no-write", "--fail-over", "1us"]);
    Said::by(command.arg(&recording)).expect(3);
    let mut command = tardy(["explain", "-q", "--no-write", "--fail-over", "1h"]);
    Said::by(command.arg(&recording)).expect(0);
}

#[test]
fn a_histogram_file_holds_every_sample() {
    let _machine = Machine::alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hist");
    let mut command =
        tardy(["measure", "cyclic", "-l", "200", "-H", "100", "--json", "--histfile"]);
    let document = Said::by(command.arg(&file)).expect(0).json();
    let histograms = tardy_import::histogram::open(&file).unwrap();
    let threads = document["threads"].as_array().unwrap();
    assert_eq!(histograms.rows.len(), threads.len());
    for (row, thread) in histograms.rows.iter().zip(threads) {
        assert_eq!(thread["samples"], row.binned());
        assert_eq!(row.binned(), 200);
    }
}

#[test]
fn wrong_usage_is_status_2_and_names_what_is_wrong() {
    for (arguments, named) in [
        (&["measure", "cyclic", "--no-such-flag"][..], "--no-such-flag"),
        (&["measure", "cyclic", "-D", "soon"], "soon"),
        (&["measure", "cyclic", "-P", "100"], "100"),
        (&["run", "--load", "rain:3"], "rain"),
        (&["run", "--load", "storm:0"], "storm"),
        (&["record", "--buffer", "1"], "32..=131072"),
        (&["explain", "x", "--worst", "many"], "many"),
        (&["dance"], "dance"),
    ] {
        let said = Said::by(&mut tardy(arguments)).expect(2);
        assert!(said.err.contains(named), "{arguments:?}: {}", said.err);
        assert!(said.out.is_empty(), "{arguments:?}: {}", said.out);
    }
}

#[test]
fn a_recording_that_is_not_there_is_one_line_with_its_path() {
    for verb in ["explain", "report"] {
        let said = Said::by(&mut tardy([verb, "/no/such/recording"])).expect(1);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(said.err.contains("/no/such/recording"), "{}", said.err);
        assert!(said.out.is_empty());
    }
}
