//! How a level's thread sleeps, and how it is woken.

use super::timebase::Clock;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{read, write};
use rustix::thread::futex;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where one thread sleeps.
///
/// A futex with an absolute time is the cheapest that can be woken: one system call to sleep, one to
/// wake, no file descriptors, and none at all where the wakeup comes before the sleep. It is subject
/// to the thread's timer slack, which is therefore set to 1 ns. `park_timeout` of the standard library
/// takes relative times, which go wrong by however long the thread is preempted before the call. But a
/// futex knows no `CLOCK_BOOTTIME`; for that it is a timerfd and an eventfd.
pub(super) struct Park {
    /// Changes with each wakeup.
    wakeups: AtomicU32,
    boottime: Option<Descriptors>,
}

struct Descriptors {
    timer: OwnedFd,
    event: OwnedFd,
}

impl Park {
    /// # Errors
    /// Where there are no more file descriptors, for boot time.
    pub(super) fn new(clock: Clock) -> io::Result<Self> {
        let boottime = match clock {
            Clock::Monotonic => None,
            Clock::Boottime => Some(Descriptors {
                timer: timerfd_create(
                    TimerfdClockId::Boottime,
                    TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
                )?,
                event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            }),
        };
        Ok(Self { wakeups: AtomicU32::new(0), boottime })
    }

    /// How many wakeups there have been; it overflows.
    pub(super) fn wakeups(&self) -> u32 {
        self.wakeups.load(Ordering::SeqCst)
    }

    /// Wakes the thread, or keeps it from falling asleep.
    pub(super) fn wake(&self) {
        self.wakeups.fetch_add(1, Ordering::SeqCst);
        match &self.boottime {
            // It fails only for an address that this is not.
            None => {
                let _ = futex::wake(&self.wakeups, futex::Flags::PRIVATE, 1);
            }
            // A full counter is readable, which is all that is wanted.
            Some(Descriptors { event, .. }) => {
                let _ = write(event, &1_u64.to_ne_bytes());
            }
        }
    }

    /// Sleeps until a time, ns (`u64::MAX`: for ever), or until there is a wakeup that `before` has
    /// not counted. May return earlier, after a signal.
    pub(super) fn sleep(&self, before: u32, until_ns: u64) {
        let until = Timespec {
            tv_sec: (until_ns / 1_000_000_000) as i64,
            tv_nsec: (until_ns % 1_000_000_000) as _,
        };
        let forever = until_ns == u64::MAX;
        // Whatever made it return, the caller looks at the clock and the list again.
        let Some(Descriptors { timer, event }) = &self.boottime else {
            let until = (!forever).then_some(&until);
            let flags = futex::Flags::PRIVATE;
            let _ = futex::wait_bitset(&self.wakeups, flags, before, until, NonZeroU32::MAX);
            return;
        };
        if self.wakeups() != before {
            return;
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A time of zero disarms it.
        let once = Itimerspec { it_interval: zero, it_value: if forever { zero } else { until } };
        let _ = timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once);
        let mut both = [PollFd::new(timer, PollFlags::IN), PollFd::new(event, PollFlags::IN)];
        let _ = poll(&mut both, None);
        let _ = read(event, &mut [0; 8]);
    }
}
