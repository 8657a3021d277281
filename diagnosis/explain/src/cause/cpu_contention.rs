//! Others ran that are the victim's equals.

use super::{Rule, Weight};
use crate::piece::{Doing, Phase, Piece, Standing};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time of tasks that the victim shares the CPU with: of the fair class both, whose nice
/// values weigh but do not rank, or of the same real-time priority, which run in the order of coming.
pub(super) struct CpuContention;

impl Rule for CpuContention {
    fn cause(&self) -> Cause {
        Cause("cpu_contention")
    }

    fn meaning(&self) -> &'static str {
        "tasks that share the CPU with the thread had their turn"
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
        (standing == Standing::Equal).then(|| piece.activity.culprit())
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        let (first, _) = weight.culprits.first()?;
        Some(format!(
            "the thread shares the CPU with {}: give the thread a real-time priority or a lower nice value, or \
             bind one of them to another CPU",
            first.name
        ))
    }
}
