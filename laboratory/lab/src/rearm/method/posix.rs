//! The kernel's timer is moved each time, and its expiry is a signal.

use super::{Kind, Make, Rearm};
use crate::rearm::timeout::Timeout;
use nix::sys::signal::{SigEvent, SigSet, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use rustix::thread::gettid;
use std::cell::RefCell;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    name: "POSIX timer",
    summary: "timer_settime(2) at each move; a thread waits for the signal in sigwait(3)",
    make: Make::Waits(|| Ok(Box::new(Posix { waiter: OnceLock::new() }))),
};

/// Blocked in the waiting thread before there is a timer, and sent to that thread alone: nobody else
/// in the process ever meets it.
const SIGNAL: Signal = Signal::SIGALRM;

thread_local! {
    /// The moving thread's timer: it may not leave the thread that made it. It is deleted when that
    /// thread ends.
    static TIMER: RefCell<Option<Timer>> = const { RefCell::new(None) };
}

struct Posix {
    /// The waiting thread, once it blocks the signal.
    waiter: OnceLock<i32>,
}

impl Posix {
    fn set(&self, expiry_ns: u64) -> io::Result<()> {
        TIMER.with_borrow_mut(|timer| {
            let timer = match timer {
                Some(timer) => timer,
                None => timer.insert(self.make()?),
            };
            let expiry = TimeSpec::from_duration(Duration::from_nanos(expiry_ns));
            timer.set(Expiration::OneShot(expiry), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            Ok(())
        })
    }

    fn make(&self) -> io::Result<Timer> {
        let notify = SigevNotify::SigevThreadId {
            signal: SIGNAL,
            thread_id: *self.waiter.wait(),
            si_value: 0,
        };
        Ok(Timer::new(ClockId::CLOCK_MONOTONIC, SigEvent::new(notify))?)
    }
}

impl Rearm for Posix {
    fn begin(&self) -> io::Result<()> {
        let blocked = SigSet::from(SIGNAL).thread_block();
        // Also where that failed, for who moves waits for it; the error ends the measurement.
        let _ = self.waiter.set(gettid().as_raw_nonzero().get());
        Ok(blocked?)
    }

    fn moved(&self, timeout: &Timeout, _: u64, new_ns: u64) -> io::Result<()> {
        timeout.kernel_timer_armed();
        self.set(new_ns)
    }

    fn wait(&self, _: &Timeout) -> io::Result<()> {
        SigSet::from(SIGNAL).wait()?;
        Ok(())
    }

    fn end(&self, _: &Timeout) {
        // A time long past: the signal comes at once. It failed for no move, so it does not here.
        let _ = self.set(1);
    }
}
