//! A wait for a futex with a timeout, as `pthread_cond_timedwait(3)` makes it: `FUTEX_WAIT_BITSET`,
//! private, absolute. Of `CLOCK_MONOTONIC`, as of a condition variable whose attributes say so.

use super::{Arm, Way};
use crate::clock::timespec;
use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait_bitset};
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

pub(super) const WAY: Way =
    Way { name: "futex", units: &["timeouts"], make: |_| Ok(Box::new(Futex(AtomicU32::new(0)))) };

/// A word that nobody changes, and for which nobody is woken.
struct Futex(AtomicU32);

impl Arm for Futex {
    fn arm(&mut self, due_ns: u64) -> io::Result<()> {
        let until = timespec(due_ns);
        match wait_bitset(&self.0, Flags::PRIVATE, 0, Some(&until), NonZeroU32::MAX) {
            Ok(()) | Err(Errno::TIMEDOUT | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
