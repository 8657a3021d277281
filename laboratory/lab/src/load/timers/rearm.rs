//! A timer that is moved again and again before it expires, as of a network driver that acts when no
//! packet has come for a while: a `timerfd` that nobody reads.
//!
//! Where the thread sleeps between moves, that sleep is a timer too, and it does expire.

use super::{Arm, Timers, Way, timerfd};
use crate::clock::now_ns;
use crate::rearm::Pace;
use rustix::fd::OwnedFd;
use std::io;

pub(super) const WAY: Way = Way {
    name: "rearm",
    units: &["moves"],
    make: |&Timers { every_ns, pace, .. }| {
        Ok(Box::new(Moved { timer: timerfd::timer()?, every_ns, pace, next_ns: now_ns() }))
    },
};

struct Moved {
    timer: OwnedFd,
    every_ns: u64,
    pace: Pace,
    next_ns: u64,
}

impl Arm for Moved {
    fn arm(&mut self, due_ns: u64) -> io::Result<()> {
        timerfd::set(&self.timer, due_ns)?;
        // A move that is missed is left out: to catch up would be another load.
        self.next_ns = (self.next_ns + self.every_ns).max(now_ns());
        self.pace.wait_until(self.next_ns);
        Ok(())
    }
}
