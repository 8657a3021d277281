//! Comparisons to test with: intervals and probabilities are made up, samples are whole.

use super::{
    Bound, Compared, Figure, Gate, JudgedGate, SettingsCompared, SideFacts, SideKind, SideSample,
    Subject,
};
use std::collections::BTreeMap;
use tardy_explain::change::{Change, Key, Sum, Taken};
use tardy_model::Cause;
use tardy_stats::ab::{
    BandPoint, Basis, Comparison, Difference, QuantileDifference, Side, Verdict,
};
use tardy_stats::{Interval, MannWhitney, Quantile, Sample};

/// Every side in blocks; B is later by 5 µs and more so in the tail.
pub(crate) fn later() -> Subject {
    subject(&[0, 5_000], 20_000, false)
}

/// Two sides of which nothing can be shown.
pub(crate) fn alike() -> Subject {
    let mut subject = subject(&[0, 0], 2_000, true);
    subject.comparisons[0].verdict = Verdict::NoDifferenceShown { detectable_ns: 312.0 };
    subject
}

/// One side that is too small.
pub(crate) fn too_few() -> Subject {
    let mut subject = subject(&[0, 0], 3, true);
    let why = "B has 3 values; record for longer".to_owned();
    subject.comparisons[0].verdict = Verdict::TooFew { why };
    subject.comparisons[0].quantiles.clear();
    subject
}

/// As many sides as there are shifts.
pub(crate) fn subject(shifts_ns: &[u64], n: u64, is_unordered: bool) -> Subject {
    let samples: Vec<Sample> = shifts_ns
        .iter()
        .enumerate()
        .map(|(place, &shift_ns)| sample(place, shift_ns, n, is_unordered))
        .collect();
    let comparisons = samples[1..].iter().map(|b| comparison(&samples[0], b)).collect();
    let side = |sample| SideSample { sample, ..SideSample::default() };
    Subject { sides: samples.into_iter().map(side).collect(), comparisons, ..Subject::default() }
}

/// Around 20 µs, one in a hundred up to 60 µs later, one in a thousand up to 400 µs.
fn sample(place: usize, shift_ns: u64, n: u64, is_unordered: bool) -> Sample {
    let series: Vec<u64> = (0..n)
        .map(|at| {
            // A number that looks random and is not.
            let scatter = (at * 2_654_435_761 + place as u64 * 40_503) >> 7;
            let tail = match scatter % 1_000 {
                0 => 1_000 * (100 + scatter % 300),
                1..10 => (shift_ns + 2_000) * (1 + scatter % 30) / 3,
                _ => 0,
            };
            18_000 + shift_ns + scatter % 4_000 + tail
        })
        .collect();
    let name = super::letter(place);
    if is_unordered {
        Sample::unordered(name, tardy_stats::Counted::of_values(series), 1_000)
    } else {
        Sample::of_series(name, &series, 32)
    }
}

fn comparison(a: &Sample, b: &Sample) -> Comparison {
    let (whole_a, whole_b) = (a.whole(), b.whole());
    let difference = |a: f64, b: f64, about: f64| Difference {
        a,
        b,
        b_minus_a: Interval { value: b - a, low: b - a - about, high: b - a + about },
        p: 0.0004,
        p_adjusted: 0.0021,
    };
    let at = |q| {
        let ns = |whole: &tardy_stats::Counted| whole.quantile_ns(q).unwrap_or_default();
        (ns(&whole_a), ns(&whole_b))
    };
    let about = |q: f64| 40.0 / (1.0 - q).sqrt();
    let own = |ns: u64| Quantile { ns, low_ns: Some(ns - ns / 50), high_ns: Some(ns + ns / 50) };
    let quantiles: Vec<QuantileDifference> = [0.5, 0.9, 0.99, 0.999]
        .into_iter()
        .map(|q| {
            let (a, b) = at(q);
            let difference = difference(a as f64, b as f64, about(q));
            QuantileDifference { q, a: own(a), b: own(b), difference }
        })
        .collect();
    let band = (1..100u32)
        .map(|of_100| f64::from(of_100) / 100.0)
        .chain([0.995, 0.999, 0.9995])
        .map(|q| {
            let (a, b) = at(q);
            let value = b as f64 - a as f64;
            let about = about(q);
            let b_minus_a = Interval { value, low: value - about, high: value + about };
            BandPoint { q, b_minus_a }
        })
        .collect();
    let is_ordered = a.is_ordered() && b.is_ordered();
    Comparison {
        a: side(a),
        b: side(b),
        basis: if is_ordered { Basis::Blocks } else { Basis::Values },
        mean: difference(whole_a.mean_ns(), whole_b.mean_ns(), 60.0),
        verdict: Verdict::Differ {
            mean: true,
            quantiles: quantiles.iter().map(|quantile| quantile.q).collect(),
            ranks: true,
        },
        quantiles,
        ranks: MannWhitney { u: 1.0, pairs: 10.0, z: -20.0, p: 0.0, a: 0.1 },
        ranks_p: 0.0004,
        ranks_p_adjusted: 0.0021,
        band,
        alpha: 0.05,
    }
}

fn side(sample: &Sample) -> Side {
    let whole = sample.whole();
    Side {
        name: sample.name.clone(),
        count: whole.count(),
        blocks: sample.blocks.len(),
        resolution_ns: sample.resolution_ns,
        min_ns: whole.min_ns().unwrap_or_default(),
        mean_ns: whole.mean_ns(),
        max_ns: whole.max_ns().unwrap_or_default(),
    }
}

/// A comparison of as many sides as there are shifts, with everything that can be there.
pub(crate) fn compared(shifts_ns: &[u64]) -> Compared {
    let mut subject = subject(shifts_ns, 20_000, false);
    for (place, side) in subject.sides.iter_mut().enumerate() {
        side.sample.name = format!("kernel-{place}");
    }
    subject.sides[0].tail =
        Some("A: a longer run of 10 times as many would see 700 µs.".to_owned());
    let side = |place: usize| SideFacts {
        given: format!("runs/kernel-{place}"),
        name: format!("kernel-{place}"),
        kind: SideKind::Recording,
        circumstances: vec![
            ("kernel".to_owned(), format!("6.{place}.0-rt")),
            ("host".to_owned(), "zynq".to_owned()),
        ],
        notes: Vec::new(),
    };
    let gate = Gate { bound: Bound::Ns(4_000), figure: Figure::Quantile(0.999) };
    let judged = |(place, comparison): (usize, &Comparison)| {
        let difference = comparison.quantiles[3].difference.b_minus_a;
        let outcome = gate.judge(difference);
        let names = [0, place + 1].map(|place| subject.sides[place].sample.name.clone());
        JudgedGate::new(gate, String::new(), (place + 1, names), outcome, 100_000)
    };
    let sides: Vec<SideFacts> = (0..shifts_ns.len()).map(side).collect();
    let settings: Vec<_> = sides
        .iter()
        .enumerate()
        .map(|(place, side)| {
            let mut settings: BTreeMap<String, String> =
                side.circumstances.iter().cloned().collect();
            settings.insert("run.load".to_owned(), "storm:40".to_owned());
            settings.insert("thread.cyclic-0.slack_ns".to_owned(), format!("{}", 50_000 >> place));
            if place > 0 {
                settings.insert("vm.swappiness".to_owned(), "60".to_owned());
            }
            settings
        })
        .collect();
    Compared {
        settings: SettingsCompared::of(&settings),
        changes: (1..shifts_ns.len()).map(|place| Ok(change(place))).collect(),
        page: None,
        sides,
        gates: subject.comparisons.iter().enumerate().map(judged).collect(),
        subjects: vec![subject],
        warnings: vec!["kernel-1: not fit to be compared, as others ran beside.".to_owned()],
    }
}

/// More causes and culprits than are shown at once.
pub(crate) fn change(place: usize) -> Change {
    const CAUSES: [&str; 7] = [
        "stacked_timers",
        "slack",
        "irq_delay",
        "idle_exit",
        "callback",
        "interrupts",
        "unexplained",
    ];
    let key = |cause: &'static str, name: &str| Key {
        cause: Cause(cause),
        kind: "task",
        name: name.to_owned(),
    };
    let sum = |times: u64, wakeups: u64| Sum {
        wakeups,
        by: CAUSES
            .iter()
            .zip(1..)
            .map(|(cause, at)| {
                (key(cause, &format!("storm-{at}")), times * wakeups * at * 317 + at)
            })
            .collect(),
    };
    let taken = |times: u64| Taken { all: sum(times, 20_000), worst: sum(4 * times, 200) };
    Change::between(&taken(1), &taken(1 + place as u64)).expect("both have wakeups")
}
