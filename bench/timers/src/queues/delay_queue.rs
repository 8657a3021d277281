//! tokio-util's `DelayQueue`. Its keys are used again, so that generations are kept beside it.

use super::slots::{Id, Slots};
use super::tokio_clock::TokioClock;
use crate::queue::TimerQueue;
use std::task::{Context, Poll, Waker};
use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

pub(crate) struct Delays {
    /// Of slots.
    queue: DelayQueue<u32>,
    timers: Slots<(Key, u32)>,
    clock: TokioClock,
}

impl Delays {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        let clock = TokioClock::start();
        Self {
            queue: DelayQueue::with_capacity(timers),
            timers: Slots::with_capacity(timers),
            clock,
        }
    }
}

impl TimerQueue for Delays {
    type Id = Id;

    fn insert(&mut self, expiry: u64, payload: u32) -> Id {
        let key = self.queue.insert_at(self.timers.next(), self.clock.at(expiry));
        self.timers.insert((key, payload))
    }

    fn cancel(&mut self, id: Id) -> bool {
        let Some((key, _)) = self.timers.remove(id) else { return false };
        self.queue.try_remove(&key).is_some()
    }

    fn rearm(&mut self, id: &mut Id, expiry: u64) -> bool {
        let Some((key, _)) = self.timers.get(*id) else { return false };
        self.queue.reset_at(key, self.clock.at(expiry));
        true
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.clock.reach(now);
        match self.queue.poll_expired(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(expired)) => {
                self.timers.remove_at(expired.into_inner()).map(|(_, payload)| payload)
            }
            Poll::Ready(None) | Poll::Pending => None,
        }
    }
}
