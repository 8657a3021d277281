//! Judges gates.

use tardy_report::{
    Bound, Figure, Gate, GateOutcome, JudgedGate, SideSample, Subject, why_unbounded,
};
use tardy_stats::ab::{Comparison, Question, Verdict, compare};
use tardy_stats::{Counted, Interval, Sample};

/// Every gate with every side but the first.
pub(super) fn judge(subject: &Subject, gates: &[Gate], question: &Question) -> Vec<JudgedGate> {
    let mut judged = Vec::new();
    for gate in gates {
        for side in 1..subject.sides.len() {
            let outcome = match difference(subject, side, gate, question) {
                Ok(difference) => gate.judge(difference),
                Err((why, more_would)) => GateOutcome::NotJudged { why, more_would },
            };
            let count = |at: usize| subject.sides[at].sample.count();
            let fewest = count(0).min(count(side));
            let names = [0, side].map(|place| subject.sides[place].sample.name.clone());
            let name = subject.name.clone();
            judged.push(JudgedGate::new(*gate, name, (side, names), outcome, fewest));
        }
    }
    judged
}

/// The difference that a gate is about; or why there is none, and whether more values would change that.
fn difference(
    subject: &Subject,
    side: usize,
    gate: &Gate,
    question: &Question,
) -> Result<Interval, (String, bool)> {
    let (a, b) = (&subject.sides[0], &subject.sides[side]);
    let is_cut = [a, b].map(|side| is_cut(side, gate.figure));
    if is_cut == [true, true] {
        let why = format!(
            "the {} of both sides lies above the bins of their histograms, or includes values \
                that do: measure with more bins (cyclictest -h)",
            gate.figure.name(),
        );
        return Err((why, false));
    }
    let scaled_comparison = match gate.bound {
        Bound::Ns(_) => None,
        Bound::Share(share) => {
            let quantiles = super::gate::quantile(gate).into_iter().collect();
            let question = Question { quantiles, ..question.clone() };
            Some(compare(&scaled(&a.sample, 1.0 + share), &b.sample, &question))
        }
    };
    let plain = &subject.comparisons[side - 1];
    let interval = figure(scaled_comparison.as_ref().unwrap_or(plain), [a, b], gate.figure)
        .map_err(|why| (why, true))?;
    // How far up each side's figure may be, and whether that is in its bins, does not depend on the share.
    let highest = highest(plain, gate.figure);
    let may_be_cut = [(a, 0), (b, 1)].map(|(side, at)| {
        side.over_bins > 0 && highest[at].is_none_or(|ns| Some(ns) >= side.sample.whole().max_ns())
    });
    let width = a.sample.resolution_ns.max(b.sample.resolution_ns) as f64;
    Ok(bounded_by_what_is_known(interval, may_be_cut, is_cut, width))
}

/// The upper ends of both sides' own intervals, as far as they are known.
fn highest(comparison: &Comparison, figure: Figure) -> [Option<u64>; 2] {
    let Figure::Quantile(q) = figure else { return [None, None] };
    let found = comparison.quantiles.iter().find(|quantile| (quantile.q - q).abs() < 1e-9);
    found.map_or([None, None], |quantile| [quantile.a.high_ns, quantile.b.high_ns])
}

/// Whether a side's figure is only known to lie beyond where a histogram's bins end, or counts values that do.
fn is_cut(side: &SideSample, figure: Figure) -> bool {
    match figure {
        Figure::Mean => side.over_bins > 0,
        Figure::Quantile(q) => !side.tells(q),
    }
}

/// Values above the bins counted as the end of the bins, or as less than a bin's width more: where those are B's, it
/// may be later by any amount more, and where they are A's, earlier. The other end of the interval holds.
fn bounded_by_what_is_known(
    interval: Interval,
    [a_may_be, b_may_be]: [bool; 2],
    [a_is, b_is]: [bool; 2],
    width_ns: f64,
) -> Interval {
    let low = interval.low - if b_is { width_ns } else { 0.0 };
    let high = interval.high + if a_is { width_ns } else { 0.0 };
    Interval {
        low: if a_may_be { f64::NEG_INFINITY } else { low },
        high: if b_may_be { f64::INFINITY } else { high },
        ..interval
    }
}

fn figure(
    comparison: &Comparison,
    sides: [&SideSample; 2],
    figure: Figure,
) -> Result<Interval, String> {
    if let Verdict::TooFew { why } = &comparison.verdict {
        return Err(why.clone());
    }
    match figure {
        Figure::Mean => Ok(comparison.mean.b_minus_a),
        Figure::Quantile(q) => comparison
            .quantiles
            .iter()
            .find(|quantile| (quantile.q - q).abs() < 1e-9)
            .map(|quantile| quantile.difference.b_minus_a)
            .ok_or_else(|| why_unbounded(sides, q)),
    }
}

/// A sample of all latencies times `by`, on the grid of the original: B − 1.1 · A is what a share
/// asks of, and the uncertainty of A's own figure is in its interval. A value stands for all from it to
/// below the next, so what it becomes is shared out among the places of the grid that it covers.
fn scaled(sample: &Sample, by: f64) -> Sample {
    let width = sample.resolution_ns.max(1) as f64;
    let of_class = |&(ns, count): &(u64, u64)| {
        let (from, to) = (ns as f64 * by, (ns as f64 + width) * by);
        let first = (from / width).floor();
        let places = ((to / width).ceil() - first).max(1.0) as u64;
        // How many lie below the end of each place; the differences are whole and sum to the count.
        let below = move |place: u64| {
            let end = (first + place as f64) * width;
            let share = ((end - from) / (to - from)).clamp(0.0, 1.0);
            if place == places { count } else { (share * count as f64).round() as u64 }
        };
        let at = move |place: u64| ((first + place as f64) * width) as u64;
        (0..places)
            .map(move |place| (at(place), below(place + 1) - below(place).min(below(place + 1))))
    };
    let block = |block: &Counted| Counted::new(block.classes().iter().flat_map(of_class));
    Sample { blocks: sample.blocks.iter().map(block).collect(), ..sample.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_report::{GateVerdict, SideSample};
    use tardy_stats::ab::Against;
    use tardy_stats::ab::several;

    fn series(from: u64, salt: u64) -> Vec<u64> {
        // Numbers that look random and are not.
        (0..8_000).map(|at| from + ((at * 2_654_435_761 + salt * 40_503) >> 9) % 1_000).collect()
    }

    fn subject(b_from: u64, over_bins: u64) -> (Subject, Question) {
        let sample = |name: &str, series: &[u64]| Sample::of_series(name, series, 32);
        let samples = [sample("A", &series(10_000, 1)), sample("B", &series(b_from, 2))];
        let question = Question { resamples: 200, ..Question::default() };
        let comparisons = several(&samples, Against::First, &question);
        let [a, b] = samples;
        let side = |sample, over_bins| SideSample { sample, over_bins, ..SideSample::default() };
        let subject = Subject {
            sides: vec![side(a, 0), side(b, over_bins)],
            comparisons: comparisons.into_iter().map(|versus| versus.comparison).collect(),
            ..Subject::default()
        };
        (subject, question)
    }

    fn outcome(subject: &(Subject, Question), gate: &str) -> (&'static str, GateVerdict) {
        let gates = [super::super::gate::parse(gate).expect("a gate")];
        let judged = judge(&subject.0, &gates, &subject.1).remove(0);
        let name = match judged.outcome {
            GateOutcome::Over { .. } => "over",
            GateOutcome::Under { .. } => "under",
            GateOutcome::Open { .. } => "open",
            GateOutcome::NotJudged { .. } => "not judged",
        };
        (name, judged.verdict())
    }

    #[test]
    fn a_gate_fails_or_passes_where_that_is_shown_and_is_undecided_elsewhere() {
        let later = subject(11_500, 0);
        let is = |gate, name, verdict| {
            assert_eq!(outcome(&later, gate), (name, verdict), "{gate}");
        };
        // B is later by 1500 ns of about 10,500.
        is("+1us@p50", "over", GateVerdict::Failed);
        is("+2us@p50", "under", GateVerdict::Passed);
        is("+1.5us@p50", "open", GateVerdict::Undecided);
        is("+10%@mean", "over", GateVerdict::Failed);
        is("+20%@p99", "under", GateVerdict::Passed);
        is("+1us@p99.9999", "not judged", GateVerdict::Undecided);
    }

    #[test]
    fn where_a_tail_is_cut_what_can_be_judged_is() {
        // B's values above its bins are later than where they end: later by so much at least.
        let mut cut = subject(11_500, 100);
        assert_eq!(outcome(&cut, "+1us@p99.9").0, "over");
        assert_eq!(outcome(&cut, "+2us@p99.9").0, "open");
        assert_eq!(outcome(&cut, "+10%@p99.9").0, "over");
        assert_eq!(outcome(&cut, "+1us@mean").0, "over");
        assert_eq!(outcome(&cut, "+1us@p90").0, "over");
        // A's are: B is later by so much at most.
        cut.0.sides.iter_mut().for_each(|side| side.over_bins = 100 - side.over_bins);
        assert_eq!(outcome(&cut, "+2us@p99.9").0, "under");
        assert_eq!(outcome(&cut, "+1us@p99.9").0, "open");
        // Of both nothing is known.
        cut.0.sides[1].over_bins = 100;
        assert_eq!(outcome(&cut, "+1us@p99.9").0, "not judged");
        assert_eq!(outcome(&cut, "+1us@p90").0, "over");
    }

    #[test]
    fn a_scaled_sample_keeps_its_size_its_grid_and_its_mean() {
        let counted = Counted::new((0..200).map(|at| (at * 1_000, 7 + at % 13)));
        let sample = Sample::unordered("A", counted.clone(), 1_000);
        let scaled = scaled(&sample, 1.1);
        let whole = scaled.whole();
        assert_eq!(whole.count(), counted.count());
        assert!(whole.classes().iter().all(|(ns, _)| ns.is_multiple_of(1_000)));
        // Of the middles of the bins, for which a value stands.
        let middle = |counted: &Counted| counted.mean_ns() + 500.0;
        let ratio = middle(&whole) / middle(&counted);
        assert!((ratio - 1.1).abs() < 1e-3, "{ratio}");
    }
}
