//! The scheduler did not let the victim run although it was first in line.

use super::{Rule, Weight};
use crate::piece::{Activity, Phase, Piece};
use tardy_model::{Cause, Culprit};

/// Runnable → runs, time in which the CPU had switched to a task that may not run first, or to nothing:
/// real-time throttling, the fair server, or a control group's bandwidth. The culprit is what ran
/// instead.
pub(super) struct Throttled;

impl Rule for Throttled {
    fn cause(&self) -> Cause {
        Cause("throttled")
    }

    fn meaning(&self) -> &'static str {
        "the scheduler chose others although the thread was first in line: a bandwidth was used up"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let runs = matches!(piece.activity, Activity::Task(..)) || piece.activity.is_idle();
        let here = piece.phase == Phase::Runnable && piece.passed_over && runs;
        here.then(|| piece.activity.culprit())
    }

    fn advice(&self, _: &Weight<'_>) -> Option<String> {
        Some(
            "a bandwidth is used up: of real-time tasks (kernel.sched_rt_runtime_us, or the fair server's \
             since Linux 6.12), or of the thread's control group (cpu.max, cpu.rt_runtime_us)"
                .to_owned(),
        )
    }
}
