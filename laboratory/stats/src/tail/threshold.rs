//! From where on is it the tail?

use super::exceedances::Exceedances;
use super::fitness::fitness;
use super::gpd::Gpd;
use super::refusal::Refusal;
use crate::Counted;

/// Fewer exceedances say nothing of a shape: its standard error is (1 + ξ)/√m, 0.14 of 50 at ξ = 0.
pub(super) const EXCEEDANCES_MIN: u64 = 100;
/// More are not the tail: at the lowest threshold a tenth of all, …
const SHARE_MAX: u64 = 10;
/// … and with so many the error by chance is below a hundredth; only what bends the tail is left,
/// which a higher threshold has less of.
const EXCEEDANCES_MAX: u64 = 20_000;
/// From candidate to candidate the exceedances become fewer by this.
const FEWER: f64 = 0.8;
/// Fewer different values than this leave nothing to test a fit of two parameters with.
pub(super) const VALUES_MIN: usize = 6;
/// The share of thresholds wrongly given up that is accepted among all given up.
const FALSE_SHARE: f64 = 0.05;
/// Where all are given up, the highest is kept still, unless its p is this or less.
const REFUSED_BELOW: f64 = 0.05;

/// A threshold and what was found above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The threshold.
    pub threshold_ns: u64,
    /// How many are at or above it.
    pub exceedances: u64,
    /// The distribution that fits best.
    pub gpd: Gpd,
    /// The Anderson-Darling statistic of that fit.
    pub statistic: f64,
    /// The chance of one at least as large, were the fit true.
    pub p: f64,
}

/// Fits and tests what is at or above one threshold: for those who know where the tail begins. A
/// value stands for all times from it to below the next that can be told apart, `resolution_ns`
/// later. `None` of fewer than six different values.
pub fn above(
    counted: &Counted,
    threshold_ns: u64,
    resolution_ns: u64,
    seed: u64,
) -> Option<Candidate> {
    let exceedances = Exceedances::above(counted, threshold_ns, resolution_ns.max(1));
    (exceedances.filled() >= VALUES_MIN).then(|| candidate(&exceedances, None, seed))
}

/// The fit of exceedances, sought near `start` too, and its test.
fn candidate(exceedances: &Exceedances, start: Option<Gpd>, seed: u64) -> Candidate {
    let (plain, likelihood) = exceedances.fit();
    let near = start.map(|start| exceedances.fit_from(start));
    let gpd = near.filter(|near| near.1 > likelihood).map_or(plain, |near| near.0);
    let fitness = fitness(exceedances, gpd, seed);
    Candidate {
        threshold_ns: exceedances.threshold_ns,
        exceedances: exceedances.count,
        gpd,
        statistic: fitness.statistic,
        p: fitness.p,
    }
}

/// What was chosen, and all that were tried.
pub(super) struct Chosen {
    /// Those that hold, from low to high; at least one.
    pub(super) holding: Vec<(Candidate, Exceedances)>,
    /// All.
    pub(super) tried: Vec<Candidate>,
}

/// The lowest threshold that the tests do not give up: candidates from low to high, each with a
/// fifth fewer exceedances, each fitted and tested ([`fitness`]), and the sequence of p cut by
/// `ForwardStop` at a false discovery rate of 5 % (Bader, Yan and Zhang, "Automated Threshold
/// Selection for Extreme Value Analysis via Ordered Goodness-of-Fit Tests", 2018; G'Sell, Wager,
/// Chouldechova and Tibshirani, 2016).
pub(super) fn choose(counted: &Counted, resolution_ns: u64, seed: u64) -> Result<Chosen, Refusal> {
    let few = |exceedances| Refusal::TooFew { exceedances, least: EXCEEDANCES_MIN };
    if counted.count() / SHARE_MAX < EXCEEDANCES_MIN {
        return Err(few(counted.count() / SHARE_MAX));
    }
    let thresholds = thresholds(counted);
    let Some(&lowest) = thresholds.first() else {
        // The value that a tenth reaches is reached by most, and those beyond are few.
        return Err(few(counted.count() - counted.count_up_to(tenth(counted))));
    };
    let mut tried: Vec<Candidate> = Vec::new();
    let mut all: Vec<Exceedances> = Vec::new();
    for &threshold_ns in &thresholds {
        let exceedances = Exceedances::above(counted, threshold_ns, resolution_ns);
        if exceedances.filled() < VALUES_MIN {
            break;
        }
        tried.push(candidate(&exceedances, tried.last().map(|last| last.gpd), seed));
        all.push(exceedances);
    }
    let Some(last) = tried.last() else {
        let values = Exceedances::above(counted, lowest, resolution_ns).filled();
        return Err(Refusal::TooCoarse { values, least: VALUES_MIN });
    };
    let mut given_up = forward_stop(&tried.iter().map(|candidate| candidate.p).collect::<Vec<_>>());
    if given_up == tried.len() {
        // After many that were rightly given up the rule gives up some more for nothing.
        if last.p <= REFUSED_BELOW {
            return Err(Refusal::BadFit { p: last.p });
        }
        given_up -= 1;
    }
    let holding = tried.iter().copied().zip(all).skip(given_up).collect();
    Ok(Chosen { holding, tried })
}

/// The value above which less than a tenth lies.
fn tenth(counted: &Counted) -> u64 {
    counted.ranked_ns(counted.count() - counted.count() / SHARE_MAX).unwrap_or(0)
}

/// Candidates from low to high.
fn thresholds(counted: &Counted) -> Vec<u64> {
    let most = (counted.count() / SHARE_MAX).min(EXCEEDANCES_MAX);
    let mut found = Vec::new();
    let mut wanted = f64::INFINITY;
    // From the top: how many are at or above each value, as far as they matter.
    let mut reaching: Vec<(u64, u64)> = Vec::new();
    let mut above = 0;
    for &(ns, count) in counted.classes().iter().rev() {
        above += count;
        if above > most {
            break;
        }
        reaching.push((ns, above));
    }
    for &(ns, above) in reaching.iter().rev() {
        if above < EXCEEDANCES_MIN {
            break;
        }
        if above as f64 <= wanted {
            found.push(ns);
            wanted = above as f64 * FEWER;
        }
    }
    found
}

/// How many of the first hypotheses are rejected: the most k of which the mean of −ln(1 − p) is no
/// more than the rate.
fn forward_stop(p: &[f64]) -> usize {
    let mut sum = 0.0;
    let mut rejected = 0;
    for (index, p) in p.iter().enumerate() {
        sum -= (-p).ln_1p();
        if sum / (index + 1) as f64 <= FALSE_SHARE {
            rejected = index + 1;
        }
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_stop_at_the_first_that_hold() {
        assert_eq!(forward_stop(&[0.002, 0.004, 0.01, 0.6, 0.3, 0.9]), 3);
        assert_eq!(forward_stop(&[0.7, 0.2]), 0);
        assert_eq!(forward_stop(&[0.002, 0.002]), 2);
    }

    #[test]
    fn candidates_go_up_until_too_few_are_left() {
        let counted = Counted::of_values(0..10_000);
        let thresholds = thresholds(&counted);
        assert_eq!(thresholds.first(), Some(&9_000), "a tenth");
        assert!(thresholds.is_sorted() && thresholds.last().unwrap() <= &9_950);
        assert!((10..=15).contains(&thresholds.len()), "{thresholds:?}");
    }

    #[test]
    fn a_hump_before_the_tail_is_left_out() {
        let mut random = fastrand::Rng::with_seed(23);
        let mut draw = || -(1.0 - random.f64()).ln();
        let mut values: Vec<u64> = (0..50_000).map(|_| (draw() * 5_000.0) as u64).collect();
        // A second cause, from 40 µs on.
        values.extend((0..1_000).map(|_| 40_000 + (draw() * 9_000.0) as u64));
        let Chosen { holding, .. } =
            choose(&Counted::of_values(values), 1, 1).unwrap_or_else(|why| panic!("{why}"));
        let (candidate, _) = holding[0];
        assert!((38_000..60_000).contains(&candidate.threshold_ns), "{candidate:?}");
        assert!((candidate.gpd.scale_ns / 9_000.0 - 1.0).abs() < 0.2, "{candidate:?}");
    }
}
