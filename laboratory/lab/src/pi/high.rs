//! The thread High: it calls for the lock, and measures.

use super::busy_wait::{self, LoadCheck, busy_wait, busy_wait_with};
use super::plan::{PiError, Plan};
use super::rounds::{Counted, Round, Rounds};
use super::{Ended, Shared};
use crate::clock::{cost_ns, now_ns};
use crate::sched;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender};

/// A round that takes this long is looked at more closely: far beyond what an interrupt takes, far
/// below what throttling takes by default (50 ms).
pub const LONG_ROUND_NS: u64 = 500_000;

/// What High found out before the start.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    pub(super) clock_ns: u64,
    pub(super) kernel_call_ns: u64,
    pub(super) locked: LoadCheck,
    pub(super) free: LoadCheck,
}

/// A High that waits for the start.
pub(super) struct Ready {
    pub(super) tid: u32,
    pub(super) calibration: Calibration,
}

/// What it brings home.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) counted: Counted,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) sleeps: u64,
    pub(super) long_rounds: u64,
    pub(super) long_rounds_preempted: u64,
    pub(super) owners_died: u64,
}

/// Everything that the thread is given.
pub(super) struct High {
    pub(super) plan: Plan,
    pub(super) cpu: u16,
    pub(super) ready: Sender<Result<Ready, PiError>>,
    /// Closed without a word, it sends the thread home.
    pub(super) start: Receiver<()>,
    /// Busy and Low are let go by High itself: a thread of no priority that did it would have no CPU
    /// any more after the first.
    pub(super) others: Vec<Sender<Calibration>>,
}

impl High {
    /// The thread's life. `None` where it was not started.
    pub(super) fn run(self, shared: &Shared) -> Option<Result<Outcome, PiError>> {
        let Self { plan, cpu, ready, start, others } = self;
        let calibration = match take_place(&plan, cpu) {
            Ok(()) => calibrate(&plan),
            Err(error) => {
                let _ = ready.send(Err(error));
                return None;
            }
        };
        let loads_ns = plan.locked_ns + plan.free_ns;
        let rounds = Rounds::new(loads_ns, calibration.kernel_call_ns, plan.histogram_us);
        let tid = sched::tid();
        ready.send(Ok(Ready { tid, calibration: calibration.clone() })).ok()?;
        drop(ready);
        start.recv().ok()?;
        for other in others {
            // One that is gone shows when it is joined.
            let _ = other.send(calibration.clone());
        }
        let result = measure(&plan, &calibration, rounds, shared);
        shared.end(if result.is_ok() { Ended::Rounds } else { Ended::Failed });
        Some(result)
    }
}

fn take_place(plan: &Plan, cpu: u16) -> Result<(), PiError> {
    sched::bind(cpu).map_err(|source| PiError::Cpu { cpu, source })?;
    let (prio, needed) = (plan.prio, plan.watchdog_prio());
    sched::set_fifo(prio).map_err(|source| PiError::Priority { prio, needed, source })
}

fn calibrate(plan: &Plan) -> Calibration {
    let clock_ns = cost_ns(now_ns);
    let load = |ns| busy_wait::calibrate(ns, clock_ns, plan.calibrated);
    Calibration {
        clock_ns,
        kernel_call_ns: busy_wait::kernel_call_ns(),
        locked: load(plan.locked_ns),
        free: load(plan.free_ns),
    }
}

/// Rounds until one of the ends.
fn measure(
    plan: &Plan,
    calibration: &Calibration,
    rounds: Rounds,
    shared: &Shared,
) -> Result<Outcome, PiError> {
    let began_ns = now_ns();
    let end_ns = plan.duration.map_or(u64::MAX, |duration| {
        began_ns.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    });
    let mut turns = Turns {
        locked_wait_ns: calibration.locked.wait_ns,
        free_wait_ns: calibration.free.wait_ns,
        shared,
        rounds,
        done: 0,
        long: LongRounds::default(),
        owners_died: 0,
    };
    let most = plan.rounds.unwrap_or(u64::MAX);
    let mut sleeps = 0;
    while turns.rounds.count() < most && now_ns() < end_ns && !shared.stop.load(Relaxed) {
        turns.train(plan.training_rounds)?;
        let before = usage()?;
        turns.stretch(most, end_ns)?;
        sleeps += switches(&usage()?).voluntary - switches(&before).voluntary;
        turns.rounds.settle();
    }
    let Turns { rounds, owners_died, long, .. } = turns;
    if rounds.count() < most && now_ns() >= end_ns {
        shared.end(Ended::Duration);
    }
    Ok(Outcome {
        counted: rounds.finish(),
        began_ns,
        ended_ns: now_ns(),
        sleeps,
        long_rounds: long.count,
        long_rounds_preempted: long.preempted,
        owners_died,
    })
}

struct Turns<'a> {
    locked_wait_ns: u64,
    free_wait_ns: u64,
    shared: &'a Shared,
    rounds: Rounds,
    /// Rounds of all kinds, for the watchdog.
    done: u64,
    long: LongRounds,
    owners_died: u64,
}

impl Turns<'_> {
    /// Rounds that do not count.
    fn train(&mut self, rounds: u64) -> Result<(), PiError> {
        let mut start_ns = now_ns();
        for _ in 0..rounds {
            if self.shared.stop.load(Relaxed) {
                break;
            }
            start_ns = self.round(start_ns, Turns::progress)?.end_ns;
        }
        Ok(())
    }

    /// Rounds that count, until one of the ends or there is no more room to keep them.
    ///
    /// All that is to be done for a round is done within the next one's load without the lock, which
    /// waits for the clock and hides it: between a round's end, which is the next one's begin, and that
    /// one's call for the lock lies nothing.
    fn stretch(&mut self, most: u64, end_ns: u64) -> Result<(), PiError> {
        let mut left = self.rounds.room().min(most - self.rounds.count());
        self.long.begin()?;
        let mut last: Option<Round> = None;
        let mut is_over = false;
        let mut start_ns = now_ns();
        while left > 0 && !is_over {
            let round = self.round(start_ns, |turns| {
                turns.progress();
                is_over = turns.shared.stop.load(Relaxed);
                if let Some(last) = last {
                    is_over |= last.end_ns >= end_ns;
                    turns.count(last);
                }
            })?;
            last = Some(round);
            start_ns = round.end_ns;
            left -= 1;
        }
        if let Some(last) = last {
            self.count(last);
        }
        Ok(())
    }

    fn count(&mut self, round: Round) {
        self.rounds.keep(round);
        if round.end_ns - round.start_ns >= LONG_ROUND_NS + self.locked_wait_ns + self.free_wait_ns
        {
            self.long.count();
        }
    }

    fn progress(&mut self) {
        self.done += 1;
        self.shared.rounds.0.store(self.done, Relaxed);
    }

    /// One round of the thread's program. The load's own first reading of the clock tells when the call
    /// has returned, so that the round holds no reading that the program did not have.
    #[inline]
    fn round(
        &mut self,
        start_ns: u64,
        meanwhile: impl FnOnce(&mut Self),
    ) -> Result<Round, PiError> {
        let guard = self.shared.mutex.lock()?;
        let locked_ns = busy_wait(self.locked_wait_ns);
        let owner_died = guard.previous_owner_died();
        drop(guard);
        busy_wait_with(self.free_wait_ns, || {
            self.owners_died += u64::from(owner_died);
            meanwhile(self);
        });
        let end_ns = now_ns();
        Ok(Round { start_ns, locked_ns, end_ns })
    }
}

/// Rounds that took long, and whether High lost its CPU in them.
#[derive(Default)]
struct LongRounds {
    count: u64,
    preempted: u64,
    /// How often it had lost it up to the last look.
    involuntary: u64,
}

impl LongRounds {
    fn begin(&mut self) -> Result<(), PiError> {
        self.involuntary = switches(&usage()?).involuntary;
        Ok(())
    }

    /// A round took long. Out of line: it asks the kernel.
    #[cold]
    fn count(&mut self) {
        self.count += 1;
        // It could be asked when the stretch began.
        let Ok(usage) = usage() else { return };
        let involuntary = switches(&usage).involuntary;
        self.preempted += u64::from(involuntary > self.involuntary);
        self.involuntary = involuntary;
    }
}

fn usage() -> Result<Usage, PiError> {
    getrusage(UsageWho::RUSAGE_THREAD).map_err(|errno| PiError::Usage(errno.into()))
}

/// How often the thread gave its CPU up, and how often it lost it though it could run.
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

fn switches(usage: &Usage) -> Switches {
    let number = |count: std::ffi::c_long| u64::try_from(count).unwrap_or(0);
    Switches {
        voluntary: number(usage.voluntary_context_switches()),
        involuntary: number(usage.involuntary_context_switches()),
    }
}
