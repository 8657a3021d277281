//! The timeout of a lock or a condition that nobody signals: where `pthread_cond_timedwait` and
//! `std::thread::park_timeout` end up.

use super::{Kind, Slack, Sleep};
use crate::clock::timespec;
use rustix::io::Errno;
use rustix::thread::futex::{Flags, wait};
use std::sync::atomic::AtomicU32;

pub(super) const KIND: Kind = Kind {
    name: "futex timeout",
    summary: "futex(2) FUTEX_WAIT with a relative timeout, on a word that is never woken",
    slacks: &[Slack::Thread],
    make: || Ok(Box::new(Futex { word: AtomicU32::new(0) })),
};

struct Futex {
    word: AtomicU32,
}

impl Sleep for Futex {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        match wait(&self.word, Flags::PRIVATE, 0, Some(&timespec(request_ns))) {
            Err(Errno::TIMEDOUT) => Ok(()),
            // Nobody wakes this word: a wakeup without a cause, which futex(2) allows.
            Ok(()) => Err(Errno::INTR),
            Err(error) => Err(error),
        }
    }
}
