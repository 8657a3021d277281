//! A thread's sleeper: the kernel sleeps most of it, the rest is spun.

use std::time::Duration;

use super::lateness::Recorded;
use super::native::{self, Ended};
use super::plan::Planner;
use super::precision::Precision;
use super::slack::FineSlack;
use crate::clock::{Moment, duration_ns, now_ns};

/// Sleeps of one thread, each of which ends at its time or a little later, never earlier.
///
/// While a sleeper lives, its thread's timer slack is 1 ns; the last sleeper of the thread to be
/// dropped puts back what there was. Two system calls at each end, none per sleep. Meanwhile the
/// slack holds for everything the thread does with a timeout (`poll`, futexes), and a thread started
/// from it inherits it: start threads before, or give them sleepers of their own.
///
/// It learns from every sleep and needs no calibration: the first 32 of a length spin up to 25 µs,
/// then as much as the lateness of the last 512–1,024 asks for, at most 100 µs. Sleeps of up to
/// 200 µs, up to 1 ms and beyond learn apart. Signals do not shorten a sleep. It neither allocates nor
/// blocks otherwise. About 5 KB.
///
/// It belongs to its thread:
///
/// ```compile_fail
/// let sleeper = tardy_timers::sleep::Sleeper::default();
/// std::thread::spawn(move || drop(sleeper));
/// ```
pub struct Sleeper {
    slack: FineSlack,
    planner: Planner,
}

/// How a sleep went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    /// How far the deadline was past when the sleep returned, ns. A deadline already past when it
    /// began counts from the deadline too.
    pub lateness_ns: u64,
    /// How long of it was spun, ns; 0 where the kernel woke the thread past its deadline, and where
    /// there was nothing to sleep.
    pub spun_ns: u64,
    /// How long of it the kernel had, ns: from asking until awake again.
    pub native_ns: u64,
}

impl Default for Sleeper {
    fn default() -> Self {
        Self::new(Precision::default())
    }
}

impl Sleeper {
    /// A sleeper for the calling thread.
    pub fn new(precision: Precision) -> Self {
        Self { slack: FineSlack::hold(), planner: Planner::new(precision) }
    }

    /// Sleeps until `deadline`: nanoseconds of `CLOCK_MONOTONIC`, or an [`Instant`]. Returns at once
    /// from one that is past.
    ///
    /// ```
    /// use tardy_timers::clock::now_ns;
    /// use tardy_timers::sleep::{Precision, Sleeper};
    ///
    /// let mut sleeper = Sleeper::new(Precision::Exact);
    /// let deadline_ns = now_ns() + 50_000;
    /// let slept = sleeper.sleep_until(deadline_ns);
    /// assert!(now_ns() >= deadline_ns + slept.lateness_ns);
    /// ```
    ///
    /// [`Instant`]: std::time::Instant
    pub fn sleep_until(&mut self, deadline: impl Into<Moment>) -> Slept {
        let (slept, recorded) = sleep(&mut self.planner, deadline.into().ns(), native::sleep_until);
        if recorded == Recorded::Turned {
            self.slack.renew();
        }
        slept
    }

    /// Sleeps for `duration` from now.
    pub fn sleep_for(&mut self, duration: Duration) -> Slept {
        self.sleep_until(now_ns().saturating_add(duration_ns(duration)))
    }

    /// How long before its deadline a sleep of this length would be woken by what is learnt so far,
    /// ns: the most that it would spin.
    pub fn tail_ns(&self, sleep: Duration) -> u64 {
        self.planner.tail_ns(duration_ns(sleep))
    }
}

/// The sleep itself; `native` is the kernel's part of it.
pub(super) fn sleep(
    planner: &mut Planner,
    deadline_ns: u64,
    native: impl FnOnce(u64) -> Ended,
) -> (Slept, Recorded) {
    let start_ns = now_ns();
    if start_ns >= deadline_ns {
        let slept = Slept { lateness_ns: start_ns - deadline_ns, ..Slept::default() };
        return (slept, Recorded::Counted);
    }
    let plan = planner.plan(deadline_ns - start_ns);
    let mut recorded = Recorded::Counted;
    let mut awake_ns = start_ns;
    if plan.native_ns > 0 {
        let wake_ns = start_ns + plan.native_ns;
        let ended = native(wake_ns);
        awake_ns = now_ns();
        match ended {
            Ended::Slept => recorded = planner.learn(plan, awake_ns.saturating_sub(wake_ns)),
            Ended::Interrupted => {}
            Ended::Refused => awake_ns = yield_until(deadline_ns),
        }
    }
    let end_ns = spin_until(deadline_ns, awake_ns);
    let slept = Slept {
        lateness_ns: end_ns - deadline_ns,
        spun_ns: end_ns - awake_ns,
        native_ns: awake_ns - start_ns,
    };
    (slept, recorded)
}

fn spin_until(deadline_ns: u64, mut now_ns: u64) -> u64 {
    while now_ns < deadline_ns {
        core::hint::spin_loop();
        now_ns = self::now_ns();
    }
    now_ns
}

/// What is left where the kernel does not let this thread sleep.
fn yield_until(deadline_ns: u64) -> u64 {
    loop {
        let now_ns = now_ns();
        if now_ns >= deadline_ns {
            return now_ns;
        }
        std::thread::yield_now();
    }
}
