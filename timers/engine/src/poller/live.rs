//! A poller on a live thread.

use super::law::{BadBounds, Law, Target};
use super::statistics::Statistics;
use crate::clock::{duration_ns, now_ns, thread_cpu_ns};
use crate::sleep::{Precision, Sleeper};
use std::time::Duration;

/// A thread's loop over a queue, with vacations in it. It contains a [`Sleeper`], and so belongs to
/// its thread and holds its timer slack at 1 ns.
///
/// The wait of an item is kept at the target only where items come independent of the vacations. A
/// peer that sends its next request when it has got an answer does not: there every request waits
/// nearly a whole vacation.
///
/// ```
/// use std::collections::VecDeque;
/// use std::time::Duration;
/// use tardy_timers::poller::{Poller, Target};
/// use tardy_timers::sleep::Precision;
///
/// let mut queue = VecDeque::from([1, 2, 3]);
/// let mut sum = 0;
/// let mut poller = Poller::new(Target::Mean(Duration::from_micros(50)), Precision::Balanced);
/// poller.run(|| match queue.pop_front() {
///     Some(item) => {
///         sum += item;
///         Some(1)
///     }
///     None if sum == 6 => None, // all done: end the loop
///     None => Some(0),          // nothing there: take a vacation
/// });
/// assert_eq!((sum, poller.statistics().polls), (6, 0));
/// ```
pub struct Poller {
    sleeper: Sleeper,
    law: Law,
    statistics: Statistics,
    cpu_before_ns: u64,
    awake_since_ns: u64,
    lateness_ns: u64,
}

/// One vacation, as it turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacation {
    /// How long it was to be, ns.
    pub planned_ns: u64,
    /// How much longer it was, ns.
    pub lateness_ns: u64,
}

impl Poller {
    /// A poller for the calling thread.
    pub fn new(target: Target, precision: Precision) -> Self {
        Self {
            sleeper: Sleeper::new(precision),
            law: Law::new(target),
            statistics: Statistics::default(),
            cpu_before_ns: thread_cpu_ns(),
            awake_since_ns: now_ns(),
            lateness_ns: 0,
        }
    }

    /// The same poller with other bounds for a vacation; they hold against the target.
    ///
    /// # Errors
    /// [`BadBounds`] where `min` is more than `max`.
    pub fn bounded(mut self, min: Duration, max: Duration) -> Result<Self, BadBounds> {
        self.law = self.law.bounded(duration_ns(min), duration_ns(max))?;
        Ok(self)
    }

    /// Calls `drain` until it says `None`. It drains what it likes and says how many items that were;
    /// whenever it finds nothing, a vacation follows. Under a load that never lets the queue become
    /// empty there are no vacations: that is busy polling, as it has to be.
    pub fn run(&mut self, mut drain: impl FnMut() -> Option<usize>) {
        let mut drained = 0_usize;
        while let Some(items) = drain() {
            drained = drained.saturating_add(items);
            if items == 0 {
                self.vacation(drained);
                drained = 0;
            }
        }
    }

    /// Goes on vacation, after `drained` items since the last one. To be called with the queue empty:
    /// the time since the last vacation counts as the time that it took to drain.
    pub fn vacation(&mut self, drained: usize) -> Vacation {
        let begin_ns = now_ns();
        let busy_ns = begin_ns.saturating_sub(self.awake_since_ns);
        self.law.drained(busy_ns, self.lateness_ns);
        let planned_ns = self.law.vacation_ns();
        let end_ns = begin_ns.saturating_add(planned_ns);
        let slept = self.sleeper.sleep_until(end_ns);
        self.lateness_ns = slept.lateness_ns;
        self.awake_since_ns = end_ns.saturating_add(slept.lateness_ns);
        let vacation_ns = self.awake_since_ns - begin_ns;
        self.statistics.count(drained as u64, busy_ns, vacation_ns, slept.spun_ns);
        Vacation { planned_ns, lateness_ns: slept.lateness_ns }
    }

    /// What it has done so far. One system call, for the CPU time.
    pub fn statistics(&self) -> Statistics {
        let cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_before_ns);
        Statistics { cpu_ns, ..self.statistics }
    }
}
