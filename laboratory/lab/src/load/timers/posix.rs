//! A POSIX timer per thread whose expiry is a signal to that thread, which blocks it and takes it by
//! `sigwait(3)`: no handler runs, and no other thread ever meets the signal.

use super::{Arm, Way};
use nix::sys::signal::{SigEvent, SigSet, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use rustix::thread::gettid;
use std::io;
use std::time::Duration;

pub(super) const WAY: Way = Way {
    name: "posix",
    units: &["signals"],
    make: |_| {
        // First: a signal that is not blocked would end the process.
        SigSet::from(SIGNAL).thread_block()?;
        let notify = SigevNotify::SigevThreadId {
            signal: SIGNAL,
            thread_id: gettid().as_raw_nonzero().get(),
            si_value: 0,
        };
        let timer = Timer::new(ClockId::CLOCK_MONOTONIC, SigEvent::new(notify))?;
        Ok(Box::new(Posix { timer }))
    },
};

const SIGNAL: Signal = Signal::SIGALRM;

struct Posix {
    timer: Timer,
}

impl Arm for Posix {
    fn arm(&mut self, due_ns: u64) -> io::Result<()> {
        // 0 would disarm it.
        let due = TimeSpec::from_duration(Duration::from_nanos(due_ns.max(1)));
        self.timer.set(Expiration::OneShot(due), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        SigSet::from(SIGNAL).wait()?;
        Ok(())
    }
}
