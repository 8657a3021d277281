//! The thread that ends a measurement whose High does not come to run.

use super::plan::PiError;
use super::{Ended, Shared};
use crate::clock::now_ns;
use crate::sched;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often it looks: some µs of a CPU each time, of High's own where there is no other.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When to end a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// After this long, ns.
    pub(super) time_max_ns: u64,
    /// After no round has ended for this long, ns.
    pub(super) stall_max_ns: u64,
}

/// What it has seen of High.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    begun_ns: u64,
    rounds: u64,
    /// When they were first seen to be so many.
    rounds_since_ns: u64,
}

impl Seen {
    fn begin(now_ns: u64) -> Self {
        Self { begun_ns: now_ns, rounds: 0, rounds_since_ns: now_ns }
    }

    /// Takes how many rounds there are. Says whether to end, and why.
    fn look(&mut self, now_ns: u64, rounds: u64, asked: bool, limits: Limits) -> Option<Ended> {
        if rounds != self.rounds {
            (self.rounds, self.rounds_since_ns) = (rounds, now_ns);
        }
        if asked {
            Some(Ended::Stopped)
        } else if now_ns.saturating_sub(self.rounds_since_ns) >= limits.stall_max_ns {
            Some(Ended::Stalled)
        } else if now_ns.saturating_sub(self.begun_ns) >= limits.time_max_ns {
            Some(Ended::TimeMax)
        } else {
            None
        }
    }
}

/// Everything that the thread is given.
pub(super) struct Watchdog<A> {
    pub(super) prio: u8,
    /// CPUs that are not High's; empty where there is no other.
    pub(super) other_cpus: Vec<u16>,
    pub(super) limits: Limits,
    /// Whether the user wants an end. Asked here because this thread comes to run whatever else does.
    pub(super) asked: A,
    /// Says that it is ready, or why not.
    pub(super) ready: Sender<Result<(), PiError>>,
    /// The start; closed when all is over.
    pub(super) started: Receiver<()>,
}

impl<A: Fn() -> bool> Watchdog<A> {
    /// The thread's life.
    pub(super) fn run(self, shared: &Shared) {
        let prio = self.prio;
        let taken = sched::set_fifo(prio).map_err(|source| PiError::Priority {
            prio,
            needed: prio,
            source,
        });
        let mut others = CpuSet::new();
        self.other_cpus.iter().for_each(|&cpu| others.set(usize::from(cpu)));
        if !self.other_cpus.is_empty() {
            // Where it is refused, High is disturbed by some µs every 50 ms, and nothing else.
            let _ = sched_setaffinity(None, &others);
        }
        if self.ready.send(taken).is_err() || self.started.recv().is_err() {
            return;
        }
        let mut seen = Seen::begin(now_ns());
        while self.started.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let rounds = shared.rounds.0.load(Relaxed);
            if let Some(why) = seen.look(now_ns(), rounds, (self.asked)(), self.limits) {
                shared.end(why);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { time_max_ns: 1_000, stall_max_ns: 100 };

    #[test]
    fn a_high_that_goes_on_may_until_the_time_is_over() {
        let mut seen = Seen::begin(0);
        for now_ns in (10..1_000).step_by(10) {
            assert_eq!(seen.look(now_ns, now_ns, false, LIMITS), None, "{now_ns}");
        }
        assert_eq!(seen.look(1_000, 1_000, false, LIMITS), Some(Ended::TimeMax));
    }

    #[test]
    fn a_high_that_never_begins_or_stops_is_ended() {
        let mut seen = Seen::begin(500);
        assert_eq!(seen.look(599, 0, false, LIMITS), None);
        assert_eq!(seen.look(600, 0, false, LIMITS), Some(Ended::Stalled));
        let mut seen = Seen::begin(500);
        assert_eq!(seen.look(590, 1, false, LIMITS), None);
        assert_eq!(seen.look(689, 1, false, LIMITS), None);
        assert_eq!(seen.look(690, 1, false, LIMITS), Some(Ended::Stalled));
    }

    #[test]
    fn a_user_who_asks_comes_first() {
        let mut seen = Seen::begin(0);
        assert_eq!(seen.look(10_000, 0, true, LIMITS), Some(Ended::Stopped));
    }
}
