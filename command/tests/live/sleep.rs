//! Does a comparison of sleeps find by itself what the slack does?

use crate::machine::Machine;
use crate::program::{Said, tardy};
use serde_json::Value;

fn compared(more: &[&str]) -> Value {
    let mut command = tardy(["measure", "sleep", "--json"]);
    Said::by(command.args(more)).expect(0).json()
}

fn method<'a>(document: &'a Value, name: &str) -> &'a Value {
    let methods = document["methods"].as_array().unwrap();
    let found = methods.iter().find(|method| method["name"] == name);
    found.unwrap_or_else(|| panic!("`{name}` in {methods:?}"))
}

/// What the kernel says of a thread's slack; every process below inherits it.
fn slack_ns() -> u64 {
    rustix::thread::current_timer_slack().unwrap()
}

#[test]
fn the_slack_is_what_a_sleep_with_it_takes_longer() {
    let _machine = Machine::alone();
    let before_ns = slack_ns();
    if !(20_000..=200_000).contains(&before_ns) {
        eprintln!("skipped: a timer slack of {before_ns} ns was set for the tests");
        return;
    }
    let document = compared(&["-l", "300"]);
    assert_eq!(document["slack_ns"], before_ns);
    let calls = ["nanosleep", "clock_nanosleep relative", "clock_nanosleep absolute"];
    for call in calls {
        // Medians: a delay of milliseconds that hits one of the two is no matter of slack.
        let median_ns = |name: &str| method(&document, name)["p50"]["ns"].as_u64().unwrap();
        let longer_ns = median_ns(call).saturating_sub(median_ns(&format!("{call}, slack 1 ns")));
        assert!(longer_ns.abs_diff(before_ns) <= before_ns / 5, "{call}: {longer_ns}");
    }
    let findings = document["slack"].as_array().unwrap();
    assert_eq!(findings.len(), calls.len());
    for finding in findings {
        assert_eq!(finding["verdict"], "is_the_slack", "{finding}");
    }
    let verdict = document["verdict"].as_array().unwrap();
    let said =
        verdict.iter().filter(|said| said.as_str().unwrap().contains("that is the thread's"));
    assert_eq!(said.count(), calls.len(), "{verdict:?}");
    assert_eq!(slack_ns(), before_ns);
}

#[test]
fn a_real_time_thread_has_no_slack_to_find() {
    let _machine = Machine::alone();
    let document = compared(&["-l", "100", "-P", "10"]);
    if document["policy"] != "fifo" {
        eprintln!("skipped: SCHED_FIFO is not permitted here");
        return;
    }
    for finding in document["slack"].as_array().unwrap() {
        assert_eq!(finding["verdict"], "no_slack", "{finding}");
    }
}

#[test]
fn the_json_has_what_the_reference_says() {
    let _machine = Machine::alone();
    let document = compared(&["-l", "50", "-r", "20us", "--seed", "7"]);
    assert_eq!(document["schema"], "tardy.measure.sleep/1");
    assert_eq!((&document["request_ns"], &document["seed"]), (&20_000.into(), &7.into()));
    assert_eq!((&document["rounds"], &document["warm_up_rounds"]), (&50.into(), &100.into()));
    assert!(document["notes"].is_array() && document["cpu"].is_null());
    let methods = document["methods"].as_array().unwrap();
    for method in methods {
        assert_eq!((&method["samples"], &method["early"]), (&50.into(), &0.into()));
        let number = |field: &str| method[field].as_f64().unwrap();
        assert!(20_000.0 <= number("min_ns") && number("min_ns") <= number("mean_ns"), "{method}");
        assert!(number("mean_ns") <= number("max_ns") && number("cpu_mean_ns") >= 0.0, "{method}");
        for quantile in ["p50", "p99", "p999"] {
            let quantile = &method[quantile];
            assert!(quantile["low_ns"].as_u64() <= quantile["ns"].as_u64(), "{method}");
        }
        let micros = method["micros"].as_array().unwrap();
        let last = micros.last().unwrap()["total_share"].as_f64().unwrap();
        assert!((last - 1.0).abs() < 1e-9, "{method}");
    }
    let pairs = document["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), methods.len() * (methods.len() - 1) / 2);
    for pair in pairs {
        let number = |field: &str| pair[field].as_f64().unwrap();
        assert!(number("p") <= number("p_holm") && number("p_holm") <= 1.0, "{pair}");
        assert!((number("cliffs_delta") - (2.0 * number("vargha_delaney_a") - 1.0)).abs() < 1e-9);
    }
    let grouped = |field: &str| -> usize {
        let groups = document[field].as_array().unwrap();
        groups.iter().map(|group| group.as_array().unwrap().len()).sum()
    };
    assert_eq!(
        (grouped("alike_by_mean"), grouped("alike_by_median")),
        (methods.len(), methods.len())
    );
}

#[test]
fn an_interrupt_ends_it_and_keeps_what_there_is() {
    let _machine = Machine::alone();
    let running = crate::program::Running::start(&mut tardy(["measure", "sleep", "--json"]));
    std::thread::sleep(std::time::Duration::from_millis(700));
    let document = running.interrupt().expect(0).json();
    assert!(document["rounds"].as_u64().unwrap() < 100_000);
    let methods = document["methods"].as_array().unwrap();
    assert!(methods.iter().all(|method| method["samples"] == document["rounds"]));
}

#[test]
fn wrong_usage_is_status_2() {
    for (arguments, named) in [
        (&["-a", "0-1"][..], "one CPU"),
        (&["-l", "0"], "0"),
        (&["--full", "-l", "5"], "--loops"),
        (&["-r", "0"], "0"),
    ] {
        let mut command = tardy(["measure", "sleep"]);
        let said = Said::by(command.args(arguments)).expect(2);
        assert!(said.err.contains(named), "{arguments:?}: {}", said.err);
    }
}
