//! tokio's own timers: a pinned `Sleep` each, polled once so that it is armed, and then woken as the
//! task would be that awaits it.

use super::slots::{Id, Slots};
use super::tokio_clock::TokioClock;
use crate::queue::TimerQueue;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use tokio::time::{Sleep, sleep_until};

pub(crate) struct Sleeps {
    timers: Slots<(Pin<Box<Sleep>>, u32)>,
    woken: Arc<Mutex<VecDeque<u32>>>,
    clock: TokioClock,
}

/// Who awaits the sleep of a slot.
struct Sleeper {
    slot: u32,
    woken: Arc<Mutex<VecDeque<u32>>>,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.slot);
    }
}

impl Sleeps {
    pub(crate) fn with_capacity(timers: usize) -> Self {
        let clock = TokioClock::start();
        Self { timers: Slots::with_capacity(timers), woken: Arc::default(), clock }
    }
}

impl TimerQueue for Sleeps {
    type Id = Id;

    fn insert(&mut self, expiry: u64, payload: u32) -> Id {
        let sleeper = Sleeper { slot: self.timers.next(), woken: Arc::clone(&self.woken) };
        let mut sleep = Box::pin(sleep_until(self.clock.at(expiry)));
        let waker = Waker::from(Arc::new(sleeper));
        // It is not due yet, so there is nothing to be ready.
        let _ = sleep.as_mut().poll(&mut Context::from_waker(&waker));
        self.timers.insert((sleep, payload))
    }

    fn cancel(&mut self, id: Id) -> bool {
        self.timers.remove(id).is_some()
    }

    fn rearm(&mut self, id: &mut Id, expiry: u64) -> bool {
        let Some((sleep, _)) = self.timers.get(*id) else { return false };
        sleep.as_mut().reset(self.clock.at(expiry));
        true
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        self.clock.reach(now);
        loop {
            let slot = self.woken.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
            // It may have been woken and then moved.
            if self.timers.at(slot).is_some_and(|(sleep, _)| sleep.is_elapsed()) {
                return self.timers.remove_at(slot).map(|(_, payload)| payload);
            }
        }
    }
}
