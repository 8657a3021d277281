//! A timer that is a file: set, then read until it has expired. The kernel gives it no slack.

use super::{Kind, Slack, Sleep};
use crate::clock::timespec;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

pub(super) const KIND: Kind = Kind {
    name: "timerfd+read",
    summary: "timerfd_settime(2), relative on CLOCK_MONOTONIC, then read(2)",
    slacks: &[Slack::Thread],
    make: || {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Box::new(Timerfd { timer }))
    },
};

struct Timerfd {
    timer: OwnedFd,
}

impl Sleep for Timerfd {
    #[inline]
    fn sleep(&mut self, _: u64, request_ns: u64) -> Result<(), Errno> {
        let once = Itimerspec { it_interval: timespec(0), it_value: timespec(request_ns) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        let mut expirations = [0; 8];
        rustix::io::read(&self.timer, &mut expirations)?;
        Ok(())
    }
}
