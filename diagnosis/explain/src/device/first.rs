//! What one CPU's device is set for, and what it should be set for.

use super::follower::Held;
use std::collections::BTreeSet;
use tardy_model::{TaskId, TimerId};

/// An armed timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// On which CPU.
    pub(super) place: usize,
    pub(super) hard_ns: u64,
    /// It expires in softirq context.
    pub(super) soft: bool,
}

/// Later than all: the device is stopped.
const STOPPED_NS: u64 = u64::MAX;

/// One CPU.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// Armed timers by hard expiry: those that expire in the interrupt, and those of the softirq.
    hard: BTreeSet<(u64, TimerId)>,
    soft: BTreeSet<(u64, TimerId)>,
    /// What the device is set for, and for which timer (`expires_next` and `next_timer` in the kernel);
    /// `None` until it is known.
    set: Option<(u64, TimerId)>,
    expiring: Option<Expiring>,
    /// Timers of the softirq are due: until it has run they are not looked at (`softirq_activated`).
    pub(super) softirq_due: bool,
    pub(super) held: Option<Held>,
}

/// The interrupt of timers that runs.
#[derive(Clone, Copy, Debug)]
struct Expiring {
    entry_ns: u64,
    /// The first timer that expired in it, and whose that was.
    expired: Option<(TimerId, TaskId)>,
}

impl Cpu {
    pub(super) fn is_known(&self) -> bool {
        self.set.is_some()
    }

    pub(super) fn waits_for(&self, timer: TimerId) -> bool {
        self.set.is_some_and(|(_, first)| first == timer)
    }

    pub(super) fn is_set_for_earlier(&self, hard_ns: u64) -> bool {
        self.set.is_some_and(|(set_ns, _)| set_ns <= hard_ns)
    }

    pub(super) fn insert(&mut self, id: TimerId, timer: &Timer) {
        self.queue(timer).insert((timer.hard_ns, id));
    }

    pub(super) fn remove(&mut self, id: TimerId, timer: &Timer) {
        self.queue(timer).remove(&(timer.hard_ns, id));
    }

    fn queue(&mut self, timer: &Timer) -> &mut BTreeSet<(u64, TimerId)> {
        if timer.soft { &mut self.soft } else { &mut self.hard }
    }

    /// What the device should be set for now (`hrtimer_update_next_event`).
    fn first(&self) -> (u64, TimerId) {
        let soft = if self.softirq_due { None } else { self.soft.first() };
        let first = self.hard.first().into_iter().chain(soft).min();
        first.copied().unwrap_or((STOPPED_NS, TimerId::UNKNOWN))
    }

    /// Sets the device for what is first (`hrtimer_force_reprogram`). Says whether that is another
    /// time than before.
    pub(super) fn look_again(&mut self) -> bool {
        let first = self.first();
        let before = self.set.as_mut();
        before.is_some_and(|set| std::mem::replace(set, first).0 != first.0)
    }

    /// A timer was armed (`hrtimer_reprogram`). Says whether the device was set for it.
    pub(super) fn armed(&mut self, id: TimerId, timer: &Timer) -> bool {
        let earlier = self.set.is_some_and(|(set_ns, _)| timer.hard_ns < set_ns);
        let programs = earlier && self.expiring.is_none() && !(timer.soft && self.softirq_due);
        if programs {
            self.set = Some((timer.hard_ns, id));
        }
        programs
    }

    pub(super) fn begin_interrupt(&mut self, entry_ns: u64) {
        self.expiring = Some(Expiring { entry_ns, expired: None });
    }

    /// When the interrupt of timers was entered, while it runs.
    pub(super) fn expiring_since_ns(&self) -> Option<u64> {
        self.expiring.map(|expiring| expiring.entry_ns)
    }

    /// A timer that the interrupt which now ends must have expired, but of which that was not told: it
    /// is not armed any more, and would else stay the first for ever.
    pub(super) fn overdue(&self) -> Option<TimerId> {
        let &(hard_ns, timer) = self.hard.first()?;
        (hard_ns <= self.expiring?.entry_ns).then_some(timer)
    }

    /// A timer expires in the interrupt that was entered at a time: it is that of timers, whatever its name.
    pub(super) fn expired(&mut self, entry_ns: u64, id: TimerId, owner: TaskId) {
        let expiring = self.expiring.get_or_insert(Expiring { entry_ns, expired: None });
        expiring.expired.get_or_insert((id, owner));
    }

    /// The interrupt of timers ends. Yields for whom it had come.
    pub(super) fn end_interrupt(&mut self) -> (TimerId, TaskId) {
        let expired = self.expiring.take().and_then(|expiring| expiring.expired);
        self.set = Some(self.first());
        expired.unwrap_or((TimerId::UNKNOWN, TaskId::IDLE))
    }

    /// Yields the timer that the device was set for at its end.
    pub(super) fn end_softirq(&mut self) -> Option<TimerId> {
        self.softirq_due = false;
        let &(soft_ns, timer) = self.soft.first()?;
        let earlier = self.set.is_some_and(|(set_ns, _)| soft_ns < set_ns);
        if earlier {
            self.set = Some((soft_ns, timer));
        }
        earlier.then_some(timer)
    }
}
