//! Others ran that have a higher priority.

use super::{Rule, Weight};
use crate::piece::{Doing, Phase, Piece, Standing};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time of tasks of a higher priority, which real-time and deadline tasks have; with the
/// softirqs that they run in their own context. Equals are [`CpuContention`](super::cpu_contention::CpuContention).
pub(super) struct HigherPriority;

impl Rule for HigherPriority {
    fn cause(&self) -> Cause {
        Cause("higher_priority")
    }

    fn meaning(&self) -> &'static str {
        "tasks of higher priority ran"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Runnable]
    }

    fn doing(&self) -> &'static [Doing] {
        &[Doing::Task]
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let (_, standing) = piece.other()?;
        (standing == Standing::Above).then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        let (first, _) = weight.culprits.first()?;
        Some(format!(
            "{} runs first: raise the thread's priority above it, or bind one of them to another CPU",
            first.name
        ))
    }
}
