//! The kernel's timer is moved each time.

use super::{Kind, Make, Rearm};
use crate::clock::timespec;
use crate::rearm::timeout::Timeout;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;

pub(super) const KIND: Kind = Kind {
    name: "timerfd",
    summary: "timerfd_settime(2) at each move; a thread waits in read(2)",
    make: Make::Waits(|| {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(Box::new(Timerfd { timer }))
    }),
};

struct Timerfd {
    timer: OwnedFd,
}

impl Timerfd {
    fn set(&self, expiry_ns: u64) -> Result<(), Errno> {
        let once = Itimerspec { it_interval: timespec(0), it_value: timespec(expiry_ns) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).map(drop)
    }
}

impl Rearm for Timerfd {
    fn moved(&self, timeout: &Timeout, _: u64, new_ns: u64) -> io::Result<()> {
        timeout.kernel_timer_armed();
        Ok(self.set(new_ns)?)
    }

    fn wait(&self, _: &Timeout) -> io::Result<()> {
        let mut expirations = [0; 8];
        match rustix::io::read(&self.timer, &mut expirations) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn end(&self, _: &Timeout) {
        // A time long past: read returns at once. It failed for no move, so it does not here.
        let _ = self.set(1);
    }
}
