//! How far predictions were off that were checked: ranges are widened until they hold what they say.
//!
//! `experience.csv` has a line for each figure of each prediction that was measured afterwards. Ranges are widened as
//! in conformalized quantile regression (Romano, Patterson, Candès, “Conformalized Quantile Regression”, 2019), each
//! side by itself and by a factor: the quantile of how many times the measured figure was below the lower end, or above
//! the upper one. A factor, because tails are off by multiples and not by nanoseconds; each side, because what is not
//! foreseen makes threads later and not earlier.
//!
//! Machines are apart by [`Class`]: what a live one does between two recordings is in no recording, and where time is
//! counted or simulated there is nothing of the kind. One table for all would make the ranges of the one too narrow, or
//! those of the others too wide.

use crate::figures::Figures;
use crate::predict::{COVERAGE, COVERAGE_SURER};
use std::sync::LazyLock;
use tardy_changes::Change;

/// Predictions that were checked: class of the machine, kind of change, where, figure, predicted, low and high before
/// widening, measured; ns. Of live and simulated ones of before 2026-11-30 low and high are computed: until then a baseline's
/// error counted in nanoseconds, and its range is narrowed, as a logarithm, as much as those of the same case and figure
/// were where both ways were tried on the same recordings.
const CHECKED: &str = include_str!("experience.csv");

/// [`CHECKED`], read once.
static LINES: LazyLock<Vec<Line>> =
    LazyLock::new(|| CHECKED.lines().skip(1).filter_map(Line::read).collect());

/// How figures are named there, in the order of [`Figures::all`]; then the mean of all others.
const FIGURES: [&str; 7] = ["mean", "p50", "p99", "p999", "worst_percent", "max", "others"];

/// Where in [`FIGURES`] the mean is, and that of others.
const MEAN: usize = 0;
const OTHERS: usize = 6;

/// What kind of machine was recorded: errors of predictions are of one kind within each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// A kernel in the time of its host, by whatever tool it was recorded.
    #[default]
    Live,
    /// A kernel whose time is a count of its instructions.
    Counted,
    /// A system of `tardy sim`.
    Simulated,
}

/// All that there are.
const CLASSES: [Class; 3] = [Class::Live, Class::Counted, Class::Simulated];

impl Class {
    /// As the table has it.
    fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Counted => "counted",
            Self::Simulated => "simulated",
        }
    }
}

/// Of fewer of one kind, those of all kinds on such machines count. With fewer than 19 the 90 % are the largest that was seen.
const KIND_MIN: usize = 8;

/// No end is nearer than this factor to what is predicted, by figure: what a recorded system costs is known no better
/// than to some percent, and simulated machines whose truth is known are earlier than predicted as often as later.
pub(crate) const NEAREST: [f64; Figures::NAMES.len()] = [1.05, 1.05, 1.1, 1.1, 1.1, 1.0];

/// By how much a range is widened, at both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Widening {
    /// The lower end is so many times lower.
    pub(crate) below: f64,
    /// The upper end is so many times higher.
    pub(crate) above: f64,
    /// Both for the range that is to hold [`COVERAGE_SURER`].
    pub(crate) surer: (f64, f64),
}

/// What ranges of such changes on such a machine are widened by, in the order of [`Figures::all`].
pub(crate) fn widening(changes: &[Change], class: Class) -> [Widening; Figures::NAMES.len()] {
    std::array::from_fn(|figure| of_figure(changes, class, figure))
}

/// The same for the mean of all others, or as for the victims' mean on machines on which that of others was never checked.
pub(crate) fn of_others(changes: &[Change], class: Class) -> Widening {
    let is_checked = LINES.iter().any(|line| (line.class, line.figure) == (class, OTHERS));
    of_figure(changes, class, if is_checked { OTHERS } else { MEAN })
}

/// Together changes are known no better than that of them which is known worst.
fn of_figure(changes: &[Change], class: Class, figure: usize) -> Widening {
    let none = Widening { below: 1.0, above: 1.0, surer: (1.0, 1.0) };
    changes.iter().map(|change| of_kind(change.name(), class, figure)).fold(none, |all, one| {
        Widening {
            below: all.below.max(one.below),
            above: all.above.max(one.above),
            surer: (all.surer.0.max(one.surer.0), all.surer.1.max(one.surer.1)),
        }
    })
}

fn of_kind(name: &str, class: Class, figure: usize) -> Widening {
    let all = LINES.iter().filter(|line| (line.class, line.figure) == (class, figure));
    let all: Vec<&Line> = all.collect();
    let of_kind = all.iter().copied().filter(|line| line.kind == name);
    let of_kind: Vec<&Line> = of_kind.collect();
    let lines = if of_kind.len() >= KIND_MIN { of_kind } else { all.clone() };
    let times = |end: fn(&Line) -> f64| {
        let scores = |lines: &[&Line]| lines.iter().map(|line| end(line)).collect::<Vec<f64>>();
        let own = scores(&lines);
        let mut surer = quantile(own.clone(), COVERAGE_SURER);
        if rank(own.len(), COVERAGE_SURER) > own.len() {
            // The rarest errors are not among so few: those of other kinds have to tell how far they go.
            surer = surer.max(quantile(scores(&all), COVERAGE_SURER));
        }
        (quantile(own, COVERAGE).exp(), surer.exp())
    };
    let (below, above) = (times(|line| line.below), times(|line| line.above));
    Widening { below: below.0, above: above.0, surer: (below.1, above.1) }
}

/// A figure of a prediction that was checked.
#[derive(Debug)]
struct Line {
    class: Class,
    kind: &'static str,
    /// Its place in [`FIGURES`].
    figure: usize,
    /// By what factors the truth was below the range and above it, as logarithms: negative inside.
    below: f64,
    above: f64,
}

impl Line {
    fn read(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [machine, kind, _, name, _, low, high, measured] = fields[..] else { return None };
        let log = |text: &str| text.trim().parse::<f64>().ok().map(|ns| ns.max(1.0).ln());
        let (low, high, measured) = (log(low)?, log(high)?, log(measured)?);
        Some(Self {
            class: CLASSES.into_iter().find(|class| class.name() == machine)?,
            kind,
            figure: FIGURES.iter().position(|figure| *figure == name)?,
            below: low - measured,
            above: measured - high,
        })
    }
}

/// The quantile that leaves so few out that both ends together cover what they are to, with the correction for a
/// finite sample; 0 of nothing, and never less: no range becomes narrower.
fn quantile(mut scores: Vec<f64>, coverage: f64) -> f64 {
    scores.sort_by(f64::total_cmp);
    match scores.len() {
        0 => 0.0,
        n => scores[rank(n, coverage).clamp(1, n) - 1].max(0.0),
    }
}

/// Which of so many scores, the least first, that is; above all where they are too few.
fn rank(scores: usize, coverage: f64) -> usize {
    ((scores + 1) as f64 * f64::midpoint(1.0, coverage)).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reads_and_each_class_has_some() {
        for line in CHECKED.lines().skip(1) {
            assert!(Line::read(line).is_some(), "{line}");
        }
        for class in CLASSES {
            let count = LINES.iter().filter(|line| line.class == class).count();
            assert!(count >= KIND_MIN * 5, "{class:?}: {count}");
        }
    }

    #[test]
    fn each_end_is_moved_by_what_it_was_off() {
        let line = Line::read("counted,slack,here,p99,100,80,120,240").unwrap();
        assert!((line.above.exp() - 2.0).abs() < 1e-9, "it was twice as late as the upper end");
        assert!(line.below < 0.0);
        assert_eq!((line.class, line.kind, line.figure), (Class::Counted, "slack", 2));
        for wrong in ["", "counted,slack,here,p98,1,1,1,1", "moon,slack,here,p99,1,1,1,1"] {
            assert!(Line::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_live_machine_is_less_sure_than_a_simulated_one() {
        let change: Change = "remove(hog)".parse().unwrap();
        let wider = |class: Class| -> f64 {
            let each = widening(std::slice::from_ref(&change), class);
            each.iter().map(|one| (one.below * one.above).ln()).sum()
        };
        let [live, _, simulated] = CLASSES.map(wider);
        assert!(live > simulated, "{live}, simulated {simulated}");
    }

    #[test]
    fn few_lines_of_a_kind_are_not_sure_how_far_off_the_rarest_is() {
        let change: Change = "idle-latency=0us".parse().unwrap();
        let of_kind = LINES.iter().filter(|line| {
            (line.class, line.figure, line.kind) == (Class::Live, MEAN, change.name())
        });
        let above: Vec<f64> = of_kind.map(|line| line.above).collect();
        assert!(rank(above.len(), COVERAGE) <= above.len());
        assert!(rank(above.len(), COVERAGE_SURER) > above.len());
        let [mean, ..] = widening(std::slice::from_ref(&change), Class::Live);
        assert!((mean.above - quantile(above, COVERAGE).exp()).abs() < 1e-9);
        assert!(mean.surer.1 > mean.above, "{mean:?}");
    }

    #[test]
    fn changes_together_are_known_no_better_than_each() {
        let known = |texts: &[&str]| {
            let changes: Vec<Change> = texts.iter().map(|text| text.parse().unwrap()).collect();
            widening(&changes, Class::Live)
        };
        let (one, other) = (known(&["slack(victim)=1ns"]), known(&["remove(storm)"]));
        let both = known(&["slack(victim)=1ns", "remove(storm)"]);
        for ((one, other), both) in one.iter().zip(other).zip(both) {
            assert!(both.above >= one.above.max(other.above), "{one:?}, {other:?}, {both:?}");
            assert!(both.surer.0 >= one.surer.0.max(other.surer.0), "{one:?}, {other:?}, {both:?}");
        }
    }

    #[test]
    fn the_quantile_covers() {
        let scores: Vec<f64> = (1..=99).map(f64::from).collect();
        assert!((quantile(scores.clone(), 0.9) - 95.0).abs() < 1e-9);
        assert!((quantile(scores, 0.96) - 98.0).abs() < 1e-9);
        assert!((quantile(vec![3.0], 0.9) - 3.0).abs() < 1e-9);
        assert!(quantile(Vec::new(), 0.9).abs() < 1e-9);
        assert!(quantile(vec![-2.0], 0.9).abs() < 1e-9, "no range becomes narrower");
    }
}
