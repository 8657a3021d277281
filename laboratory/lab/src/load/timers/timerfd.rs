//! A `timerfd` per thread, and `read(2)`. The kernel gives it no slack, whatever the thread has.

use super::{Arm, Way};
use crate::clock::timespec;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;

pub(super) const WAY: Way = Way {
    name: "timerfd",
    units: &["expirations"],
    make: |_| Ok(Box::new(Timerfd { timer: timer()? })),
};

struct Timerfd {
    timer: OwnedFd,
}

pub(super) fn timer() -> io::Result<OwnedFd> {
    Ok(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?)
}

pub(super) fn set(timer: &OwnedFd, due_ns: u64) -> io::Result<()> {
    // 0 would disarm it.
    let once = Itimerspec { it_interval: timespec(0), it_value: timespec(due_ns.max(1)) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)?;
    Ok(())
}

impl Arm for Timerfd {
    fn arm(&mut self, due_ns: u64) -> io::Result<()> {
        set(&self.timer, due_ns)?;
        match rustix::io::read(&self.timer, &mut [0; 8]) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
