//! One timer from event to event: what became of its armings.

use super::context::Place;
use super::kind::Purpose;
use tardy_model::TaskId;

/// A timer that is cancelled and armed again within this time, by the next event of its CPU, was moved.
/// The kernel does both with interrupts disabled, so that only a hypervisor can come between.
pub const MOVE_NS_MAX: u64 = 10_000;

/// What is known of a timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Life {
    /// Its last arming's row; of one that was not seen to be armed, the row of the rest of its life.
    pub(super) row: Option<u32>,
    pub(super) purpose: Purpose,
    pub(super) function: u32,
    state: State,
    /// The loss of events since which this holds.
    losses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Neither armed nor known not to be.
    #[default]
    Unseen,
    Armed,
    Cancelled {
        time_ns: u64,
        place: Place,
        by: TaskId,
    },
    Expired,
}

/// What an event says of the arming before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Nothing, or what was known already.
    Nothing,
    /// It was moved.
    Moved,
    /// It was moved, and what looked like a cancel was the first half of that.
    MovedNotCancelled,
    /// It expired.
    Expired,
    /// It expired, and what looked like a cancel belongs to that.
    ExpiredNotCancelled,
}

impl Life {
    /// After a loss of events nothing is known of what was armed.
    fn forget_before(&mut self, losses: u64) {
        if self.losses != losses {
            self.losses = losses;
            self.state = State::Unseen;
        }
    }

    /// It is armed. A sleep is never moved: what is armed there now is another.
    pub(super) fn arm(&mut self, time_ns: u64, place: Place, by: TaskId, losses: u64) -> Ended {
        self.forget_before(losses);
        match std::mem::replace(&mut self.state, State::Armed) {
            _ if self.purpose.is_sleep() => Ended::Nothing,
            State::Armed => Ended::Moved,
            State::Cancelled { time_ns: then_ns, place: there, by: canceller }
                if place.is_next_after(there)
                    && by == canceller
                    && time_ns.saturating_sub(then_ns) <= MOVE_NS_MAX =>
            {
                Ended::MovedNotCancelled
            }
            _ => Ended::Nothing,
        }
    }

    /// The kernel says "cancel", which counts until the next event of this timer says otherwise.
    pub(super) fn cancel(&mut self, time_ns: u64, place: Place, by: TaskId, losses: u64) {
        self.forget_before(losses);
        self.state = State::Cancelled { time_ns, place, by };
    }

    /// It expires. That can only be what was armed last, so that a cancel before belongs to it.
    pub(super) fn expire(&mut self, losses: u64) -> Ended {
        self.forget_before(losses);
        match std::mem::replace(&mut self.state, State::Expired) {
            State::Cancelled { .. } => Ended::ExpiredNotCancelled,
            _ => Ended::Expired,
        }
    }
}
