//! Does a measurement of a lock end, say what it saw, and agree with the same program in C?

use crate::machine::{Machine, is_root};
use crate::no_root::Stranger;
use crate::program::{Running, Said, tardy};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A document of `measure pi`, or why there is none. A round that takes 5 s ends it with status 3, which
/// a machine that is busy enough can do to a lock without inheritance.
fn measured(more: &[&str]) -> Option<Value> {
    if !is_root() {
        eprintln!("skipped: this needs root, for real-time priorities");
        return None;
    }
    let mut command = tardy(["measure", "pi", "--json", "--quiet"]);
    let said = Said::by(command.args(more));
    assert!(said.status == 0 || said.status == 3, "{}\n{}", said.out, said.err);
    let document = said.json();
    assert_eq!(said.status == 3, document["ended"] == "stalled", "{document}");
    Some(document)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn each_protocol_runs_and_the_json_has_what_the_reference_says() {
    let _machine = Machine::alone();
    for protocol in ["none", "inherit", "protect"] {
        let more = ["--protocol", protocol, "-l", "5000", "--training", "20", "-H", "30"];
        let Some(document) = measured(&more) else { return };
        assert_eq!(document["schema"], "tardy.measure.pi/1");
        assert_eq!((&document["protocol"], &document["robust"]), (&protocol.into(), &false.into()));
        assert_eq!(document["training_rounds"], 20);
        assert!(document["boosts"].is_null());
        assert!(document["boosts_not_seen"].as_str().unwrap().contains("--record"));
        assert!(document["verdict"].is_array() && document["notes"].is_array());
        for (thread, prio) in [("high", 59), ("busy", 58)] {
            assert_eq!(
                (&document[thread]["policy"], &document[thread]["prio"]),
                (&"fifo".into(), &prio.into())
            );
        }
        let low = if protocol == "protect" { ("fifo", 1) } else { ("other", 0) };
        assert_eq!(document["low"]["policy"], low.0);
        assert_eq!(document["low"]["prio"], low.1);
        for load in ["locked", "free"] {
            let load = &document[load];
            assert_eq!(load["asked_ns"], 1_001);
            assert!(number(&load["wait_ns"]) <= 1_001 && number(&load["samples"]) > 0, "{load}");
            assert!(number(&load["min_ns"]) <= number(&load["p50_ns"]), "{load}");
        }
        let rounds = number(&document["rounds"]);
        if document["ended"] == "rounds" {
            assert_eq!(rounds, 5_000);
        }
        for figure in ["to_lock", "jitter"] {
            let figure = &document[figure];
            assert_eq!(number(&figure["samples"]), rounds);
            let classes = figure["classes"].as_array().unwrap().iter();
            assert_eq!(classes.map(|class| number(&class[1])).sum::<u64>(), rounds);
        }
        let histogram = &document["histogram"];
        for figure in ["to_lock", "jitter"] {
            let bins = histogram[figure].as_array().unwrap().iter();
            let over = number(&histogram[format!("{figure}_over")]);
            assert_eq!(bins.map(|bin| number(&bin[1])).sum::<u64>() + over, rounds);
        }
        if rounds > 0 {
            assert_eq!(document["worst"]["jitter_ns"], document["jitter"]["max_ns"]);
        }
        for field in ["sleeps", "slow_calls", "long_rounds", "low_rounds", "clock_ns"] {
            assert!(document[field].is_u64(), "{field}");
        }
        assert!(number(&document["throttling"]["hits"]) <= number(&document["long_rounds"]));
    }
}

#[test]
fn boosts_are_told_where_it_was_recorded() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("pi");
    let recording = recording.to_str().unwrap();
    // With the lock for long: where Low runs at all, High has to wait for it.
    let more = [
        "-D", "2", "--locked", "50us", "--free", "20us", "--buffer", "16384", "--record", recording,
    ];
    let Some(document) = measured(&more) else { return };
    assert!(document["boosts_not_seen"].is_null());
    let boosts = &document["boosts"];
    let calls = number(&boosts["calls"]);
    let by_boosts = boosts["by_boosts"].as_array().unwrap().iter();
    assert_eq!(by_boosts.map(|row| number(&row["calls"])).sum::<u64>(), calls);
    // Rounds of a lock that nobody else wanted are possible here, but each sleep is such a call.
    if number(&boosts["touched_by_loss"]) == 0 && boosts["notes"].as_array().unwrap().is_empty() {
        assert!(calls >= number(&document["sleeps"]), "{calls} calls: {document}");
    }
    assert!(number(&boosts["double"]) <= calls);
    println!("{calls} calls: {}", boosts["by_boosts"]);
    assert!(Path::new(recording).join("manifest.json").exists(), "the recording is kept");
}

#[test]
fn a_user_who_interrupts_gets_what_there_is() {
    let _machine = Machine::alone();
    if !is_root() {
        eprintln!("skipped: this needs root, for real-time priorities");
        return;
    }
    let running = Running::start(&mut tardy(["measure", "pi", "--json", "-D", "600"]));
    std::thread::sleep(Duration::from_millis(1500));
    let document = running.interrupt().expect(0).json();
    assert_eq!(document["ended"], "stopped");
    assert_eq!(document["rounds"], document["jitter"]["samples"]);
}

#[test]
fn without_real_time_priorities_it_is_refused_in_a_line_that_says_what_would_bring_them() {
    let _machine = Machine::alone();
    let stranger = Stranger::new();
    let mut command = stranger.tardy(&["measure", "pi", "--json", "-l", "100"]);
    let said = Said::by(&mut command);
    if said.status == 0 {
        eprintln!("skipped: whoever runs this may use real-time priorities");
        return;
    }
    let said = said.expect(1);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("SCHED_FIFO") && said.err.contains("CAP_SYS_NICE"), "{}", said.err);
    assert!(said.out.is_empty());
}

#[test]
fn wrong_usage_is_status_2() {
    for (arguments, named) in [
        (&["-a", "0-1"][..], "one CPU"),
        (&["-P", "1"], "2..=98"),
        (&["-l", "0"], "0"),
        (&["--protocol", "hope"], "hope"),
    ] {
        let said = Said::by(tardy(["measure", "pi"]).args(arguments)).expect(2);
        assert!(said.err.contains(named), "{arguments:?}: {}", said.err);
    }
}

/// What must hold of both whatever else the machine does: as many rounds, and loads of which neither is
/// shorter than it waits by the clock nor several times the other's. How their figures compare is a
/// matter for bench/pi.py.
#[test]
fn the_same_program_in_c_goes_the_same_rounds() {
    let _machine = Machine::alone();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("pi-peer");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/pi-peer.c");
    let built =
        Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let Some(document) = measured(&["-l", "5000", "-D", "60"]) else { return };
    let cpu = number(&document["cpu"]).to_string();
    let said = Said::by(Command::new(&program).args([&cpu, "50", "5000", "1001", "calibrated"]));
    let said = said.expect(0);
    let mut lines = said.out.lines();
    let head: Vec<u64> =
        lines.next().unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    let rounds = lines.count() as u64;
    assert_eq!((rounds, number(&document["rounds"])), (5_000, 5_000));
    let (wait_ns, ours_ns) = (head[0], number(&document["locked"]["wait_ns"]));
    assert!((1..=1_001).contains(&wait_ns) && (1..=1_001).contains(&ours_ns));
    assert!(wait_ns < 4 * ours_ns && ours_ns < 4 * wait_ns, "{wait_ns} and {ours_ns}");
}
