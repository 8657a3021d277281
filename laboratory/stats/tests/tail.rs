//! Do the intervals of a tail hold what comes as often as they say, where the truth is known?

use tardy_stats::Counted;
use tardy_stats::tail::{Question, Refusal, tail};

const DRAWS: u64 = 40;

/// How far beyond the sample is looked.
const TIMES: u64 = 100;

#[derive(Default)]
struct Outcome {
    maximum_held: u32,
    level_held: u32,
    refused: Vec<Refusal>,
}

/// Draws samples of `n` by `surpassed`, the value in ns that is surpassed with a chance, in bins;
/// and asks for the maximum of further ones, which is drawn too, and for what is surpassed once in
/// as many.
fn outcome(n: u64, bin_ns: u64, surpassed: impl Fn(f64) -> f64) -> Outcome {
    let mut outcome = Outcome::default();
    let further = n * TIMES;
    let binned = |ns: f64| ns as u64 / bin_ns * bin_ns;
    for seed in 0..DRAWS {
        let mut random = fastrand::Rng::with_seed(seed);
        let counted = Counted::of_values((0..n).map(|_| binned(surpassed(1.0 - random.f64()))));
        // The maximum of M is surpassed by one with the chance 1 − U^(1/M).
        let maximum_ns = binned(surpassed(-((1.0 - random.f64()).ln() / further as f64).exp_m1()));
        let level_ns = binned(surpassed(1.0 / further as f64));
        let question = Question { resolution_ns: bin_ns, seed, ..Question::default() };
        match tail(&counted, &question) {
            Ok(tail) => {
                let maximum = tail.maximum_of(further).unwrap();
                let holds = (maximum.low_ns..=maximum.high_ns).contains(&maximum_ns);
                outcome.maximum_held += u32::from(holds);
                let level = tail.level(further as f64).unwrap();
                let holds = (level.low_ns..=level.high_ns).contains(&level_ns);
                outcome.level_held += u32::from(holds);
            }
            Err(why) => outcome.refused.push(why),
        }
    }
    outcome
}

#[track_caller]
fn holds_mostly(outcome: &Outcome) {
    assert_eq!(outcome.refused, []);
    // 95 % of 40 are 38; fewer than 35 have a chance of 1.4 %.
    assert!(outcome.maximum_held >= 35, "{}", outcome.maximum_held);
    assert!(outcome.level_held >= 35, "{}", outcome.level_held);
}

#[test]
fn an_exponential_tail_in_bins_of_a_microsecond() {
    holds_mostly(&outcome(20_000, 1_000, |p| 10_000.0 - 8_000.0 * p.ln()));
}

#[test]
fn a_heavy_tail_of_few_samples() {
    holds_mostly(&outcome(2_000, 1, |p| 10_000.0 + 40_000.0 * (p.powf(-0.2) - 1.0)));
}

#[test]
fn a_tail_that_ends() {
    holds_mostly(&outcome(20_000, 1_000, |p| 10_000.0 + 40_000.0 * (1.0 - p.powf(0.2))));
}

/// No generalised Pareto distribution at any threshold, only nearly.
#[test]
fn a_tail_that_bends() {
    holds_mostly(&outcome(20_000, 1_000, |p| 10_000.0 + 8_000.0 * (-p.ln()).sqrt()));
    holds_mostly(&outcome(20_000, 1_000, |p| 10_000.0 + 8_000.0 * (-p.ln()).powf(1.0 / 0.7)));
}

#[test]
fn what_cannot_be_continued_is_refused() {
    // Uniform: a tail that ends abruptly, as lateness does that waits for the next tick.
    let uniform = outcome(2_000, 1, |p| 90_000.0 - 80_000.0 * p);
    assert_eq!(uniform.refused.len() as u64, DRAWS);
    assert!(uniform.refused.iter().all(|why| matches!(why, Refusal::AbruptEnd { .. })));
    // A tail whose mean is infinite.
    let infinite = outcome(20_000, 1, |p| 10_000.0 + 800.0 / p);
    let refused = infinite.refused.iter().filter(|why| matches!(why, Refusal::InfiniteMean { .. }));
    assert!(refused.count() >= 35, "{:?}", infinite.refused);
}

#[test]
fn few_coarse_far_or_clumped_samples_are_refused_with_the_reason() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut exponential = |n: u64, bin_ns: u64| {
        let one = |_| (-8_000.0 * (1.0 - random.f64()).ln()) as u64 / bin_ns * bin_ns;
        Counted::of_values((0..n).map(one))
    };
    let few = exponential(900, 1);
    assert!(matches!(tail(&few, &Question::default()), Err(Refusal::TooFew { .. })));
    for nothing in [Counted::default(), Counted::of_values([0]), Counted::new([(7, u64::MAX)])] {
        assert!(tail(&nothing, &Question::default()).is_err());
    }
    let coarse = exponential(20_000, 20_000);
    let question = Question { resolution_ns: 20_000, ..Question::default() };
    assert!(matches!(tail(&coarse, &question), Err(Refusal::TooCoarse { .. })));
    let many = exponential(20_000, 1);
    let question = Question { above_bins: 3, ..Question::default() };
    assert!(matches!(tail(&many, &question), Err(Refusal::AboveBins { above: 3 })));
    let question = Question { extremal_index: Some(0.01), ..Question::default() };
    assert!(matches!(tail(&many, &question), Err(Refusal::Clumped { .. })));
    let told = tail(&many, &Question::default()).unwrap();
    assert!(told.level(2e7).is_ok());
    for far in [2.1e7, f64::INFINITY, f64::NAN, 0.0] {
        assert!(matches!(told.level(far), Err(Refusal::TooFar { .. })), "{far}");
    }
}

#[test]
fn what_comes_in_clumps_is_less_sure_and_its_maximum_less_far() {
    let mut random = fastrand::Rng::with_seed(4);
    let values: Vec<u64> =
        (0..50_000).map(|_| (-8_000.0 * (1.0 - random.f64()).ln()) as u64).collect();
    let counted = Counted::of_values(values);
    let told = |extremal_index| {
        let question = Question { extremal_index, ..Question::default() };
        tail(&counted, &question).unwrap()
    };
    let (alone, clumped) = (told(None), told(Some(0.25)));
    let width = |level: tardy_stats::tail::Level| (level.high_ns - level.low_ns) as f64;
    let ratio = width(clumped.level(1e6).unwrap()) / width(alone.level(1e6).unwrap());
    assert!(ratio > 1.2, "{ratio}");
    let median = |tail: &tardy_stats::tail::Tail| tail.maximum_of(1_000_000).unwrap().median_ns;
    assert!(median(&clumped) < median(&alone));
}
