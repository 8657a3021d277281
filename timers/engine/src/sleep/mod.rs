//! Sleeps that keep their word at microseconds, on any thread of a live process.
//!
//! Two things make a sleep late. The first is the **timer slack** of 50 µs that every thread of the
//! normal class has, by which the kernel may fire its timers later to batch them;
//! `prctl(PR_SET_TIMERSLACK, 1)` removes it, and no new system call is needed (Thomas Gleixner, "Re:
//! \[PATCH\] kernel/time: Feedback reply for `hr_sleep` syscall, a fine-grained sleep service",
//! 2021-04-07). The second is the **way back** from the timer to user space: interrupt, idle exit,
//! switch. That is a few microseconds, different on every machine and under every load, so a
//! [`Sleeper`] learns it: it has the kernel wake it earlier by a quantile of the lateness that it has
//! met, and spins the rest. A [`Precision`] says which quantile.
//!
//! - [`Sleeper`]: for a thread that sleeps often. No system call beside the sleep itself.
//! - [`sleep_until`], [`sleep_for`]: for one sleep anywhere. Four more system calls each.
//! - [`Interval`]: a period without drift.
//!
//! A sleep is never early. It is late where the way back took longer than the precision covers, and
//! under a normal policy another thread may take the CPU at any time; that no sleeper can prevent.

mod grid;
mod interval;
mod lateness;
mod native;
mod plan;
mod precision;
mod slack;
mod sleeper;

use std::cell::RefCell;
use std::time::Duration;

pub use grid::{Overrun, ZeroPeriod};
pub use interval::{Interval, Tick, interval};
pub use precision::{BadQuantile, Precision, Quantile};
pub use sleeper::{Sleeper, Slept};

use crate::clock::{Moment, duration_ns, now_ns};
use native::Ended;
use plan::Planner;
use slack::FineSlack;

thread_local! {
    static PLANNER: RefCell<Planner> = RefCell::new(Planner::new(Precision::default()));
}

/// Sleeps until `deadline` with the default [`Precision`]: nanoseconds of `CLOCK_MONOTONIC`, or an
/// [`Instant`](std::time::Instant).
///
/// What is learnt stays with the thread. The timer slack does not: it is 1 ns for the kernel's part of
/// the sleep alone, and put back before the rest is spun. Reading and setting it takes four system
/// calls, about a microsecond in all. None are needed on a thread that has a [`Sleeper`], and one on a
/// real-time thread.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_micros(100);
/// tardy_timers::sleep::sleep_until(deadline);
/// assert!(Instant::now() >= deadline);
/// ```
pub fn sleep_until(deadline: impl Into<Moment>) -> Slept {
    let deadline_ns = deadline.into().ns();
    let asleep = |planner: &mut Planner| sleeper::sleep(planner, deadline_ns, finely).0;
    let learning = PLANNER.try_with(|planner| planner.try_borrow_mut().map(|mut p| asleep(&mut p)));
    match learning {
        Ok(Ok(slept)) => slept,
        // The thread is being torn down, or this is a signal handler inside such a sleep.
        _ => asleep(&mut Planner::new(Precision::default())),
    }
}

fn finely(wake_ns: u64) -> Ended {
    let _fine = FineSlack::hold();
    native::sleep_until(wake_ns)
}

/// Sleeps for `duration` from now, as [`sleep_until`] does.
///
/// ```
/// use std::time::Duration;
///
/// let slept = tardy_timers::sleep::sleep_for(Duration::from_micros(100));
/// println!("late by {} ns", slept.lateness_ns);
/// ```
pub fn sleep_for(duration: Duration) -> Slept {
    sleep_until(now_ns().saturating_add(duration_ns(duration)))
}
