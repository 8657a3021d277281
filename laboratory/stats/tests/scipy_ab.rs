//! Do comparisons agree with `SciPy` and statsmodels? `data/make_ab.py` made what is expected.

use serde_json::Value;
use tardy_stats::ab::{Basis, Comparison, Effect, Question, Test, compare, needed};
use tardy_stats::{Counted, Interval, Sample, mann_whitney_counted};

fn expected() -> Value {
    serde_json::from_str(include_str!("data/expected_ab.json")).unwrap()
}

fn cases<'a>(expected: &'a Value, of: &str) -> &'a [Value] {
    expected[of].as_array().unwrap()
}

fn values(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

fn counted(value: &Value) -> Counted {
    let pair = |pair: &Value| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap());
    Counted::new(value.as_array().unwrap().iter().map(pair))
}

#[track_caller]
fn close(what: &str, got: f64, expected: &Value, tolerance: f64) {
    let expected = expected.as_f64().unwrap();
    let off = (got - expected).abs();
    assert!(off <= tolerance * expected.abs(), "{what}: {got}, SciPy says {expected}");
}

fn question() -> Question {
    Question { quantiles: vec![0.25, 0.5, 0.9], ..Question::default() }
}

#[test]
fn ranks_of_values_that_are_counted() {
    for case in cases(&expected(), "rank") {
        let name = case["name"].as_str().unwrap();
        let (first, second) = (counted(&case["first"]), counted(&case["second"]));
        let test = mann_whitney_counted(&first, &second).unwrap();
        close(name, test.u, &case["u"], 1e-12);
        close(name, test.p, &case["p"], 1e-8);
    }
}

#[test]
fn single_values() {
    for case in cases(&expected(), "values") {
        let name = case["name"].as_str().unwrap();
        let series = values(&case["a"]);
        let a = Sample::unordered("a", Counted::of_values(series.clone()), 1);
        let b = Sample::unordered("b", Counted::of_values(values(&case["b"])), 1);
        let got = compare(&a, &b, &question());
        assert_eq!(got.basis, Basis::Values);
        close(name, got.mean.p, &case["mean_p"], 1e-6);
        close(name, got.mean.b_minus_a.low, &case["mean_low"], 1e-6);
        close(name, got.mean.b_minus_a.high, &case["mean_high"], 1e-6);
        close(name, got.quantiles[1].difference.p, &case["median_p"], 1e-6);
        for (got, expected) in got.quantiles.iter().zip(cases(case, "quantiles")) {
            close(name, got.a.ns as f64, &expected["a"], 1e-12);
            close(name, got.b.ns as f64, &expected["b"], 1e-12);
            let (a, b) = (&expected["a"].as_f64().unwrap(), &expected["b"].as_f64().unwrap());
            let off = got.difference.b_minus_a.value - (b - a);
            assert!(off.abs() <= 1.0, "{name}: off by {off} ns, a value's own interval");
            // SciPy's is exact for whole ranks, this one for the normal approximation between them.
            let rank = |ns| series.iter().filter(|&&value| value <= ns).count() as u64;
            let ranks = [rank(got.a.low_ns.unwrap()), rank(got.a.high_ns.unwrap())];
            for (got, expected) in ranks.into_iter().zip(values(&expected["ranks"])) {
                assert!(got.abs_diff(expected) <= 2, "{name}: rank {got}, SciPy says {expected}");
            }
        }
    }
}

fn blocks(case: &Value) -> (Comparison, usize) {
    let side = |name: &str| {
        let series = values(&case[name]);
        let blocks = series.len() / case["length"].as_u64().unwrap() as usize;
        Sample::of_series(name, &series, blocks)
    };
    let times = 4000;
    let paired = case["is_paired"].as_bool().unwrap();
    (compare(&side("a"), &side("b"), &Question { resamples: times, paired, ..question() }), times)
}

#[test]
fn exchanged_blocks() {
    for case in cases(&expected(), "blocks") {
        let (got, times) = blocks(case);
        assert_eq!(got.basis, Basis::Blocks);
        let p = case["p"].as_f64().unwrap();
        // Both p are counts of random exchanges.
        let chance = 1.0 / times as f64 + 1.0 / case["times"].as_f64().unwrap();
        let error = (p * (1.0 - p) * chance).sqrt();
        let off = (got.mean.p - p).abs();
        assert!(off < 4.0 * error + 1e-4, "{}: {}, SciPy says {p}", case["name"], got.mean.p);
    }
}

#[test]
fn blocks_drawn_anew() {
    for case in cases(&expected(), "blocks") {
        let (got, _) = blocks(case);
        let quantile = |at: usize| got.quantiles[at].difference.b_minus_a;
        for (what, Interval { low, high, .. }) in
            [("mean", got.mean.b_minus_a), ("p50", quantile(1)), ("p90", quantile(2))]
        {
            let end = |at: usize| case[what][at].as_f64().unwrap();
            // SciPy draws k of k blocks and takes normal quantiles: some 2 % narrower here.
            let width = end(1) - end(0);
            let off = ((low - end(0)) / width, (high - end(1)) / width);
            assert!(
                off.0.abs() < 0.08 && off.1.abs() < 0.08,
                "{} {what}: {low} to {high}, SciPy says {} to {}",
                case["name"],
                end(0),
                end(1)
            );
        }
    }
}

#[test]
fn sizes_for_a_power() {
    for case in cases(&expected(), "power") {
        let pilot = Sample::unordered("pilot", counted_of(&case["pilot"]), 1);
        let ns = case["shift"].as_u64().unwrap();
        // Holm's first step of the two tests there are without quantiles.
        let alpha = 2.0 * case["alpha"].as_f64().unwrap();
        let question = Question { quantiles: vec![], alpha, ..Question::default() };
        let all = needed(&pilot, Effect::Shift { ns }, case["power"].as_f64().unwrap(), &question);
        let mean = all.iter().find(|needed| needed.test == Test::Mean).unwrap();
        // statsmodels has the noncentral t; the approximation is off by about one value, and whole
        // values round up by less than one more.
        let n = case["n"].as_f64().unwrap();
        let off = (mean.values as f64 - n).abs();
        assert!(off < 2.0 + 0.002 * n, "{}, statsmodels says {n}", mean.values);
    }
}

fn counted_of(value: &Value) -> Counted {
    Counted::of_values(values(value))
}
