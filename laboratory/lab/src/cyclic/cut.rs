//! How a thread's samples are taken away while it goes on measuring.
//!
//! Each thread fills a [`Part`] of its own. Who wants it lays an empty one beside and asks; the thread
//! looks once per return, after its sample is stored, and changes the two over: no waiting, no
//! allocation, one load where nothing is asked. So every sample is in exactly one part, and parts hold
//! neighbours in time.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use tardy_stats::{Blocking, Latencies};

/// What one thread has measured from one cut to the next.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// How late it was, once an interval.
    pub latencies: Latencies,
    /// Expiries that it could not wait for, because it was still late from one before.
    pub overruns: u64,
    /// How much neighbours in time depend on each other; a wait and the next part's first are no
    /// neighbours here.
    pub blocking: Blocking,
}

impl Part {
    /// An empty one in memory that is really there.
    pub(super) fn touched() -> Self {
        // A new distribution is zeros that the kernel has only promised; its copy has been written.
        let promised = Latencies::default();
        Self { latencies: promised.clone(), ..Self::default() }
    }

    /// Adds another one to this one.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.overruns += other.overruns;
        self.blocking.merge(&other.blocking);
    }
}

const NOTHING: u8 = 0;
const ASKED: u8 = 1;
const CHANGED: u8 = 2;

/// Where the two change parts. Only one side uses the slot at a time: who asks while the state is
/// [`NOTHING`] or [`CHANGED`], the measuring thread while it is [`ASKED`]; so the lock is never
/// contended, and exists to have no `unsafe`. Aligned as [`Live`](super::live::Live) is.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Exchange {
    state: AtomicU8,
    slot: Mutex<Option<Part>>,
}

impl Exchange {
    /// Lays an empty part beside and asks for the full one.
    pub(super) fn ask(&self, empty: Part) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(empty);
        self.state.store(ASKED, Ordering::Release);
    }

    /// The full part, once the thread has changed it over.
    pub(super) fn take(&self) -> Option<Part> {
        if self.state.load(Ordering::Acquire) != CHANGED {
            return None;
        }
        self.withdraw()
    }

    /// Takes back what lies there. Only where the thread has ended or has changed over.
    pub(super) fn withdraw(&self) -> Option<Part> {
        self.state.store(NOTHING, Ordering::Relaxed);
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The measuring thread's look: changes `part` over where that is asked.
    #[inline]
    pub(super) fn serve(&self, part: &mut Part) {
        if self.state.load(Ordering::Relaxed) == ASKED {
            self.change(part);
        }
    }

    #[cold]
    fn change(&self, part: &mut Part) {
        if self.state.load(Ordering::Acquire) != ASKED {
            return;
        }
        // Free whenever ASKED is seen. Were it not, the next return would look again.
        if let Ok(mut slot) = self.slot.try_lock()
            && let Some(empty) = slot.as_mut()
        {
            std::mem::swap(empty, part);
            drop(slot);
            self.state.store(CHANGED, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn at_full_speed_no_sample_is_lost_or_in_two_parts_and_parts_are_in_order() {
        const CUTS: usize = 100;
        let (exchange, stop) = (Exchange::default(), AtomicBool::new(false));
        let mut parts = vec![];
        let (rest, recorded) = std::thread::scope(|scope| {
            // Rising values, so that a part's ends tell which samples are in it.
            let measuring = scope.spawn(|| {
                let (mut part, mut recorded) = (Part::touched(), 0);
                while !stop.load(Ordering::Relaxed) {
                    recorded += 1;
                    part.latencies.record(recorded);
                    part.overruns += 2;
                    exchange.serve(&mut part);
                }
                (part, recorded)
            });
            while parts.len() < CUTS {
                exchange.ask(Part::touched());
                parts.push(loop {
                    if let Some(part) = exchange.take() {
                        break part;
                    }
                    std::thread::yield_now();
                });
            }
            stop.store(true, Ordering::Relaxed);
            measuring.join().unwrap()
        });
        parts.push(rest);
        let mut before = 0;
        for Part { latencies, overruns, .. } in parts {
            let count = latencies.count();
            assert_eq!(overruns, 2 * count);
            if count > 0 {
                assert_eq!((latencies.min_ns(), latencies.max_ns()), (before + 1, before + count));
            }
            before += count;
        }
        assert_eq!(before, recorded);
    }

    #[test]
    fn what_nobody_changed_over_can_be_taken_back() {
        let exchange = Exchange::default();
        assert!(exchange.take().is_none());
        exchange.ask(Part::default());
        assert!(exchange.take().is_none());
        assert!(exchange.withdraw().is_some_and(|part| part.latencies.count() == 0));
        let mut part = Part::default();
        part.latencies.record(7);
        exchange.serve(&mut part);
        assert_eq!(part.latencies.count(), 1, "nothing is asked any more");
    }
}
