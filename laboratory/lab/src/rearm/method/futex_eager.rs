//! A thread waits with a timeout and is woken at each move, to wait anew.

use super::{Kind, Make, Rearm};
use crate::rearm::futex::Word;
use crate::rearm::timeout::Timeout;
use std::io;

pub(super) const KIND: Kind = Kind {
    name: "futex, eager",
    summary: "a thread waits in futex(2) with a timeout; each move wakes it, and it waits again",
    make: Make::Waits(|| Ok(Box::new(Eager(Word::default())))),
};

struct Eager(Word);

impl Rearm for Eager {
    fn moved(&self, _: &Timeout, _: u64, _: u64) -> io::Result<()> {
        self.0.wake()
    }

    fn wait(&self, timeout: &Timeout) -> io::Result<()> {
        self.0.wait(timeout)
    }

    fn end(&self, _: &Timeout) {
        let _ = self.0.wake();
    }
}
