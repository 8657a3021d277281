//! Two samples of different things: is the difference found, as often and as soon as promised?

use crate::synthetic::{Maker, unordered};
use statrs::distribution::{Binomial, DiscreteCDF};
use tardy_stats::ab::{
    Against, Basis, Comparison, Effect, Needed, Question, Test, Verdict, compare, compare_pairs,
    needed, several,
};
use tardy_stats::{Counted, Sample};

/// How often a promise is tried.
const TIMES: u64 = 120;

/// The share of tries that a promise is for.
const POWER: f64 = 0.8;

fn question(seed: u64) -> Question {
    Question { resamples: 200, seed, quantiles: vec![0.5, 0.9, 0.99, 0.999], ..Question::default() }
}

/// The fewest of [`TIMES`] that go with a chance of [`POWER`], but for 1 in 1000.
fn fewest() -> u64 {
    Binomial::new(POWER, TIMES).unwrap().inverse_cdf(0.001)
}

fn p_adjusted(got: &Comparison, test: Test) -> Option<f64> {
    match test {
        Test::Mean => Some(got.mean.p_adjusted),
        Test::Ranks => Some(got.ranks_p_adjusted),
        Test::Quantile(q) => {
            let mut found = got.quantiles.iter().filter(|one| (one.q - q).abs() < 1e-12);
            found.next().map(|one| one.difference.p_adjusted)
        }
    }
}

/// Compares `make`'s pairs [`TIMES`] times: in how many any test, and `test`, found a difference.
fn found(what: &str, test: Test, mut make: impl FnMut(u64) -> [Sample; 2]) -> (u64, u64) {
    let (mut any, mut by_test) = (0, 0);
    for time in 0..TIMES {
        let [a, b] = make(time);
        let got = compare(&a, &b, &question(time));
        any += u64::from(matches!(got.verdict, Verdict::Differ { .. }));
        by_test += u64::from(p_adjusted(&got, test).is_some_and(|p| p < got.alpha));
    }
    println!(
        "{what}: found in {any} of {TIMES}, by the test that was to find it soonest in {by_test}"
    );
    (any, by_test)
}

/// 1 % of wakeups later by 3 µs.
const RARE: Effect = Effect::Late { share: 0.01, ns: 3000 };

fn late(maker: &mut Maker, series: &mut [u64], effect: Effect) {
    let (share, ns) = match effect {
        Effect::Shift { ns } => (1.0, ns),
        Effect::Late { share, ns } => (share, ns),
    };
    for value in series {
        *value += if maker.is_one_of(share) { ns } else { 0 };
    }
}

fn show(what: &str, all: &[Needed]) -> Needed {
    println!("{what}: {all:?}");
    all[0]
}

#[test]
fn three_microseconds_in_one_of_a_hundred_wakeups_are_found_at_the_promised_size() {
    let mut maker = Maker::new(77);
    let pilot = unordered("pilot", maker.wakeups(200_000));
    let soonest = show("values", &needed(&pilot, RARE, POWER, &question(0)));
    let n = soonest.values as usize;
    let (any, by_test) = found(&format!("{n} values"), soonest.test, |seed| {
        let mut maker = Maker::new(1000 + seed);
        let a = maker.wakeups(n);
        let mut b = maker.wakeups(n);
        late(&mut maker, &mut b, RARE);
        [unordered("a", a), unordered("b", b)]
    });
    assert!(any * 5 >= TIMES * 4 && by_test >= fewest(), "{any}, {by_test} of {TIMES}");

    // At a quarter of it, it is not: the promise is not far too careful.
    let n = n / 4;
    let (_, by_test) = found(&format!("{n} values"), soonest.test, |seed| {
        let mut maker = Maker::new(1000 + seed);
        let a = maker.wakeups(n);
        let mut b = maker.wakeups(n);
        late(&mut maker, &mut b, RARE);
        [unordered("a", a), unordered("b", b)]
    });
    assert!(by_test < TIMES / 2, "{by_test} of {TIMES}");
}

#[test]
fn blocks_find_them_at_the_promised_size_as_well() {
    const PER_BLOCK: usize = 1000;
    let mut maker = Maker::new(78);
    let pilot = Sample::of_series("pilot", &maker.wakeups(200 * PER_BLOCK), 200);
    let soonest = show("blocks", &needed(&pilot, RARE, POWER, &question(0)));
    let blocks = soonest.blocks.unwrap() as usize;
    let (any, by_test) = found(&format!("{blocks} blocks"), soonest.test, |seed| {
        let mut maker = Maker::new(2000 + seed);
        let a = maker.wakeups(blocks * PER_BLOCK);
        let mut b = maker.wakeups(blocks * PER_BLOCK);
        late(&mut maker, &mut b, RARE);
        [Sample::of_series("a", &a, blocks), Sample::of_series("b", &b, blocks)]
    });
    assert!(any * 5 >= TIMES * 4 && by_test >= fewest(), "{any}, {by_test} of {TIMES}");
}

#[test]
fn a_shift_is_found_at_the_promised_size_where_neighbours_resemble_each_other() {
    const PER_BLOCK: usize = 400;
    let effect = Effect::Shift { ns: 500 };
    let mut maker = Maker::new(79);
    let pilot = Sample::of_series("pilot", &maker.moody(200 * PER_BLOCK), 200);
    let all = needed(&pilot, effect, POWER, &question(0));
    let soonest = show("regimes", &all);
    let independent = Sample::unordered("pilot", pilot.whole(), 1);
    let naive = needed(&independent, effect, POWER, &question(0))[0].values;
    assert!(soonest.values > 2 * naive, "what neighbours share is not counted twice");
    let blocks = soonest.blocks.unwrap() as usize;
    let (any, by_test) = found(&format!("{blocks} blocks"), soonest.test, |seed| {
        let mut maker = Maker::new(3000 + seed);
        let a = maker.moody(blocks * PER_BLOCK);
        let mut b = maker.moody(blocks * PER_BLOCK);
        late(&mut maker, &mut b, effect);
        [Sample::of_series("a", &a, blocks), Sample::of_series("b", &b, blocks)]
    });
    assert!(any * 5 >= TIMES * 4 && by_test >= fewest(), "{any}, {by_test} of {TIMES}");
}

#[test]
fn what_is_called_detectable_is_detected() {
    for (basis, blocks) in [(Basis::Blocks, 16), (Basis::Values, 1)] {
        let pair = |seed: u64, ns: u64| {
            let mut maker = Maker::new(4000 + seed);
            let a = maker.wakeups(3200);
            let mut b = maker.wakeups(3200);
            late(&mut maker, &mut b, Effect::Shift { ns });
            [Sample::of_series("a", &a, blocks), Sample::of_series("b", &b, blocks)]
        };
        let mut detectable: Vec<f64> = (0..31)
            .filter_map(|seed| {
                let [a, b] = pair(seed + 500, 0);
                let got = compare(&a, &b, &question(seed));
                assert_eq!(got.basis, basis);
                match got.verdict {
                    Verdict::NoDifferenceShown { detectable_ns } => Some(detectable_ns),
                    _ => None,
                }
            })
            .collect();
        detectable.sort_by(f64::total_cmp);
        let ns = detectable[detectable.len() / 2];
        let (_, by_median) =
            found(&format!("{ns:.0} ns, {basis:?}"), Test::Quantile(0.5), |seed| {
                pair(seed, ns as u64)
            });
        assert!(by_median >= fewest(), "{by_median} of {TIMES}");
        // Half of it would mostly be missed: the figure is no exaggeration either.
        let (_, by_median) =
            found("half of it", Test::Quantile(0.5), |seed| pair(seed, ns as u64 / 2));
        assert!(by_median < TIMES * 7 / 10, "{by_median} of {TIMES}");
    }
}

#[test]
fn what_rounds_share_hides_a_difference_that_pairs_show() {
    let mut maker = Maker::new(5);
    let mut sides = [vec![], vec![]];
    for _ in 0..16 {
        let level = maker.wakeup();
        for (side, more) in sides.iter_mut().zip([0, 300]) {
            side.extend(maker.wakeups(250).iter().map(|ns| ns + level + more));
        }
    }
    let [a, b] = sides.map(|side| Sample::of_series("side", &side, 16));
    let differ = |paired| {
        let got = compare(&a, &b, &Question { paired, ..question(1) });
        matches!(got.verdict, Verdict::Differ { mean: true, .. })
    };
    assert!(differ(true) && !differ(false));
}

#[test]
fn of_several_only_the_one_that_differs_does() {
    let mut maker = Maker::new(6);
    let mut samples: Vec<Sample> =
        (0..4).map(|at| Sample::of_series(format!("{at}"), &maker.wakeups(4000), 16)).collect();
    let late: Vec<u64> = maker.wakeups(4000).iter().map(|ns| ns + 400).collect();
    samples.push(Sample::of_series("late", &late, 16));
    for (against, expected) in [(Against::First, 4), (Against::Each, 10)] {
        let all = several(&samples, against, &question(3));
        assert_eq!(all.len(), expected);
        for versus in &all {
            let differs = matches!(versus.comparison.verdict, Verdict::Differ { .. });
            assert_eq!(differs, versus.b == 4, "{} against {}", versus.a, versus.b);
            assert_eq!(versus.comparison.b.name, samples[versus.b].name);
            // Corrected for more tests than its own.
            let alone = compare(&samples[versus.a], &samples[versus.b], &question(3));
            assert!(versus.comparison.mean.p_adjusted >= alone.mean.p_adjusted * 0.5);
        }
    }
    assert!(several(&samples[..1], Against::Each, &question(3)).is_empty());
}

#[test]
fn among_many_that_are_alike_false_alarms_stay_as_rare_as_between_two() {
    let times = 100;
    let alarms = (0..times)
        .filter(|&seed| {
            let mut maker = Maker::new(7000 + seed);
            let samples: Vec<Sample> =
                (0..5).map(|_| unordered("one", maker.wakeups(1000))).collect();
            let all = several(&samples, Against::Each, &question(seed));
            all.iter().any(|one| matches!(one.comparison.verdict, Verdict::Differ { .. }))
        })
        .count() as u64;
    println!("10 comparisons of 5 alike: a false alarm in {alarms} of {times} families");
    assert!(alarms <= Binomial::new(0.05, times).unwrap().inverse_cdf(0.999));
}

#[test]
fn nothing_to_compare_is_said_and_is_no_panic() {
    let some = |n: usize| unordered("some", Maker::new(1).wakeups(n));
    let none = Sample::default();
    let odd = Question {
        quantiles: vec![f64::NAN, -1.0, 2.0, 0.5, 0.5],
        resamples: 0,
        alpha: f64::NAN,
        ..Question::default()
    };
    for (a, b) in
        [(&none, &none), (&none, &some(100)), (&some(1), &some(100)), (&some(19), &some(1))]
    {
        for question in [Question::default(), odd.clone()] {
            let got = compare(a, b, &question);
            let Verdict::TooFew { why } = &got.verdict else { panic!("{:?}", got.verdict) };
            assert!(why.contains("at least 20"), "{why}");
            assert!(got.mean.p.is_finite() && got.ranks_p.is_finite());
        }
    }
    let series = Maker::new(1).wakeups(800);
    let blocks = Sample::of_series("blocks", &series, 8);
    for alpha in [f64::NAN, -1.0, 0.0, 1.0, 7.0] {
        for question in [Question { alpha, ..odd.clone() }, Question { alpha, ..question(1) }] {
            compare(&blocks, &blocks, &question);
            compare(&some(50), &blocks, &question);
            needed(&blocks, RARE, f64::NAN, &question);
            needed(&blocks, Effect::Late { share: f64::NAN, ns: u64::MAX }, 2.0, &question);
            needed(&blocks, Effect::Shift { ns: u64::MAX }, 0.8, &question);
        }
    }
    let far = Sample::unordered("far", Counted::new([(0, u64::MAX / 8), (u64::MAX, 1 << 40)]), 1);
    compare(&far, &blocks, &question(1));
    compare(&far, &far, &Question::default());
    needed(&far, RARE, 0.8, &question(1));
}

#[test]
fn samples_that_never_vary_are_told_apart_or_not() {
    let constant = |ns| Sample {
        name: "constant".to_owned(),
        blocks: vec![Counted::new([(ns, 100)]); 8],
        resolution_ns: 1,
    };
    let same = compare(&constant(5000), &constant(5000), &question(1));
    assert!(matches!(same.verdict, Verdict::NoDifferenceShown { .. }), "{:?}", same.verdict);
    let other = compare(&constant(5000), &constant(5001), &question(1));
    assert!(matches!(other.verdict, Verdict::Differ { mean: true, ranks: true, .. }));
}

/// Blocks of 100 values around `ns`.
fn around(name: &str, ns: u64, blocks: usize) -> Sample {
    let mut random = fastrand::Rng::with_seed(ns);
    let series: Vec<u64> = (0..100 * blocks).map(|_| ns + random.u64(0..1_000)).collect();
    Sample::of_series(name, &series, blocks)
}

#[test]
fn what_is_plain_to_see_is_shown_among_many_comparisons_too() {
    let slow: Vec<Sample> = (0..40).map(|_| around("slow", 100_000, 12)).collect();
    let fast = around("fast", 50_000, 12);
    let pairs: Vec<(&Sample, &Sample)> = slow.iter().map(|slow| (&fast, slow)).collect();
    let question = Question { paired: true, ..Question::default() };
    // Twelve pairs alone show no p below 2/4096, which 280 tests at once do not bear.
    for comparison in compare_pairs(&pairs, &question) {
        assert!(matches!(comparison.verdict, Verdict::Differ { .. }), "{:?}", comparison.verdict);
    }
}

#[test]
fn where_the_blocks_are_too_few_for_so_many_tests_that_is_said() {
    let slow: Vec<Sample> = (0..100).map(|_| around("slow", 100_000, 8)).collect();
    let fast = around("fast", 50_000, 8);
    let pairs: Vec<(&Sample, &Sample)> = slow.iter().map(|slow| (&fast, slow)).collect();
    for comparison in compare_pairs(&pairs, &Question::default()) {
        let Verdict::TooFew { why } = comparison.verdict else {
            panic!("{:?}", comparison.verdict)
        };
        assert!(why.contains("cannot give a p below 1.55e-4"), "{why}");
    }
}
