//! Bounds that a comparison must keep, and how they were judged.

use super::NAME_WIDTH;
use super::words::{plain, quantile_name, signed, with_interval};
use crate::clean::{clean, clean_cut, cut_middle};
use crate::units::count;
use tardy_stats::Interval;
use tardy_stats::ab::VALUES_MIN;

/// A bound on how much later than A a side may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// How much.
    pub bound: Bound,
    /// In which figure.
    pub figure: Figure,
}

/// How much later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// By this many nanoseconds.
    Ns(u64),
    /// By this share of A's figure: 0.1 is 10 %.
    Share(f64),
}

/// Which figure a gate is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// The mean.
    Mean,
    /// A quantile, 0–1.
    Quantile(f64),
}

/// A gate of one subject and one side, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedGate {
    /// The bound.
    pub gate: Gate,
    /// The subject's name; empty where all threads are taken together.
    pub subject: String,
    /// The place of the side that is compared with the first.
    pub side: usize,
    /// The names of the first side and of this one.
    pub names: [String; 2],
    /// What came out.
    pub outcome: GateOutcome,
    /// Of an undecided gate, about how many values on each side would decide it, if the difference stays as it
    /// is; `None` where no number would, or none can be told.
    pub needed: Option<u64>,
}

/// What a gate comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateVerdict {
    /// It is shown to hold.
    Passed,
    /// It is shown to be broken.
    Failed,
    /// Neither is shown.
    Undecided,
}

impl GateVerdict {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

/// What came out of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateOutcome {
    /// The interval lies above the bound.
    Over {
        /// B − A; of a share of A, B − (1 + share) · A. With its 95 % interval, ns.
        difference: Interval,
    },
    /// The interval lies below the bound, or touches it.
    Under {
        /// As above.
        difference: Interval,
    },
    /// The interval holds the bound: neither is shown.
    Open {
        /// As above.
        difference: Interval,
    },
    /// The samples say nothing of this figure.
    NotJudged {
        /// Why, in a clause.
        why: String,
        /// Whether more values would change that.
        more_would: bool,
    },
}

impl Figure {
    /// `mean`, `p99.9`.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Quantile(q) => quantile_name(q),
        }
    }
}

impl Gate {
    /// As it is written on the command line: `+5.00 µs at p99.9`.
    pub fn in_words(&self) -> String {
        let bound = match self.bound {
            Bound::Ns(0) => "+0".to_owned(),
            Bound::Ns(ns) => signed(ns as f64),
            Bound::Share(share) => format!("+{} %", trimmed(share * 100.0)),
        };
        let place = match self.figure {
            Figure::Mean => "in the mean".to_owned(),
            Figure::Quantile(_) => format!("at {}", self.figure.name()),
        };
        format!("{bound} {place}")
    }

    /// What the difference must not exceed, in ns: 0 for a share of A, which is in the difference.
    pub fn bound_ns(&self) -> f64 {
        match self.bound {
            Bound::Ns(ns) => ns as f64,
            Bound::Share(_) => 0.0,
        }
    }

    /// Judges a difference by its interval.
    pub fn judge(&self, difference: Interval) -> GateOutcome {
        let bound_ns = self.bound_ns();
        if difference.low > bound_ns {
            GateOutcome::Over { difference }
        } else if difference.high <= bound_ns {
            GateOutcome::Under { difference }
        } else {
            GateOutcome::Open { difference }
        }
    }
}

/// An interval narrows with the root of the number of values; beyond this many times as many nobody measures.
const TIMES_MAX: f64 = 10_000.0;

/// How many values on each side it takes for an interval that was made of `count` to leave the bound out.
fn needed_to_decide(difference: Interval, bound_ns: f64, count: u64) -> Option<u64> {
    let distance = (difference.value - bound_ns).abs();
    let reach = if difference.value < bound_ns {
        difference.high - difference.value
    } else {
        difference.value - difference.low
    };
    let times = (reach / distance).powi(2);
    (times.is_finite() && times <= TIMES_MAX).then(|| (count as f64 * times.max(1.0)).ceil() as u64)
}

/// The values it takes for a quantile to have a 95 % interval at all: with fewer, all of them lie below it more
/// often than once in forty.
pub(super) fn values_needed(q: f64) -> u64 {
    (0.025_f64.ln() / q.ln()).ceil() as u64
}

impl JudgedGate {
    /// A gate whose outcome came from so many values on the smaller side.
    pub fn new(
        gate: Gate,
        subject: String,
        (side, names): (usize, [String; 2]),
        outcome: GateOutcome,
        count: u64,
    ) -> Self {
        let needed = match &outcome {
            GateOutcome::Open { difference } => {
                needed_to_decide(*difference, gate.bound_ns(), count)
            }
            GateOutcome::NotJudged { more_would: true, .. } => {
                let needed = match gate.figure {
                    Figure::Quantile(q) => values_needed(q).max(VALUES_MIN),
                    Figure::Mean => VALUES_MIN,
                };
                Some(needed).filter(|needed| *needed > count)
            }
            GateOutcome::NotJudged { more_would: false, .. }
            | GateOutcome::Over { .. }
            | GateOutcome::Under { .. } => None,
        };
        Self { gate, subject, side, names, outcome, needed }
    }

    /// What it comes to.
    pub const fn verdict(&self) -> GateVerdict {
        match self.outcome {
            GateOutcome::Over { .. } => GateVerdict::Failed,
            GateOutcome::Under { .. } => GateVerdict::Passed,
            GateOutcome::Open { .. } | GateOutcome::NotJudged { .. } => GateVerdict::Undecided,
        }
    }

    /// One line that says what came out, with figures.
    pub fn sentence(&self) -> String {
        let whose = match self.subject.as_str() {
            "" => String::new(),
            name => format!("{}, ", clean_cut(name, 24)),
        };
        let [a, b] = self.names.each_ref().map(|name| cut_middle(&clean(name), NAME_WIDTH));
        let word = match self.verdict() {
            GateVerdict::Passed => "passed",
            GateVerdict::Failed => "FAILED",
            GateVerdict::Undecided => "UNDECIDED",
        };
        let head = format!("{word}: {whose}{} ({b} against {a}): ", self.gate.in_words());
        let what = match self.gate.bound {
            Bound::Ns(_) => format!("{b} − {a}"),
            Bound::Share(share) => format!("{b} − {} · {a}", trimmed(1.0 + share)),
        };
        let beyond = match self.gate.bound {
            Bound::Ns(ns) => format!("{} more", plain(ns as f64)),
            Bound::Share(share) => format!("{} % more", trimmed(share * 100.0)),
        };
        // Where a histogram's bins end before the figure, one end is all that is known.
        let figure = |difference: &Interval| match (difference.low, difference.high) {
            (low, f64::INFINITY) if low.is_finite() => format!("{what} is {} or more", signed(low)),
            (f64::NEG_INFINITY, high) if high.is_finite() => {
                format!("{what} is {} or less", signed(high))
            }
            (low, high) if !low.is_finite() && !high.is_finite() => {
                format!("{what} = {}, with no bound on either side", signed(difference.value))
            }
            _ => format!("{what} = {}", with_interval(*difference)),
        };
        let tail = match &self.outcome {
            GateOutcome::Over { difference } => {
                format!(
                    "{}; shown to be over {beyond}, by this figure's own interval (p in tables is corrected for all \
                     figures)",
                    figure(difference)
                )
            }
            GateOutcome::Under { difference } => {
                format!("{}; shown to be no more than {beyond}", figure(difference))
            }
            GateOutcome::Open { difference } => {
                format!(
                    "{}; not shown to be over {beyond}, nor to be within it",
                    figure(difference)
                )
            }
            GateOutcome::NotJudged { why, .. } => format!("not judged, {why}"),
        };
        let needed = match (self.needed, &self.outcome) {
            (Some(needed), GateOutcome::NotJudged { .. }) => {
                format!("; it takes at least {} values on each side", count(needed))
            }
            (Some(needed), _) => {
                format!("; about {} values on each side would decide it", count(needed))
            }
            (None, _) => String::new(),
        };
        head + &tail + &needed
    }
}

/// A number without zeros at its end.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [String; 2] {
        ["A".to_owned(), "B".to_owned()]
    }

    fn judged(bound: Bound, low: f64, high: f64) -> JudgedGate {
        let gate = Gate { bound, figure: Figure::Quantile(0.999) };
        let outcome = gate.judge(Interval { value: f64::midpoint(low, high), low, high });
        JudgedGate::new(gate, String::new(), (1, names()), outcome, 20_000)
    }

    #[test]
    fn a_gate_says_what_is_shown_and_what_is_not() {
        let five = Bound::Ns(5_000);
        let said = [
            judged(five, 5_100.0, 6_100.0),
            judged(five, 4_000.0, 5_000.0),
            // In the middle no number of values decides.
            judged(five, 4_000.0, 6_000.0),
            judged(five, 3_000.0, 6_000.0),
            judged(Bound::Share(0.1), 100.0, 300.0),
        ]
        .map(|gate| gate.sentence());
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_cannot_be_judged_is_not_called_passed() {
        let gate = Gate { bound: Bound::Ns(0), figure: Figure::Mean };
        let outcome = GateOutcome::NotJudged { why: "B has 3 values".to_owned(), more_would: true };
        let judged = JudgedGate::new(gate, "cyclic-0".to_owned(), (1, names()), outcome, 3);
        assert_eq!(
            judged.sentence(),
            "UNDECIDED: cyclic-0, +0 in the mean (B against A): not judged, B has 3 values; it takes at least 20 \
             values on each side"
        );
    }

    #[test]
    fn how_many_values_would_decide_is_told() {
        // A half-width of 1500 ns must become 500: nine times as many.
        let open = judged(Bound::Ns(5_000), 3_000.0, 6_000.0);
        assert_eq!((open.verdict(), open.needed), (GateVerdict::Undecided, Some(180_000)));
        assert_eq!(judged(Bound::Ns(5_000), 4_000.0, 6_000.0).needed, None);
        let gate = Gate { bound: Bound::Ns(0), figure: Figure::Quantile(0.999) };
        let unjudged = |count| {
            let outcome = GateOutcome::NotJudged { why: "too few".to_owned(), more_would: true };
            JudgedGate::new(gate, String::new(), (1, names()), outcome, count).needed
        };
        let outcome = GateOutcome::NotJudged { why: "too few bins".to_owned(), more_would: false };
        let cut = JudgedGate::new(gate, String::new(), (1, names()), outcome, 100);
        assert_eq!(cut.needed, None, "more values would lie above the bins too");
        // 0.999^3688 is the first below a fortieth.
        assert_eq!((unjudged(100), unjudged(5_000)), (Some(3_688), None));
    }

    #[test]
    fn an_interval_without_ends_shows_nothing() {
        let gate = Gate { bound: Bound::Ns(5), figure: Figure::Mean };
        let open = Interval { value: 9.0, low: f64::NEG_INFINITY, high: f64::INFINITY };
        assert_eq!(gate.judge(open), GateOutcome::Open { difference: open });
        let none = Interval { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        assert!(matches!(gate.judge(none), GateOutcome::Open { .. }));
    }
}
