//! Do the tests and intervals agree with `SciPy`? `data/make.py` made what is expected.

use serde_json::Value;
use tardy_stats::{Blocks, holm, mann_whitney, moving_blocks};

fn expected() -> Value {
    serde_json::from_str(include_str!("data/expected.json")).unwrap()
}

fn samples(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|value| value.as_u64().unwrap() as u32).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(what: &str, got: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    let off = (got - expected).abs();
    assert!(off <= 1e-9 * expected.abs().max(1e-3), "{what}: {got}, SciPy says {expected}");
}

#[test]
fn ranks() {
    let expected = expected();
    let cases = expected["rank"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let test = mann_whitney(&samples(&case["first"]), &samples(&case["second"])).unwrap();
        close(name, test.u, &case["u"]);
        close(name, test.p, &case["p"]);
        close(name, test.cliffs_delta(), &case["cliffs_delta"]);
    }
}

#[test]
fn holms_steps() {
    let expected = &expected()["holm"];
    let adjusted = holm(&numbers(&expected["p"]));
    for (got, expected) in adjusted.iter().zip(expected["adjusted"].as_array().unwrap()) {
        close("holm", *got, expected);
    }
}

#[test]
fn blocks() {
    for case in expected()["blocks"].as_array().unwrap() {
        let (first, second) = (samples(&case["first"]), samples(&case["second"]));
        let number = |field: &str| case[field].as_f64().unwrap();
        let interval = |length| {
            let blocks = Blocks { length, resamples: 4000, seed: 7 };
            moving_blocks(&[&first, &second], blocks).unwrap().difference(0, 1)
        };
        // Blocks of one are the ordinary bootstrap: the same interval, but for chance.
        let single = interval(1);
        close("difference", single.value, &case["difference"]);
        let width = number("iid_high") - number("iid_low");
        assert!((single.low - number("iid_low")).abs() < 0.08 * width, "{single:?}");
        assert!((single.high - number("iid_high")).abs() < 0.08 * width, "{single:?}");
        // Longer blocks know of the dependence, which the ordinary one takes for information.
        let long = interval(60);
        let error = (long.high - long.low) / (2.0 * 1.96);
        let off = error / number("true_error");
        assert!((0.7..1.3).contains(&off), "{}: {off} of the true error", case["name"]);
        if case["name"] == "dependent" {
            assert!(long.high - long.low > 2.0 * width, "{long:?}");
        }
    }
}
