//! Runs a script on a queue: timed, weighed, or watched.

use crate::queue::TimerQueue;
use crate::script::{Operation, Record, Script};
use std::time::Instant;

/// What can be done with a queue that makes itself with room for a number of timers.
pub trait Bench {
    /// The nanoseconds that the script's timed operations took on a new queue, filled before.
    ///
    /// # Errors
    /// Where the queue did not do what the script says.
    fn timed_ns(&self, script: &Script) -> Result<u64, Broken>;

    /// How much `allocated_bytes` grows by a queue that is filled, with all that belongs to it but the
    /// ids, which are its user's.
    ///
    /// # Errors
    /// Where the queue did not do what the script says.
    fn bytes(&self, script: &Script, allocated_bytes: &dyn Fn() -> u64) -> Result<u64, Broken>;

    /// The payloads of each pop, in the order in which they came.
    ///
    /// # Errors
    /// Where the queue did not do what the script says.
    fn popped(&self, script: &Script) -> Result<Vec<Vec<u32>>, Broken>;

    /// Whether ids of timers that have fired or were cancelled are refused, also where there are new
    /// timers in their places.
    fn refuses_stale_ids(&self) -> bool;
}

/// A queue did not do what the script says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It denied that a timer is armed.
    #[error("timer {0} was armed, and is not found")]
    Lost(u32),
    /// It gave another number of timers than were due.
    #[error("{due} timers were due at {now}, and {popped} came")]
    Count {
        /// What the script says.
        due: u32,
        /// What the queue says.
        popped: u32,
        /// Ticks.
        now: u64,
    },
}

/// A queue by how it is made.
pub(crate) struct Made<M>(pub(crate) M);

impl<Q: TimerQueue, M: Fn(usize) -> Q> Bench for Made<M> {
    fn timed_ns(&self, script: &Script) -> Result<u64, Broken> {
        let mut run = Run::new(self.0(script.slots as usize), script.slots);
        run.all(script.filling(), |_| ())?;
        let start = Instant::now();
        run.all(script.timed(), |_| ())?;
        Ok(start.elapsed().as_nanos() as u64)
    }

    fn bytes(&self, script: &Script, allocated_bytes: &dyn Fn() -> u64) -> Result<u64, Broken> {
        let ids: Vec<Q::Id> = vec![Q::Id::default(); script.slots as usize];
        let before = allocated_bytes();
        let mut run = Run { queue: self.0(script.slots as usize), ids };
        run.all(script.filling(), |_| ())?;
        Ok(allocated_bytes().saturating_sub(before))
    }

    fn popped(&self, script: &Script) -> Result<Vec<Vec<u32>>, Broken> {
        let mut run = Run::new(self.0(script.slots as usize), script.slots);
        let mut popped = Vec::new();
        for record in &script.records {
            let mut now = Vec::new();
            run.all(std::slice::from_ref(record), |payload| now.push(payload))?;
            if let Operation::Pop { .. } = record.operation() {
                popped.push(now);
            }
        }
        Ok(popped)
    }

    fn refuses_stale_ids(&self) -> bool {
        let mut queue = self.0(4);
        let mut cancelled = queue.insert(10, 0);
        let mut fired = queue.insert(5, 1);
        let mut first =
            queue.cancel(cancelled) && queue.pop(5) == Some(1) && queue.pop(5).is_none();
        for payload in 2..6 {
            queue.insert(20, payload);
        }
        for id in [&mut cancelled, &mut fired] {
            first &= !queue.cancel(*id) && !queue.rearm(id, 30);
        }
        let left = std::iter::from_fn(|| queue.pop(20)).count();
        first && left == 4
    }
}

/// A queue and its user, who keeps an id per timer.
struct Run<Q: TimerQueue> {
    queue: Q,
    ids: Vec<Q::Id>,
}

impl<Q: TimerQueue> Run<Q> {
    fn new(queue: Q, slots: u32) -> Self {
        Self { queue, ids: vec![Q::Id::default(); slots as usize] }
    }

    fn all(&mut self, records: &[Record], mut fired: impl FnMut(u32)) -> Result<(), Broken> {
        for record in records {
            match record.operation() {
                Operation::Insert { slot, expiry } => {
                    self.ids[slot as usize] = self.queue.insert(expiry, slot);
                }
                Operation::Cancel { slot } => {
                    if !self.queue.cancel(self.ids[slot as usize]) {
                        return Err(Broken::Lost(slot));
                    }
                }
                Operation::Rearm { slot, expiry } => {
                    if !self.queue.rearm(&mut self.ids[slot as usize], expiry) {
                        return Err(Broken::Lost(slot));
                    }
                }
                Operation::Pop { count, now } => {
                    let mut popped = 0;
                    while let Some(payload) = self.queue.pop(now) {
                        fired(payload);
                        popped += 1;
                    }
                    if popped != count {
                        return Err(Broken::Count { due: count, popped, now });
                    }
                }
            }
        }
        Ok(())
    }
}
