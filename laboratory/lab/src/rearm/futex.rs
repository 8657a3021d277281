//! A word on which the waiting thread sleeps until its time, or until it is to look again.

use super::timeout::{NONE_NS, Timeout};
use crate::clock::{now_ns, timespec};
use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait, wait_bitset, wake};
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Changed whenever the waiting thread is to look again. Sequentially consistent, like the timeout:
/// who waits reads the word, then the timeout; who moves writes the timeout, then the word. So either
/// the new timeout is seen, or the wait ends at once.
#[derive(Debug, Default)]
pub(super) struct Word(AtomicU32);

impl Word {
    pub(super) fn wake(&self) -> io::Result<()> {
        self.0.fetch_add(1, SeqCst);
        wake(&self.0, Flags::PRIVATE, 1)?;
        Ok(())
    }

    /// To be read before that on which the wait depends.
    pub(super) fn seen(&self) -> u32 {
        self.0.load(SeqCst)
    }

    /// Waits for the timeout as it is.
    pub(super) fn wait(&self, timeout: &Timeout) -> io::Result<()> {
        let seen = self.seen();
        self.wait_until(timeout, seen, timeout.expiry_ns())
    }

    /// Waits until `until_ns`, or until it was woken since `seen`, or until all is over.
    pub(super) fn wait_until(&self, timeout: &Timeout, seen: u32, until_ns: u64) -> io::Result<()> {
        let waited = if timeout.is_over() || until_ns <= now_ns() {
            Ok(())
        } else if until_ns == NONE_NS {
            wait(&self.0, Flags::PRIVATE, seen, None)
        } else {
            timeout.kernel_timer_armed();
            // With a bitset the time is absolute (futex(2)).
            let until = timespec(until_ns);
            wait_bitset(&self.0, Flags::PRIVATE, seen, Some(&until), NonZeroU32::MAX)
        };
        match waited {
            Ok(()) | Err(Errno::TIMEDOUT | Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
