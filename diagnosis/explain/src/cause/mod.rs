//! The causes, a file each, and the order in which they are asked.
//!
//! A lateness is cut at every change of phase and of what the CPU did; each piece is shown to the
//! causes in the registry's order, and the first that claims it has it. So a balance sums by
//! construction, and a cause only says what is its own. What nobody claims is `unexplained`.
//!
//! A new cause is one file here and one line in the registry, which also declares the file.

use crate::advice::Remedy;
pub use crate::advice::Weight;
use crate::piece::{Phase, Piece};
use std::sync::LazyLock;
use tardy_model::{Cause, Culprit, Prio};

/// One cause of lateness.
pub trait Rule: Sync {
    /// Its name.
    fn cause(&self) -> Cause;

    /// One clause that says what it is.
    fn meaning(&self) -> &'static str;

    /// The phases of which it can be: it is shown no others.
    fn phases(&self) -> &'static [Phase];

    /// Who it was, where this piece is this cause's.
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit>;

    /// What an engineer would do about it, where there is an obvious remedy.
    fn advice(&self, _weight: &Weight<'_>) -> Option<Remedy> {
        None
    }
}

/// The real-time priority, 1–99, that is advised where any does: that of interrupt threads.
const PRIORITY: u8 = 50;

/// The priority, 1–99, that is one above another; `None` where a thread cannot be given it, or should not: 99
/// is the kernel's own.
fn above(prio: Prio) -> Option<u8> {
    let highest = 98;
    let user = (0..100).contains(&prio.0).then(|| 99 - prio.0)?;
    u8::try_from(user + 1).ok().filter(|above| *above <= highest)
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
    throttled::Throttled,
    forced_idle::ForcedIdle,
    hypervisor::Hypervisor,
    callback::Callback,
    softirq_wait::SoftirqWait,
    softirq_work::SoftirqWork,
    stacked_timers::StackedTimers,
    lock::Lock,
    page_fault::PageFault,
    wrong_cpu::WrongCpu,
    idle_exit::IdleExit,
    irqs_off::IrqsOff,
    irq_delay::IrqDelay,
    interrupts::Interrupts,
    own_kernel_work::OwnKernelWork,
    higher_priority::HigherPriority,
    cpu_contention::CpuContention,
    not_preemptible::NotPreemptible,
    switch_delay::SwitchDelay,
    unseen_migration::UnseenMigration,
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
    REGISTRY.get(at).map_or("no recorded event explains it", |rule| rule.meaning())
}

/// Which cause has a piece, by its place in the registry, and who it was.
pub(crate) fn judge(piece: &Piece<'_>) -> (usize, Culprit) {
    for &at in &BY_PHASE[piece.phase as usize] {
        if let Some(culprit) = REGISTRY[usize::from(at)].claim(piece) {
            return (at.into(), culprit);
        }
    }
    (UNEXPLAINED_AT, Culprit::Nobody)
}

/// The causes that are asked in each phase, in the registry's order.
static BY_PHASE: LazyLock<[Vec<u8>; Phase::COUNT]> = LazyLock::new(|| {
    std::array::from_fn(|phase| {
        let asked = |(_, rule): &(usize, &&dyn Rule)| {
            rule.phases().iter().any(|known| *known as usize == phase)
        };
        REGISTRY.iter().enumerate().filter(asked).map(|(at, _)| at as u8).collect()
    })
});

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
