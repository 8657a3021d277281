//! Bounds that a comparison must keep, and how they were judged.

use super::words::{letter, plain, quantile_name, signed, with_interval};
use crate::clean::clean_cut;
use tardy_stats::Interval;

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
    /// The place of the side that is compared with A.
    pub side: usize,
    /// What came out.
    pub outcome: GateOutcome,
    /// Whether it counts as failed.
    pub failed: bool,
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

impl JudgedGate {
    /// One line that says what came out, with figures.
    pub fn sentence(&self) -> String {
        let whose = match self.subject.as_str() {
            "" => String::new(),
            name => format!("{}, ", clean_cut(name, 24)),
        };
        let (a, b) = (letter(0), letter(self.side));
        let word = if self.failed { "FAILED" } else { "passed" };
        let head = format!("{word}: {whose}{} ({b} against {a}): ", self.gate.in_words());
        let what = match self.gate.bound {
            Bound::Ns(_) => format!("{b} − {a}"),
            Bound::Share(share) => format!("{b} − {} · {a}", trimmed(1.0 + share)),
        };
        let beyond = match self.gate.bound {
            Bound::Ns(ns) => format!("{} more", plain(ns as f64)),
            Bound::Share(share) => format!("{} % more", trimmed(share * 100.0)),
        };
        let figure = |difference: &Interval| format!("{what} = {}", with_interval(*difference));
        let tail = match &self.outcome {
            GateOutcome::Over { difference } => {
                format!("{}; shown to be over {beyond}", figure(difference))
            }
            GateOutcome::Under { difference } => {
                format!("{}; shown to be no more than {beyond}", figure(difference))
            }
            GateOutcome::Open { difference } => {
                format!(
                    "{}; neither shown to be over {beyond} nor to be within",
                    figure(difference)
                )
            }
            GateOutcome::NotJudged { why } => format!("not judged, {why}"),
        };
        // What cannot be judged has not passed, even where it is not counted as failed.
        let head = match (&self.outcome, self.failed) {
            (GateOutcome::NotJudged { .. }, false) => head.replacen("passed", "UNKNOWN", 1),
            _ => head,
        };
        head + &tail
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

    fn judged(bound: Bound, low: f64, high: f64, strict: bool) -> JudgedGate {
        let gate = Gate { bound, figure: Figure::Quantile(0.999) };
        let outcome = gate.judge(Interval { value: f64::midpoint(low, high), low, high });
        let failed = match outcome {
            GateOutcome::Over { .. } => true,
            GateOutcome::Open { .. } => strict,
            _ => false,
        };
        JudgedGate { gate, subject: String::new(), side: 1, outcome, failed }
    }

    #[test]
    fn a_gate_says_what_is_shown_and_what_is_not() {
        let five = Bound::Ns(5_000);
        let said = [
            judged(five, 5_100.0, 6_100.0, false),
            judged(five, 4_000.0, 5_000.0, true),
            judged(five, 4_000.0, 6_000.0, false),
            judged(five, 4_000.0, 6_000.0, true),
            judged(Bound::Share(0.1), 100.0, 300.0, false),
        ]
        .map(|gate| gate.sentence());
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_cannot_be_judged_is_not_called_passed() {
        let gate = Gate { bound: Bound::Ns(0), figure: Figure::Mean };
        let outcome = GateOutcome::NotJudged { why: "B has 3 values".to_owned() };
        let judged =
            JudgedGate { gate, subject: "cyclic-0".to_owned(), side: 1, outcome, failed: false };
        assert_eq!(
            judged.sentence(),
            "UNKNOWN: cyclic-0, +0 in the mean (B against A): not judged, B has 3 values"
        );
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
