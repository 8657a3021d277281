//! A thread waits with a timeout and finds out at its end that it was moved.

use super::{Kind, Make, Rearm};
use crate::rearm::futex::Word;
use crate::rearm::timeout::Timeout;
use std::io;

pub(super) const KIND: Kind = Kind {
    name: "futex, lazy",
    summary: "a thread waits in futex(2) with a timeout; a move to later is a store, which it sees \
              when the old time comes",
    make: Make::Waits(|| Ok(Box::new(Lazy(Word::default())))),
};

struct Lazy(Word);

impl Rearm for Lazy {
    fn moved(&self, _: &Timeout, old_ns: u64, new_ns: u64) -> io::Result<()> {
        // Also where nothing was armed: that is later than all.
        if new_ns < old_ns { self.0.wake() } else { Ok(()) }
    }

    fn wait(&self, timeout: &Timeout) -> io::Result<()> {
        self.0.wait(timeout)
    }

    fn end(&self, _: &Timeout) {
        let _ = self.0.wake();
    }
}
