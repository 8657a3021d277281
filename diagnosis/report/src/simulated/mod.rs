//! What simulated systems do to their threads, a row for each timer policy: as lines of text, and as a page.

mod page;
mod text;

pub use page::simulated_page;
pub use text::simulated_text;

use crate::clean::clean_cut;
use crate::confidence::range;
use crate::units::{count, duration, duration_mean};
use tardy_experiment::Truth;
use tardy_stats::{Latencies, Quantile};

/// What there is to show of simulated systems.
#[derive(Debug)]
pub struct SimulatedData<'a> {
    /// What was simulated, in the words of its file; may be empty.
    pub title: &'a str,
    /// The time of each run.
    pub span_ns: u64,
    /// Runs of each policy and condition, each with a seed of its own.
    pub runs: u32,
    /// What the seeds are made from.
    pub seed: u64,
    /// A row per thread, policy and condition.
    pub rows: Vec<SimulatedRow<'a>>,
    /// What moved timers cost, of each policy and condition where any was moved.
    pub moves: Vec<SimulatedMoves<'a>>,
    /// What locks with priority inheritance did, of each policy and condition where anybody had to call the kernel for one.
    pub locks: Vec<SimulatedLocks<'a>>,
    /// The same figures as a table, for curves over what varies.
    pub truth: &'a Truth,
}

/// A thread, or several that are alike, under a timer policy.
#[derive(Clone, Debug)]
pub struct SimulatedRow<'a> {
    /// The condition; empty where there is one alone.
    pub condition: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// The thread.
    pub thread: &'a str,
    /// How late it was back from its sleeps.
    pub latencies: &'a Latencies,
    /// How often the clock-event devices of the whole system were programmed, per second of its time.
    pub programmed_per_s: f64,
    /// The share of all CPUs' time that this took, 0–1.
    pub programming_share: f64,
}

/// How often armed timers were moved under a policy, and what that cost.
#[derive(Clone, Debug)]
pub struct SimulatedMoves<'a> {
    /// The condition; empty where there is one alone.
    pub condition: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// Moves of armed timers.
    pub moves: u64,
    /// Programmings of devices for each, in all and by the moves themselves.
    pub programmed: (f64, f64),
    /// How often devices were programmed, per second of the system's time.
    pub programmed_per_s: f64,
    /// The share of all CPUs' time that this took, 0–1.
    pub programming_share: f64,
}

const MOVES_HEADS: [&str; 7] = [
    "condition",
    "policy",
    "moves of timers",
    "device writes per move",
    "by the move itself",
    "device writes",
    "CPU time",
];

impl SimulatedMoves<'_> {
    /// A cell per head.
    fn cells(&self) -> Vec<String> {
        let (in_all, own) = self.programmed;
        vec![
            clean_cut(self.condition, 24),
            clean_cut(self.policy, 28),
            count(self.moves),
            format!("{in_all:.4}"),
            format!("{own:.4}"),
            per_second(self.programmed_per_s),
            share(self.programming_share),
        ]
    }
}

/// Calls for locks with priority inheritance, and the priorities that were lent in them.
#[derive(Clone, Debug)]
pub struct SimulatedLocks<'a> {
    /// The condition; empty where there is one alone.
    pub condition: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// Calls of the kernel for a lock that somebody else had.
    pub calls: u64,
    /// How often a thread was lent a higher priority.
    pub boosts: u64,
    /// How often of these it was on its way out of a lock, back at its own priority.
    pub double_boosts: u64,
}

const LOCKS_HEADS: [&str; 6] =
    ["condition", "policy", "calls for locks", "boosts", "double boosts", "share of calls"];

impl SimulatedLocks<'_> {
    /// A cell per head.
    fn cells(&self) -> Vec<String> {
        vec![
            clean_cut(self.condition, 24),
            clean_cut(self.policy, 28),
            count(self.calls),
            count(self.boosts),
            count(self.double_boosts),
            share(self.double_boosts as f64 / self.calls.max(1) as f64),
        ]
    }
}

const HEADS: [&str; 11] = [
    "condition",
    "policy",
    "thread",
    "n",
    "min",
    "mean",
    "p50",
    "p99 (95 % sure)",
    "p99.9 (95 % sure)",
    "max",
    "device writes (CPU)",
];

/// What every medium says of the intervals.
const INTERVALS: &str = "Intervals assume independent samples. They describe the uncertainty of the \
                         simulation's own figures, not how well it models the machine.";

impl SimulatedRow<'_> {
    /// A cell per head.
    fn cells(&self) -> Vec<String> {
        let latencies = self.latencies;
        vec![
            clean_cut(self.condition, 24),
            clean_cut(self.policy, 28),
            clean_cut(self.thread, 16),
            count(latencies.count()),
            duration(latencies.min_ns()),
            duration_mean(latencies.mean_ns()),
            duration(latencies.quantile_ns(0.5)),
            with_interval(latencies.quantile(0.99)),
            with_interval(latencies.quantile(0.999)),
            duration(latencies.max_ns()),
            format!("{} ({})", per_second(self.programmed_per_s), share(self.programming_share)),
        ]
    }
}

fn per_second(times: f64) -> String {
    format!("{}/s", count(times.round() as u64))
}

/// `4.21 %`; two digits after the point, as a device may take a thousandth of the time.
fn share(of_one: f64) -> String {
    format!("{:.2} %", of_one * 100.0)
}

impl SimulatedData<'_> {
    /// Columns that are left out at the left: the condition's, where there is one alone.
    fn first_column(&self) -> usize {
        let mut conditions = self.rows.iter().map(|row| row.condition);
        let mut moved = self.moves.iter().map(|moves| moves.condition);
        let mut locked = self.locks.iter().map(|locks| locks.condition);
        let has_several = conditions.any(|name| !name.is_empty())
            || moved.any(|name| !name.is_empty())
            || locked.any(|name| !name.is_empty());
        usize::from(!has_several)
    }
}

fn with_interval(quantile: Quantile) -> String {
    let Quantile { ns, low_ns, high_ns } = quantile;
    match (low_ns, high_ns) {
        (Some(low_ns), Some(high_ns)) => format!("{} ({})", duration(ns), range(low_ns, high_ns)),
        (Some(low_ns), None) => format!("{} ({}–…)", duration(ns), duration(low_ns)),
        _ => format!("{} (…)", duration(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two policies did to a thread.
    pub(super) fn latencies() -> (Latencies, Truth) {
        let mut latencies = Latencies::default();
        (0..10_000).for_each(|at| latencies.record(5_000 + at));
        (latencies, Truth::default())
    }

    /// The same figures under two policies, with a name that no terminal and no page should take as it is.
    pub(super) fn data<'a>(latencies: &'a Latencies, truth: &'a Truth) -> SimulatedData<'a> {
        let row = |policy| SimulatedRow {
            condition: "",
            policy,
            thread: "\u{1b}[2J<script>alert(1)</script>",
            latencies,
            programmed_per_s: 42_123.4,
            programming_share: 0.0421,
        };
        let moved = SimulatedMoves {
            condition: "",
            policy: "hardirq",
            moves: 1234,
            programmed: (0.93, 0.92),
            programmed_per_s: 42_123.4,
            programming_share: 0.0421,
        };
        let locked = SimulatedLocks {
            condition: "",
            policy: "hardirq",
            calls: 5_000,
            boosts: 5_100,
            double_boosts: 25,
        };
        SimulatedData {
            title: "",
            span_ns: 10_000_000_000,
            runs: 2,
            seed: 7,
            rows: vec![row("hardirq"), row("deferred")],
            moves: vec![moved],
            locks: vec![locked],
            truth,
        }
    }
}
