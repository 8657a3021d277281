//! The plainest driver of a timer queue: a mutex around it, and a thread that sleeps until the queue
//! says to look again.
//!
//! The thread's sleep is to the queue what the clock-event device is to the kernel's: who moves a timer
//! wakes the thread, to sleep anew, where the time to look next has changed, and only there.

use super::futex::Word;
use super::method::Rearm;
use super::timeout::{NONE_NS, Timeout};
use crate::clock::now_ns;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tardy_timers::queue::Queue;
use tardy_timers::{Expiry, Handle};

/// A queue with one timer in it.
pub(super) struct Queued<Q> {
    inner: Mutex<Inner<Q>>,
    word: Word,
}

struct Inner<Q> {
    queue: Q,
    timer: Option<Handle>,
    /// Until when the thread sleeps; [`NONE_NS`] for ever.
    sleeps_until_ns: u64,
}

impl<Q: Queue<()>> Queued<Q> {
    pub(super) fn new(queue: Q) -> Self {
        let inner = Inner { queue, timer: None, sleeps_until_ns: NONE_NS };
        Self { inner: Mutex::new(inner), word: Word::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<Q>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q: Queue<()>> Inner<Q> {
    fn move_to(&mut self, expiry: Expiry) -> io::Result<()> {
        let moved = self.timer.is_some_and(|timer| self.queue.rearm(timer, expiry).is_ok());
        if !moved {
            self.timer = Some(self.queue.insert(expiry, ()).map_err(io::Error::other)?);
        }
        Ok(())
    }

    /// Says whether that is another time than before.
    fn look_next(&mut self) -> bool {
        let next_ns = self.queue.next_expiry_ns().unwrap_or(NONE_NS);
        std::mem::replace(&mut self.sleeps_until_ns, next_ns) != next_ns
    }
}

impl<Q: Queue<()> + Send> Rearm for Queued<Q> {
    fn moved(&self, _: &Timeout, _: u64, new_ns: u64) -> io::Result<()> {
        let mut inner = self.lock();
        inner.move_to(Expiry::at(new_ns))?;
        let wake = inner.look_next();
        drop(inner);
        if wake { self.word.wake() } else { Ok(()) }
    }

    fn wait(&self, timeout: &Timeout) -> io::Result<()> {
        // Before the queue is looked at: who changes it changes the word after.
        let seen = self.word.seen();
        let mut inner = self.lock();
        let fired = inner.queue.pop_expired(now_ns()).is_some();
        inner.look_next();
        let until_ns = inner.sleeps_until_ns;
        drop(inner);
        if fired { Ok(()) } else { self.word.wait_until(timeout, seen, until_ns) }
    }

    fn end(&self, _: &Timeout) {
        let _ = self.word.wake();
    }
}
