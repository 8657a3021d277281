//! The timer was allowed to fire later.

use super::{PRIORITY, Rule, Weight};
use crate::advice::Remedy;
use crate::piece::{Phase, Piece};
use tardy_model::{Cause, Culprit, Setting};

/// Soft expiry → hard expiry, or the interrupt that came before it. 50 µs by default for threads
/// that are not real-time (`PR_SET_TIMERSLACK`); of select, poll and epoll a share of the timeout, which no
/// setting changes.
pub(super) struct Slack;

impl Rule for Slack {
    fn cause(&self) -> Cause {
        Cause("slack")
    }

    fn meaning(&self) -> &'static str {
        "the timer was allowed to fire that much later than requested"
    }

    fn phases(&self) -> &'static [Phase] {
        &[Phase::Slack]
    }

    fn has_phases(&self) -> bool {
        true
    }

    #[inline]
    fn claim(&self, piece: &Piece<'_>) -> Option<Culprit> {
        Some(Culprit::Setting(if piece.case.is_poll_slack {
            Setting::PollSlack
        } else {
            Setting::TimerSlack(piece.case.slack_ns)
        }))
    }

    fn advice(&self, weight: &Weight<'_>) -> Option<Remedy> {
        let mean_us = weight.mean_ns as f64 / 1e3;
        let first = weight.first()?.group;
        Some(if first.name.starts_with("select/poll") {
            Remedy::text(format!(
                "select, poll and epoll add a slack of 0.1 % of the timeout, here {mean_us:.1} \
                 µs a wakeup, whatever the timer slack is. Wait on a timerfd instead of a timeout, \
                 or use a real-time policy, which has no slack."
            ))
            .with(weight.real_time(PRIORITY))
            .by([format!("prio(victim)=fifo:{PRIORITY}")])
        } else {
            Remedy::text(format!(
                "Timer slack costs {mean_us:.1} µs a wakeup. prctl(PR_SET_TIMERSLACK, 1) in the thread, or a \
                 real-time policy, removes it."
            ))
            .with(weight.without_slack())
            .by(["slack(victim)=1ns".to_owned(), format!("prio(victim)=fifo:{PRIORITY}")])
        })
    }
}
