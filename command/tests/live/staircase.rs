//! Does the staircase keep to its timelines, and tell of every point of them?

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{Said, manifest, tardy};
use serde_json::Value;

fn staircase(more: &[&str]) -> Value {
    let mut command = tardy(["measure", "staircase", "--json"]);
    Said::by(command.args(more)).expect(0).json()
}

fn number(thread: &Value, field: &str) -> u64 {
    thread[field].as_u64().unwrap_or_else(|| panic!("`{field}` in {thread}"))
}

#[test]
fn periods_rise_priorities_fall_and_every_point_is_a_sample_or_missed() {
    let _machine = Machine::alone();
    let document = staircase(&["-D", "1", "--load", "storm:5"]);
    assert_eq!(document["schema"], "tardy.measure.staircase/1");
    assert_eq!(
        (&document["load"], &document["reported"]),
        (&"storm:5".into(), &Value::Array(vec![]))
    );
    let threads = document["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 5);
    for (k, thread) in threads.iter().enumerate() {
        assert_eq!(thread["name"], format!("T{k}"));
        assert_eq!(number(thread, "period_ns"), 1_000_000 * (k as u64 + 1));
        if thread["policy"] == "fifo" {
            assert_eq!(number(thread, "prio"), 60 - k as u64);
        }
        assert_eq!(thread["cpu"], threads[0]["cpu"]);
        let points = number(thread, "points");
        assert_eq!(points, number(thread, "samples") + number(thread, "missed"));
        // All of the second, however late the last return was; those that passed before the thread had
        // begun are not counted.
        let late_ns = number(&thread["deviation"], "max_ns");
        let spanned_ns = points * number(thread, "period_ns");
        assert!(spanned_ns + late_ns + 100_000_000 >= 1_000_000_000, "{thread}");
        assert!(number(&thread["own_cost_ns"], "min") <= number(&thread["own_cost_ns"], "median"));
        assert!(number(&thread["usage"], "voluntary_switches") > 0);
    }
}

#[test]
fn its_recording_explains_its_threads() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording");
    let path = recording.to_str().unwrap();
    let document = staircase(&["-D", "1", "-t", "3", "--record", path]);
    assert_eq!(manifest(&recording)["sealed"], true);
    let explained = explain_all(&recording, &[]);
    for thread in document["threads"].as_array().unwrap() {
        let name = thread["name"].as_str().unwrap();
        // Who started it woke it too, and others may have run instead of it.
        let told: Vec<_> = explained.timed().filter(|wakeup| wakeup.task == name).collect();
        assert_eq!(told.len() as u64, number(thread, "samples"), "{name}");
        let latest_ns = told.iter().map(|wakeup| wakeup.lateness_ns).max();
        assert_eq!(latest_ns, thread["deviation"]["max_ns"].as_u64(), "{name}");
    }
}

#[test]
fn the_text_is_the_mails_and_shows_its_figures_only_where_asked() {
    let _machine = Machine::alone();
    let plain = Said::by(&mut tardy(["measure", "staircase", "-D", "50ms", "-q"])).expect(0).out;
    let asked =
        Said::by(&mut tardy(["measure", "staircase", "-D", "50ms", "-q", "--reference"])).expect(0);
    for text in [&plain, &asked.out] {
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("[T")).count(), 5);
    }
    assert!(!plain.contains("2123") && asked.out.contains("2123"), "{}", asked.out);
}

#[test]
fn wrong_usage_is_told() {
    for (arguments, status, named) in [
        (&["-a", "0-1"][..], 2, "one CPU"),
        (&["-P", "0"], 2, "0"),
        (&["-t", "61"], 1, "1 to 60"),
        (&["-t", "0"], 1, "the number of threads is 0"),
    ] {
        let mut command = tardy(["measure", "staircase", "-D", "1"]);
        let said = Said::by(command.args(arguments)).expect(status);
        assert!(said.err.contains(named), "{arguments:?}: {}", said.err);
    }
}
