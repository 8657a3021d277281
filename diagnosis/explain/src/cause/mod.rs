//! The causes, a file each, and the order in which they are asked.
//!
//! A lateness is cut at every change of phase and of what the CPU did; each piece is shown to the
//! causes in the registry's order, and the first that claims it has it. So a balance sums by
//! construction, and a cause only says what is its own. What nobody claims is `unexplained`.
//!
//! A new cause is one file here and one line in the registry, which also declares the file.

use crate::findings::Label;
use crate::piece::Piece;
use tardy_model::{Cause, Culprit};

/// One cause of lateness.
pub trait Rule: Sync {
    /// Its name.
    fn cause(&self) -> Cause;

    /// One clause that says what it is.
    fn meaning(&self) -> &'static str;

    /// Who it was, where this piece is this cause's.
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit>;

    /// What an engineer would do about it, in one line, where there is an obvious remedy.
    fn advice(&self, _weight: &Weight<'_>) -> Option<String> {
        None
    }
}

/// How much a cause weighs, for its advice.
#[derive(Debug)]
pub struct Weight<'a> {
    /// Mean nanoseconds in the wakeups where it appears.
    pub mean_ns: u64,
    /// The culprits that took most, at most three.
    pub culprits: &'a [Label],
    /// How many culprits there are.
    pub culprits_count: usize,
}

macro_rules! registry {
    ($($file:ident::$rule:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every cause, in the order in which they are asked.
        pub const REGISTRY: &[&dyn Rule] = &[$(&$file::$rule),*];
    };
}

registry![
    armed_late::ArmedLate,
    slack::Slack,
    coarse_clock::CoarseClock,
    callback::Callback,
    softirq_wait::SoftirqWait,
    softirq_work::SoftirqWork,
    stacked_timers::StackedTimers,
    lock::Lock,
    page_fault::PageFault,
    throttled::Throttled,
    wrong_cpu::WrongCpu,
    idle_exit::IdleExit,
    irq_delay::IrqDelay,
    interrupts::Interrupts,
    own_kernel_work::OwnKernelWork,
    higher_priority::HigherPriority,
    not_preemptible::NotPreemptible,
];

/// The place of [`Cause::UNEXPLAINED`] behind the registry's causes.
pub const UNEXPLAINED_AT: usize = REGISTRY.len();

/// Every cause's name and meaning, `unexplained` last.
pub fn causes() -> impl Iterator<Item = (Cause, &'static str)> {
    (0..=UNEXPLAINED_AT).map(|at| (cause_at(at), meaning_at(at)))
}

pub(crate) fn cause_at(at: usize) -> Cause {
    REGISTRY.get(at).map_or(Cause::UNEXPLAINED, |rule| rule.cause())
}

pub(crate) fn meaning_at(at: usize) -> &'static str {
    REGISTRY.get(at).map_or("no recorded event tells", |rule| rule.meaning())
}

/// Which cause has a piece, by its place in the registry, and who it was.
pub(crate) fn judge(piece: &Piece<'_>) -> (usize, Culprit) {
    for (at, rule) in REGISTRY.iter().enumerate() {
        if let Some(culprit) = rule.claim(piece) {
            return (at, culprit);
        }
    }
    (UNEXPLAINED_AT, Culprit::Nobody)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = causes().map(|(cause, _)| cause.0).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
