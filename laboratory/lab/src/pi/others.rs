//! The threads beside High: Low, which has the lock when High wants it, and Busy, which takes High's
//! CPU whenever High lets go of it.

use super::Shared;
use super::busy_wait::busy_wait;
use super::high::Calibration;
use super::plan::{LockProtocol, PiError, Plan};
use crate::Policy;
use crate::clock::{now_ns, sleep_for};
use crate::sched::{self, Budget, tid};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender};

/// Turns between two looks at the clock: some ten µs.
const TURNS_PER_LOOK: u64 = 1 << 14;

/// How long Busy and Low go on by themselves after everything should have ended: nobody but who has
/// broken the watchdog ever sees it.
const LONGER_NS: u64 = 1_000_000_000;

/// What a thread says when it has its place.
pub(super) struct Ready {
    pub(super) tid: u32,
}

/// What a thread is given.
pub(super) struct Other {
    pub(super) plan: Plan,
    pub(super) cpu: u16,
    pub(super) ready: Sender<Result<Ready, PiError>>,
    /// From High; closed without a word, it sends the thread home.
    pub(super) start: Receiver<Calibration>,
}

impl Other {
    fn started(self, place: Result<(), PiError>) -> Option<Calibration> {
        let tid = tid();
        self.ready.send(place.map(|()| Ready { tid })).ok()?;
        drop(self.ready);
        self.start.recv().ok()
    }

    /// Busy's life: nothing, on High's CPU.
    pub(super) fn busy(self, shared: &Shared) {
        let (cpu, prio) = (self.cpu, self.plan.prio - 1);
        let (end_after_ns, needed) = (end_after_ns(&self.plan), self.plan.watchdog_prio());
        let place =
            sched::bind(cpu).map_err(|source| PiError::Cpu { cpu, source }).and_then(|()| {
                sched::set_fifo(prio).map_err(|source| PiError::Priority { prio, needed, source })
            });
        let begun_ns = now_ns();
        if self.started(place).is_none() {
            return;
        }
        let mut turns: u64 = 0;
        while !shared.stop.load(Relaxed) {
            turns += 1;
            if turns.is_multiple_of(TURNS_PER_LOOK) && now_ns() - begun_ns > end_after_ns {
                return;
            }
        }
    }

    /// Low's life: the same rounds as High's. Returns how many.
    pub(super) fn low(self, shared: &Shared) -> Result<u64, PiError> {
        let plan = self.plan.clone();
        let (policy, prio) = low_policy(plan.protocol);
        let needed = plan.watchdog_prio();
        let place = sched::set_current(policy, prio, Budget::default())
            .map_err(|source| PiError::Priority { prio, needed, source });
        let Some(calibration) = self.started(place) else { return Ok(0) };
        let (begun_ns, end_after_ns) = (now_ns(), end_after_ns(&plan));
        let mut rounds = 0;
        while !shared.stop.load(Relaxed) {
            let guard = shared.mutex.lock()?;
            let locked_ns = busy_wait(calibration.locked.wait_ns);
            if plan.low_keeps_the_lock_after.is_some_and(|after| rounds >= after) {
                while !shared.stop.load(Relaxed) {
                    sleep_for(1_000_000);
                }
            }
            drop(guard);
            busy_wait(calibration.free.wait_ns);
            rounds += 1;
            if locked_ns - begun_ns > end_after_ns {
                break;
            }
        }
        Ok(rounds)
    }
}

fn end_after_ns(plan: &Plan) -> u64 {
    let ns = u64::try_from(plan.time_max().as_nanos()).unwrap_or(u64::MAX);
    ns.saturating_add(LONGER_NS)
}

/// Low has no real-time priority, unless the lock has a ceiling: glibc refuses such a lock to a thread
/// without one (`EINVAL`), as it knows no way to raise its priority. It then has the least.
pub(super) fn low_policy(protocol: LockProtocol) -> (Policy, u8) {
    match protocol {
        LockProtocol::Protect => (Policy::Fifo, 1),
        LockProtocol::None | LockProtocol::Inherit => (Policy::Other, 0),
    }
}
