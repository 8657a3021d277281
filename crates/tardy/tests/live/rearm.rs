//! Does a comparison of moved timeouts count what was delivered, and say what it does not see?

use crate::machine::Machine;
use crate::program::{Said, tardy};

#[test]
fn what_is_delivered_is_what_had_to_be_and_the_json_has_what_the_reference_says() {
    let _machine = Machine::alone();
    for pace in ["spin", "sleep"] {
        let mut command = tardy(["measure", "rearm", "--json", "-D", "600ms", "--pace", pace]);
        let document = Said::by(&mut command).expect(0).json();
        assert_eq!(document["schema"], "tardy.measure.rearm/1");
        assert_eq!((&document["timeout_ns"], &document["pace"]), (&300_000.into(), &pace.into()));
        let methods = document["methods"].as_array().unwrap();
        assert!(methods.len() >= 3);
        for method in methods {
            let number = |field: &str| method[field].as_f64().unwrap();
            assert!(number("moves") > 0.0 && number("pauses") > 0.0, "{method}");
            assert!(number("delivered") >= number("pauses"), "{method}");
            assert_eq!(method["missed"], 0, "{method}");
            assert_eq!(method["delivered_as_expected"], true, "{method}");
            assert!(method["device_programmed"].is_null());
            assert!(method["call"]["p50_ns"].is_u64() && method["lateness"]["max_ns"].is_u64());
            assert!(number("kernel_timers_per_move") >= 0.0);
            assert!(number("waiter_cpu_ns_per_move") >= 0.0);
        }
    }
}

#[test]
fn times_that_do_not_fit_are_refused_in_a_line() {
    let mut command = tardy(["measure", "rearm", "--every", "1ms"]);
    let said = Said::by(&mut command).expect(1);
    assert!(said.err.contains("1000000 ns") && said.err.lines().count() == 1, "{}", said.err);
}
