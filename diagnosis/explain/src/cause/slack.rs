//! The timer was allowed to fire later.

use super::{Rule, Weight};
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, Setting};

/// Soft expiry → hard expiry, or the interrupt that came before it. 50 µs by default for threads
/// that are not real-time (`PR_SET_TIMERSLACK`).
pub(super) struct Slack;

impl Rule for Slack {
    fn cause(&self) -> Cause {
        Cause("slack")
    }

    fn meaning(&self) -> &'static str {
        "the timer was allowed to fire that much later"
    }

    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        let setting = Setting::TimerSlack(piece.case.slack_ns);
        (piece.phase == Phase::Slack).then_some(Culprit::Setting(setting))
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<String> {
        Some(format!(
            "timer slack costs {:.1} µs a wakeup: prctl(PR_SET_TIMERSLACK, 1) in the thread, or a \
             real-time policy, which has none",
            weight.mean_ns as f64 / 1e3
        ))
    }
}
