//! Does `top` find who arms timers, how often, and by which call?

use crate::machine::{Machine, is_root};
use crate::no_root::Stranger;
use crate::program::{Running, Said, tardy};
use serde_json::Value;
use std::collections::BTreeMap;

const THREADS: usize = 10;

fn documents(said: &Said) -> Vec<Value> {
    said.out.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
}

/// Rows of the threads that sleep, by name.
fn sleepers(document: &Value) -> BTreeMap<&str, &Value> {
    let rows = document["timers"].as_array().unwrap().iter();
    let sleeping = rows.filter(|row| row["call"] == "clock_nanosleep");
    sleeping.filter_map(|row| Some((row["name"].as_str()?, row))).collect()
}

fn sum<'a>(rows: impl Iterator<Item = &'a Value>, span: &str, what: &str) -> u64 {
    rows.map(|row| row[span][what].as_u64().unwrap()).sum()
}

#[test]
fn a_storms_threads_are_named_with_their_call_and_rate() {
    let Some(_machine) = Machine::that_records() else { return };
    let mut storm = tardy(["load", "--json", "-q"]);
    let storm = Running::start(storm.arg(format!("storm:{THREADS}")));
    let said = Said::by(&mut tardy(["top", "--batch", "-n", "2", "--json"])).expect(0);
    let load = storm.interrupt().expect(0).json();

    let documents = documents(&said);
    assert_eq!(documents.len(), 2);
    for (document, iteration) in documents.iter().zip(1..) {
        assert_eq!(document["schema"], "tardy.top/1");
        assert_eq!(document["iteration"], iteration);
        assert!(document["interval_ns"].as_u64() <= document["total_ns"].as_u64());
    }
    let last = &documents[1];
    let sleepers = sleepers(last);
    let mut armed_each_second = 0.0;
    for thread in 0..THREADS {
        let name = format!("storm-{thread:02}");
        let row = sleepers.get(name.as_str()).unwrap_or_else(|| panic!("no {name}: {last}"));
        assert_eq!(row["function"], "hrtimer_wakeup");
        assert_eq!(row["process"], "tardy");
        assert_eq!(row["total"]["cancelled"], 0, "nothing ends its sleeps: {row}");
        assert!(row["interval"]["armed"].as_u64().unwrap() > 0, "{row}");
        armed_each_second += row["total"]["per_second"].as_f64().unwrap();
    }
    // The storm counts its rounds itself, a sleep each. It runs before and after too, and what it does
    // there, when nobody records, may differ.
    let rounds = load["work"][0]["done"][0]["count"].as_u64().unwrap() as f64
        / load["seconds"].as_f64().unwrap();
    let ratio = armed_each_second / rounds;
    assert!((0.5..2.0).contains(&ratio), "{armed_each_second} armed, {rounds} rounds a second");

    // They are late too, each by its own timer's slack at least.
    let victims = last["victims"].as_array().unwrap();
    let late = victims.iter().find(|row| row["name"] == "storm-00");
    let late = late.unwrap_or_else(|| panic!("nobody is late: {last}"));
    assert!(late["wakeups"].as_u64().unwrap() > 0 && late["max_ns"].as_u64().unwrap() > 0);
    assert!(late["p50_ns"].as_u64() <= late["p99_ns"].as_u64(), "{late}");
    assert!(late["main_cause"].is_string(), "{late}");

    // What was armed has expired, but for what still waits, or was armed before or lost.
    let storms =
        || sleepers.iter().filter(|(name, _)| name.starts_with("storm-")).map(|(_, row)| *row);
    let (armed, expired) = (sum(storms(), "total", "armed"), sum(storms(), "total", "expired"));
    if last["lost"] == 0 && documents[0]["lost"] == 0 {
        assert!(armed.abs_diff(expired) <= armed / 10, "{armed} armed, {expired} expired");
    }
    assert!(sum(storms(), "total", "inflicted_ns") > 0, "they are in each other's way");
}

#[test]
fn a_recording_tells_the_same_afterwards() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let storm = Running::start(&mut tardy(["load", "-q", "storm:3"]));
    let mut record = tardy(["record", "-q", "-D", "1", "-o"]);
    Said::by(record.arg(&recording)).expect(0);
    storm.interrupt().expect(0);
    let explain = |more: &[&str]| {
        let mut command = tardy(["explain", "--timers", "--all", "--no-write"]);
        Said::by(command.args(more).arg(&recording)).expect(0)
    };
    let document = explain(&["--json"]).json();
    let sleepers = sleepers(&document);
    for thread in ["storm-00", "storm-01", "storm-02"] {
        let row = sleepers.get(thread).unwrap_or_else(|| panic!("no {thread}: {document}"));
        assert!(row["armed"].as_u64().unwrap() > 10 && row["cancelled"] == 0, "{row}");
        assert_eq!(row["slack_ns"]["typical"], row["slack_ns"]["max"], "it is the thread's: {row}");
    }
    assert_eq!(explain(&["--json", "--worst", "all"]).json()["timers"], document["timers"]);
    let text = explain(&[]).out;
    assert!(text.contains("Who arms timers") && text.contains("storm-02"), "{text}");
}

#[test]
fn tables_are_for_whom_documents_are_not() {
    let Some(_machine) = Machine::that_records() else { return };
    let said =
        Said::by(&mut tardy(["top", "--batch", "-n", "2", "-i", "0.3", "--programs"])).expect(0);
    let tables = said.out.lines().filter(|line| line.starts_with("tardy top - live-ebpf, "));
    assert_eq!(tables.count(), 2, "{}", said.out);
    let headings = said.out.lines().filter(|line| line.contains("what for"));
    assert_eq!(headings.count(), 2);
    assert!(said.out.contains("the kernel"), "the tick, if nothing else: {}", said.out);
}

#[test]
fn the_first_table_is_of_who_is_late() {
    let Some(_machine) = Machine::that_records() else { return };
    let said =
        Said::by(&mut tardy(["top", "--batch", "-n", "2", "-i", "1.5", "-s", "max"])).expect(0);
    let headings = said.out.lines().filter(|line| line.contains("p99") && line.contains("mostly"));
    assert_eq!(headings.count(), 2, "{}", said.out);
    Said::by(&mut tardy(["top", "--batch", "-s", "weather"])).expect(2);
}

#[test]
fn without_ebpf_it_looks_by_tracefs() {
    let Some(_machine) = Machine::that_records() else { return };
    let mut command = tardy(["top", "--json", "-n", "1", "--source", "tracefs"]);
    let said = Said::by(&mut command);
    if said.status != 0 && said.err.contains("tracefs") {
        eprintln!("skipped: {}", said.err.trim_end());
        return;
    }
    let documents = documents(&said.expect(0));
    assert_eq!(documents[0]["source"], "live-tracefs");
    assert!(!documents[0]["timers"].as_array().unwrap().is_empty());
}

#[test]
fn ctrl_c_ends_it_in_good_order() {
    let Some(_machine) = Machine::that_records() else { return };
    let top = Running::start(&mut tardy(["top", "--json", "-i", "60s"]));
    // It is caught from the first moment on that there is anything to end.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let said = top.interrupt().expect(0);
    assert!(said.out.is_empty() && said.err.is_empty(), "{}{}", said.out, said.err);
}

#[test]
fn who_may_not_record_is_told_so_in_one_message() {
    let _machine = Machine::alone();
    let said = Said::by(&mut Stranger::new().tardy(&["top", "--batch", "-n", "1"])).expect(1);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("cannot record") && said.err.contains("CAP_BPF"), "{}", said.err);
    assert!(said.out.is_empty());
}

#[test]
fn a_screen_needs_a_terminal() {
    let _machine = Machine::alone();
    let said = Said::by(&mut tardy(["top"])).expect(2);
    assert!(said.err.contains("-b"), "{} (root: {})", said.err, is_root());
}
