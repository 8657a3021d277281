//! Do intervals, tails and dependence agree with `SciPy`? `data/one_sample.py` made what is expected.

use serde_json::Value;
use std::collections::BTreeMap;
use tardy_stats::tail::{Gpd, above};
use tardy_stats::{Blocking, Counted, Ranks, quantile_ranks};

fn expected(part: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("data/one_sample.json")).unwrap();
    all[part].as_array().unwrap().clone()
}

fn number(case: &Value, field: &str) -> f64 {
    case[field].as_f64().unwrap()
}

fn values(case: &Value) -> Vec<u64> {
    case["values"].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

#[track_caller]
fn close(what: &str, got: f64, expected: f64, by: f64) {
    let off = (got - expected).abs() / expected.abs().max(1e-12);
    assert!(off <= by, "{what}: {got}, SciPy says {expected}");
}

#[test]
fn ranks_of_intervals() {
    let cases = expected("ranks");
    assert_eq!(cases.len(), 30);
    for case in cases {
        let ranks = quantile_ranks(case["n"].as_u64().unwrap(), number(&case, "q"), 1.0);
        let expected = Ranks { low: case["low"].as_u64(), high: case["high"].as_u64() };
        assert_eq!(ranks, expected, "{case}");
    }
}

#[test]
fn pareto_tails() {
    let cases = expected("gpd");
    assert_eq!(cases.len(), 18);
    for case in cases {
        let gpd = Gpd { scale_ns: number(&case, "scale"), shape: number(&case, "shape") };
        // SciPy's own formulas lose digits where the shape is nearly 0.
        let by = if gpd.shape.abs() < 1e-6 { 1e-6 } else { 1e-9 };
        let ln_survival = gpd.ln_survival(number(&case, "x"));
        close("ln survival", ln_survival, number(&case, "ln_survival"), by);
        let far = gpd.surpassed_ns(1e-6f64.ln());
        close("1 in a million", far, number(&case, "surpassed_once_in_a_million"), by);
    }
}

#[test]
fn fits_of_what_was_cut_into_cells() {
    let cases = expected("fit");
    assert_eq!(cases.len(), 5);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let counted = Counted::of_values(values(&case));
        let width = case["width"].as_u64().unwrap();
        let Gpd { scale_ns, shape } = above(&counted, 0, width, 1).unwrap().gpd;
        // Neighbours that a fit need not tell apart share a cell here.
        let error = (1.0 + shape) / (counted.count() as f64).sqrt();
        assert!((shape - number(&case, "shape")).abs() < 0.1 * error, "{name}: {shape}, {case}");
        close(name, scale_ns, number(&case, "scale"), 0.1 * error);
    }
}

#[test]
fn what_two_causes_made_is_no_one_tail() {
    for case in expected("fit") {
        let counted = Counted::of_values(values(&case));
        let p = above(&counted, 0, case["width"].as_u64().unwrap(), 1).unwrap().p;
        let is_mixed = case["name"] == "of two causes";
        assert_eq!(p < 0.05, is_mixed, "{}: {p}", case["name"]);
    }
}

#[test]
fn dependence_by_blocks() {
    for case in expected("blocks") {
        let mut blocking = Blocking::default();
        for ns in values(&case) {
            blocking.record(ns);
        }
        let found = blocking.dependence().unwrap();
        let by_block: BTreeMap<u64, f64> = case["tau_by_block"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(length, tau)| (length.parse().unwrap(), tau.as_f64().unwrap()))
            .collect();
        close("tau", found.tau, by_block[&found.block], 1e-9);
        assert!((found.lag_1 - number(&case, "lag_1")).abs() < 1e-3, "{found:?}");
        let true_tau = number(&case, "true_tau");
        assert!((found.tau - true_tau).abs() < 3.0 * found.tau_error, "{found:?} {true_tau}");
        assert!(found.is_plateau);
    }
}
