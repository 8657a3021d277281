//! A policy's timers: in `N` queues, or expired and pending. One key for all of it.

use super::pending::{Equals, Pending};
use super::slots::{Key, Place, Slots, Timer};
use crate::policy::{Arm, Fire};
use crate::queue::{Full, Queue};
use crate::{Expiry, Stale};

/// Timers in queues and lanes.
#[derive(Debug)]
pub(crate) struct Store<T, Q, const N: usize> {
    slots: Slots<T>,
    pending: Pending,
    queues: [Q; N],
}

/// Where a timer that is armed goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// The queue it waits in.
    pub(crate) queue: u8,
    /// The lane it comes to when it has expired.
    pub(crate) lane: u8,
    /// Its priority, 0–99.
    pub(crate) priority: u8,
}

impl<T, Q: Queue<Key>, const N: usize> Store<T, Q, N> {
    pub(crate) fn new(timers: usize, lanes: usize, equals: Equals, queue: &dyn Fn() -> Q) -> Self {
        Self {
            slots: Slots::with_capacity(timers),
            pending: Pending::new(lanes, equals),
            queues: core::array::from_fn(|_| queue()),
        }
    }

    pub(crate) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, key: Key) -> Result<&Timer<T>, Stale> {
        self.slots.get(key)
    }

    /// When a queue is to be looked at next.
    pub(crate) fn first_ns(&mut self, queue: u8) -> Option<u64> {
        self.queues[usize::from(queue)].next_expiry_ns()
    }

    /// Takes a timer in.
    pub(crate) fn arm(&mut self, course: Course, arm: Arm, payload: T) -> Result<Key, Full<T>> {
        let Course { queue, lane, priority } = course;
        let key =
            self.slots.insert(Timer { arm, payload, lane, priority, place: Place::Nowhere })?;
        if self.enqueue(key, queue, arm.expiry) {
            return Ok(key);
        }
        match self.slots.remove(key) {
            Ok(timer) => Err(Full(timer.payload)),
            Err(Stale) => unreachable!("it was inserted above"),
        }
    }

    /// Lets a timer go that was armed or is pending.
    pub(crate) fn cancel(&mut self, key: Key) -> Result<Timer<T>, Stale> {
        self.withdraw(key)?;
        self.slots.remove(key)
    }

    /// Takes a timer out of wherever it waits, and keeps it.
    pub(crate) fn withdraw(&mut self, key: Key) -> Result<(), Stale> {
        let timer = self.slots.get_mut(key)?;
        match timer.place {
            Place::Queue(queue, handle) => {
                timer.place = Place::Nowhere;
                self.queues[usize::from(queue)].cancel(handle)?;
            }
            Place::Pending => self.pending.remove(&mut self.slots, key),
            Place::Nowhere => {}
        }
        Ok(())
    }

    /// Moves a timer to a time and a queue, from wherever it waits.
    pub(crate) fn rearm(&mut self, key: Key, queue: u8, expiry: Expiry) -> Result<(), Stale> {
        let timer = self.slots.get_mut(key)?;
        if let Place::Queue(at, handle) = timer.place
            && at == queue
        {
            timer.arm.expiry = expiry;
            return self.queues[usize::from(queue)].rearm(handle, expiry);
        }
        self.withdraw(key)?;
        assert!(
            self.enqueue(key, queue, expiry),
            "a queue holds as many timers as there are slots"
        );
        Ok(())
    }

    /// Puts a timer that is nowhere into a queue; `false` where that is full.
    fn enqueue(&mut self, key: Key, queue: u8, expiry: Expiry) -> bool {
        let Ok(handle) = self.queues[usize::from(queue)].insert(expiry, key) else { return false };
        if let Ok(timer) = self.slots.get_mut(key) {
            timer.arm.expiry = expiry;
            timer.place = Place::Queue(queue, handle);
        }
        true
    }

    /// Takes the first timer out of a queue, if it is due; it is nowhere then.
    pub(crate) fn pop(&mut self, queue: u8, now_ns: u64) -> Option<Key> {
        let key = self.queues[usize::from(queue)].pop_expired(now_ns)?.payload;
        if let Ok(timer) = self.slots.get_mut(key) {
            timer.place = Place::Nowhere;
        }
        Some(key)
    }

    /// Lets a timer that is nowhere wait in its lane.
    pub(crate) fn push(&mut self, key: Key) {
        self.pending.push(&mut self.slots, key);
    }

    /// Lets a timer that is nowhere wait in another lane than its own.
    pub(crate) fn push_to(&mut self, key: Key, lane: u8) {
        self.set_lane(key, lane);
        self.push(key);
    }

    /// Gives a timer that is not pending a lane.
    pub(crate) fn set_lane(&mut self, key: Key, lane: u8) {
        if let Ok(timer) = self.slots.get_mut(key)
            && timer.place != Place::Pending
        {
            timer.lane = lane;
        }
    }

    /// Lets all that are due in a queue wait in their lanes, and says how many.
    pub(crate) fn collect(&mut self, queue: u8, now_ns: u64) -> usize {
        let mut timers = 0;
        while let Some(key) = self.pop(queue, now_ns) {
            self.push(key);
            timers += 1;
        }
        timers
    }

    /// The first of the highest lane in `mask`.
    pub(crate) fn first_pending(&self, mask: u128) -> Option<Key> {
        self.pending.first(&self.slots, self.pending.highest_lane(mask)?)
    }

    /// Takes a timer out to be fired, from wherever it is.
    pub(crate) fn fire(&mut self, key: Key) -> Option<Fire<T>> {
        let Timer { arm, payload, .. } = self.cancel(key).ok()?;
        Some(Fire { key, arm, payload })
    }
}
