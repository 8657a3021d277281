//! Does a comparison of moved timeouts count what was delivered and what programmed the device, and say
//! what it does not see?

use crate::machine::Machine;
use crate::no_root::Stranger;
use crate::program::{Said, tardy};
use serde_json::Value;

#[test]
fn what_is_delivered_is_what_had_to_be_and_the_json_has_what_the_reference_says() {
    let _machine = Machine::alone();
    for pace in ["spin", "sleep"] {
        let mut command = tardy(["measure", "rearm", "--json", "-D", "600ms", "--pace", pace]);
        let document = Said::by(&mut command).expect(0).json();
        assert_eq!(document["schema"], "tardy.measure.rearm/1");
        assert_eq!((&document["timeout_ns"], &document["pace"]), (&300_000.into(), &pace.into()));
        let methods = document["methods"].as_array().unwrap();
        assert!(methods.len() >= 8);
        assert_eq!(document["device_not_seen"].is_null(), methods[0]["device"].is_object());
        for method in methods {
            let number = |field: &str| method[field].as_f64().unwrap();
            assert!(number("moves") > 0.0 && number("pauses") > 0.0, "{method}");
            assert!(number("delivered") >= number("pauses"), "{method}");
            assert_eq!(method["missed"], 0, "{method}");
            assert_eq!(method["delivered_as_expected"], true, "{method}");
            assert_eq!(method["device_programmed"].is_u64(), method["device"].is_object());
            assert!(method["call"]["p50_ns"].is_u64() && method["lateness"]["max_ns"].is_u64());
            let counts_timers = !method["name"].as_str().unwrap().starts_with("service");
            assert_eq!(method["kernel_timers"].is_u64(), counts_timers, "{method}");
            assert_eq!(method["kernel_timers_per_move"].is_f64(), counts_timers, "{method}");
            assert!(number("cpu_ns_per_move") >= 0.0);
            assert!(number("waiter_cpu_ns_per_move") >= 0.0);
        }
    }
}

/// A move of the kernel's own timer is a cancel and an arm, and each programs the device while that
/// timer is the first: which is most of the time with a tick of 1 ms or more. A lazy move does nothing.
#[test]
fn what_programs_the_device_is_counted_where_it_can_be_recorded() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("kept");
    let mut command = tardy(["measure", "rearm", "--json", "-D", "4", "--record"]);
    let document = Said::by(command.arg(&recording)).expect(0).json();
    assert!(document["device_not_seen"].is_null(), "{document}");
    assert!(document["notes"].is_array());
    let of = |name: &str| {
        let methods = document["methods"].as_array().unwrap();
        methods.iter().find(|method| method["name"] == name).unwrap().clone()
    };
    let per_move = |method: &Value| {
        let device = &method["device"];
        let (programmed, moves) =
            (method["device_programmed"].as_f64().unwrap(), device["moves"].as_f64().unwrap());
        assert!(moves > 0.0 && device["programmed_by_all"].as_f64().unwrap() >= programmed);
        assert!(
            (device["programmed_per_move"].as_f64().unwrap() - programmed / moves).abs() < 1e-9
        );
        assert!(device["programmed_by_all_per_second"].as_f64().unwrap() > 0.0);
        programmed / moves
    };
    let (timerfd, lazy) = (per_move(&of("timerfd")), per_move(&of("futex, lazy")));
    assert!((0.5..3.0).contains(&timerfd), "{timerfd} programmings per move of a timerfd");
    assert!(lazy < timerfd, "{lazy} programmings per lazy move, {timerfd} of a timerfd");
    assert!(recording.join("manifest.json").exists(), "the recording was to be kept");
}

#[test]
fn where_nothing_can_be_recorded_it_says_why_and_measures_all_the_same() {
    let _machine = Machine::alone();
    let stranger = Stranger::new();
    let mut command = stranger.tardy(&["measure", "rearm", "--json", "-D", "600ms"]);
    let document = Said::by(&mut command).expect(0).json();
    assert!(document["device_not_seen"].as_str().unwrap().contains("CAP_BPF"), "{document}");
    for method in document["methods"].as_array().unwrap() {
        assert!(method["moves"].as_u64().unwrap() > 0, "{method}");
        assert!(method["device_programmed"].is_null() && method["device"].is_null(), "{method}");
    }
    let mut command = stranger.tardy(&["measure", "rearm", "-D", "600ms"]);
    let text = Said::by(&mut command).expect(0).out;
    assert!(text.contains("is not known") && text.contains("CAP_BPF"), "{text}");
}

#[test]
fn times_that_do_not_fit_are_refused_in_a_line() {
    let mut command = tardy(["measure", "rearm", "--every", "1ms"]);
    let said = Said::by(&mut command).expect(1);
    assert!(said.err.contains("1000000 ns") && said.err.lines().count() == 1, "{}", said.err);
}
