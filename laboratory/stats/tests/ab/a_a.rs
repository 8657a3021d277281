//! Two samples of the same thing: how often does a comparison cry wolf?

use crate::synthetic::{Maker, binned, unordered};
use statrs::distribution::{Binomial, DiscreteCDF};
use tardy_stats::Sample;
use tardy_stats::ab::{Basis, Comparison, Question, Verdict, compare};

/// How often each kind of data is compared with itself.
const TIMES: u64 = 200;

/// How unlikely a count must be, were all right, before a test fails: about a hundred are looked at.
const DOUBT: f64 = 0.0001;

/// How many of `n` with probability `p` are neither too few nor too many.
fn plausible(n: u64, p: f64) -> std::ops::RangeInclusive<u64> {
    let binomial = Binomial::new(p, n).unwrap();
    binomial.inverse_cdf(DOUBT / 2.0)..=binomial.inverse_cdf(1.0 - DOUBT / 2.0)
}

fn question(seed: u64) -> Question {
    Question { resamples: 400, seed, ..Question::default() }
}

struct Alarms {
    any: u64,
    /// Single tests below 0.05: mean, ranks, p50, p90.
    single: [u64; 4],
    /// Single 95 % intervals that miss the true difference, 0: mean, p50, p90.
    misses: [u64; 3],
}

/// Compares pairs of what `make` makes.
fn alarms(
    what: &str,
    basis: Basis,
    paired: bool,
    mut make: impl FnMut(u64) -> [Sample; 2],
) -> Alarms {
    let mut alarms = Alarms { any: 0, single: [0; 4], misses: [0; 3] };
    for time in 0..TIMES {
        let [a, b] = make(time);
        let question = Question { paired, ..question(time) };
        assert_eq!(question.pairs(&a, &b), paired);
        let got = compare(&a, &b, &question);
        assert_eq!(got.basis, basis);
        match &got.verdict {
            Verdict::Differ { .. } => alarms.any += 1,
            Verdict::NoDifferenceShown { detectable_ns } => assert!(*detectable_ns > 0.0),
            Verdict::TooFew { why } => panic!("{what}: {why}"),
        }
        let tests = single(&got);
        for (count, (p, _)) in alarms.single.iter_mut().zip(tests) {
            *count += u64::from(p < 0.05);
        }
        let intervals = tests.iter().filter_map(|(_, interval)| *interval);
        for (count, (low, high)) in alarms.misses.iter_mut().zip(intervals) {
            *count += u64::from(low > 0.0 || high < 0.0);
        }
    }
    let Alarms { any, single, misses } = &alarms;
    println!(
        "{what}: {any} false alarms in {TIMES} after Holm; single tests below 0.05: mean, ranks, p50, \
         p90: {single:?}; 95 % intervals that miss 0: mean, p50, p90: {misses:?}"
    );
    alarms
}

fn single(got: &Comparison) -> [(f64, Option<(f64, f64)>); 4] {
    let of = |difference: &tardy_stats::ab::Difference| {
        (difference.p, Some((difference.b_minus_a.low, difference.b_minus_a.high)))
    };
    let quantile = |q: f64| {
        let mut found = got.quantiles.iter().filter(|one| (one.q - q).abs() < 1e-9);
        of(&found.next().expect("large enough for this quantile").difference)
    };
    [of(&got.mean), (got.ranks_p, None), quantile(0.5), quantile(0.9)]
}

impl Alarms {
    /// No more alarms than promised, and single tests that use up what they may.
    #[track_caller]
    fn assert_kept(&self) {
        assert!(self.any <= *plausible(TIMES, 0.05).end(), "{} false alarms", self.any);
        for count in self.single {
            assert!(plausible(TIMES, 0.05).contains(&count), "{:?}", self.single);
        }
        for count in self.misses {
            assert!(count <= *plausible(TIMES, 0.05).end(), "{:?}", self.misses);
        }
    }
}

#[test]
fn independent_values_without_order() {
    alarms("independent values", Basis::Values, false, |seed| {
        let mut maker = Maker::new(seed);
        [unordered("a", maker.wakeups(3000)), unordered("b", maker.wakeups(2000))]
    })
    .assert_kept();
}

#[test]
fn independent_values_in_bins_of_a_microsecond() {
    alarms("1 µs bins, values", Basis::Values, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| binned(unordered(name, maker.wakeups(2000))))
    })
    .assert_kept();
    alarms("1 µs bins, blocks", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| binned(Sample::of_series(name, &maker.wakeups(4000), 16)))
    })
    .assert_kept();
}

#[test]
fn a_heavy_tail() {
    alarms("heavy tail, blocks", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| Sample::of_series(name, &maker.wild(4000), 16))
    })
    .assert_kept();
    alarms("heavy tail, values", Basis::Values, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| unordered(name, maker.wild(4000)))
    })
    .assert_kept();
}

#[test]
fn neighbours_that_resemble_each_other() {
    alarms("AR(1) 0.95, 16 blocks", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| Sample::of_series(name, &maker.sluggish(8000), 16))
    })
    .assert_kept();
    alarms("regimes, 16 blocks", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| Sample::of_series(name, &maker.moody(8000), 16))
    })
    .assert_kept();
    alarms("regimes, 8 blocks", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| Sample::of_series(name, &maker.moody(4000), 8))
    })
    .assert_kept();
}

#[test]
fn sides_of_unequal_length_and_blocks() {
    alarms("regimes, 12 blocks of 250 against 40 of 600", Basis::Blocks, false, |seed| {
        let mut maker = Maker::new(seed);
        [
            Sample::of_series("a", &maker.moody(3000), 12),
            Sample::of_series("b", &maker.moody(24_000), 40),
        ]
    })
    .assert_kept();
}

#[test]
fn rounds_that_share_what_happened() {
    alarms("paired rounds", Basis::Blocks, true, |seed| {
        let mut maker = Maker::new(seed);
        let mut sides = [vec![], vec![]];
        for _ in 0..16 {
            // Varies by 0.3 µs from round to round.
            let level = maker.sluggish(1)[0] / 5;
            for side in &mut sides {
                side.extend(maker.wakeups(250).iter().map(|ns| ns + level));
            }
        }
        let [a, b] = sides;
        [Sample::of_series("a", &a, 16), Sample::of_series("b", &b, 16)]
    })
    .assert_kept();
}

#[test]
fn without_blocks_neighbours_that_resemble_each_other_do_raise_alarms() {
    let alarms = alarms("AR(1) 0.95, taken for independent", Basis::Values, false, |seed| {
        let mut maker = Maker::new(seed);
        ["a", "b"].map(|name| unordered(name, maker.sluggish(4000)))
    });
    assert!(alarms.any > TIMES / 2, "this data cannot tell a good comparison from a bad one");
}
