//! Between the thread that empties the kernel's buffers and the one that writes.
//!
//! The sender never waits. A batch that finds no room is dropped, and what must not be lost of it
//! goes ahead of the next batch that has room: its definitions, its events that say who a task is,
//! and one [`Loss`] per CPU for the rest.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use tardy_model::event::Loss;
use tardy_model::{Batch, CpuId, Event, Kind, NameId, Tables, TaskId, TimerDef};

/// The most batches that wait.
pub(crate) const BATCHES_MAX: usize = 1024;

/// The most events that are kept of dropped batches because they say who a task is.
const KEPT_MAX: usize = 1 << 16;

/// Emptied batches that wait to be filled again, and the most events one may have room for.
const POOL_BATCHES_MAX: usize = 8;
const POOL_EVENTS_MAX: usize = 1 << 16;

/// The sending end.
pub(crate) struct QueueIn {
    batches: SyncSender<Batch>,
    pool: Receiver<Batch>,
    queued: Arc<Queued>,
    events_max: usize,
    pending: Pending,
    dropped_events: u64,
}

/// The writing end.
pub(crate) struct QueueOut {
    batches: Receiver<Batch>,
    pool: SyncSender<Batch>,
    queued: Arc<Queued>,
}

/// What waits to be written, or is being written.
#[derive(Debug, Default)]
struct Queued {
    batches: AtomicUsize,
    events: AtomicUsize,
}

impl Queued {
    fn add(&self, events: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
    }

    fn remove(&self, events: usize) {
        self.batches.fetch_sub(1, Ordering::Relaxed);
        self.events.fetch_sub(events, Ordering::Relaxed);
    }
}

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    Queued,
    Dropped,
    /// The other end is gone.
    Closed,
}

/// What the writing end finds.
pub(crate) enum Taken {
    Batch(Batch),
    Empty,
    Closed,
}

/// A queue of at most [`BATCHES_MAX`] batches that hold at most `events_max` events together. One
/// batch alone may be larger than that.
pub(crate) fn queue(events_max: usize) -> (QueueIn, QueueOut) {
    let (batches, batches_out) = mpsc::sync_channel(BATCHES_MAX);
    let (pool_in, pool) = mpsc::sync_channel(POOL_BATCHES_MAX);
    let queued = Arc::new(Queued::default());
    let sending = QueueIn {
        batches,
        pool,
        queued: Arc::clone(&queued),
        events_max,
        pending: Pending::default(),
        dropped_events: 0,
    };
    (sending, QueueOut { batches: batches_out, pool: pool_in, queued })
}

impl QueueIn {
    /// Queues a batch or drops it.
    pub(crate) fn offer(&mut self, batch: Batch) -> Offered {
        if batch.is_empty() {
            return Offered::Queued;
        }
        if !self.has_room(batch.events.len() + self.pending.events()) {
            self.drop_events(batch);
            return Offered::Dropped;
        }
        let batch = self.pending.put_before(batch);
        let events = batch.events.len();
        // Counted before it is sent: the other end subtracts as soon as it has it.
        self.queued.add(events);
        match self.batches.try_send(batch) {
            Ok(()) => Offered::Queued,
            Err(TrySendError::Full(batch)) => {
                self.queued.remove(events);
                self.drop_events(batch);
                Offered::Dropped
            }
            Err(TrySendError::Disconnected(_)) => Offered::Closed,
        }
    }

    /// Whether one more batch, of so many events, would have room now. One may be sent to an empty queue
    /// whatever its size.
    pub(crate) fn has_room(&self, events: usize) -> bool {
        let batches = self.queued.batches.load(Ordering::Relaxed);
        let queued = self.queued.events.load(Ordering::Relaxed);
        batches == 0 || batches < BATCHES_MAX && queued + events <= self.events_max
    }

    /// Whether the queue is more than half full, of events or of batches.
    pub(crate) fn is_half_full(&self) -> bool {
        self.queued.events.load(Ordering::Relaxed) > self.events_max / 2
            || self.queued.batches.load(Ordering::Relaxed) > BATCHES_MAX / 2
    }

    /// An empty batch, with the memory of one that was written where there is one.
    pub(crate) fn empty_batch(&self) -> Batch {
        self.pool.try_recv().unwrap_or_default()
    }

    /// Events dropped so far.
    pub(crate) fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    /// Sends what was kept of dropped batches, waiting for room, and ends the stream.
    pub(crate) fn close(mut self) -> u64 {
        let last = self.pending.put_before(Batch::default());
        if !last.is_empty() {
            self.queued.add(last.events.len());
            // An error means that the writer stopped; it has reported why.
            let _ = self.batches.send(last);
        }
        self.dropped_events
    }

    fn drop_events(&mut self, batch: Batch) {
        self.dropped_events += self.pending.keep_from(batch);
    }
}

impl QueueOut {
    pub(crate) fn take(&self) -> Taken {
        match self.batches.try_recv() {
            Ok(batch) => Taken::Batch(batch),
            Err(TryRecvError::Empty) => Taken::Empty,
            Err(TryRecvError::Disconnected) => Taken::Closed,
        }
    }

    /// Makes room for others once a batch is written.
    pub(crate) fn give_back(&self, mut batch: Batch) {
        self.queued.remove(batch.events.len());
        if batch.events.capacity() <= POOL_EVENTS_MAX {
            batch.clear();
            // A full pool: the memory goes back to the allocator.
            let _ = self.pool.try_send(batch);
        }
    }
}

/// What is left of dropped batches. Bounded: definitions as [`Tables::ENTRIES_MAX`] says, task
/// events by [`KEPT_MAX`], losses by the number of CPUs.
#[derive(Default)]
struct Pending {
    names: Vec<(NameId, String)>,
    timers: Vec<TimerDef>,
    tasks: Vec<Event>,
    losses: BTreeMap<CpuId, Span>,
}

/// Losses of one CPU, not told yet.
struct Span {
    since_ns: u64,
    until_ns: u64,
    count: u64,
}

impl Pending {
    fn events(&self) -> usize {
        self.tasks.len() + self.losses.len()
    }

    /// Takes what must not be lost of a batch; returns how many of its events are.
    fn keep_from(&mut self, batch: Batch) -> u64 {
        self.names.extend(batch.names);
        self.names.truncate(Tables::ENTRIES_MAX as usize);
        self.timers.extend(batch.timers);
        self.timers.truncate(Tables::ENTRIES_MAX as usize);
        let mut dropped = 0;
        for event in batch.events {
            match event.kind() {
                Kind::Loss(loss) => {
                    self.lose(&event, loss.since_ns.min(event.time_ns), loss.at_least());
                }
                Kind::TaskName(_) | Kind::TaskInfo(_) | Kind::TaskExit(_)
                    if self.tasks.len() < KEPT_MAX =>
                {
                    self.tasks.push(event);
                }
                _ => {
                    self.lose(&event, event.time_ns, 1);
                    dropped += 1;
                }
            }
        }
        dropped
    }

    fn lose(&mut self, event: &Event, since_ns: u64, count: u64) {
        let until_ns = event.time_ns;
        let span = self.losses.entry(event.cpu).or_insert(Span { since_ns, until_ns, count: 0 });
        span.since_ns = span.since_ns.min(since_ns);
        span.until_ns = span.until_ns.max(until_ns);
        span.count += count;
    }

    /// The batch with everything kept in front of its own; nothing is kept any more.
    fn put_before(&mut self, batch: Batch) -> Batch {
        if self.names.is_empty() && self.timers.is_empty() && self.events() == 0 {
            return batch;
        }
        let mut whole = Batch {
            names: std::mem::take(&mut self.names),
            timers: std::mem::take(&mut self.timers),
            events: std::mem::take(&mut self.tasks),
        };
        for (cpu, span) in std::mem::take(&mut self.losses) {
            let count = u32::try_from(span.count).unwrap_or(u32::MAX);
            let loss = Loss { since_ns: span.since_ns, count };
            whole.events.push(Event::new(span.until_ns, cpu, TaskId::IDLE, loss.into()));
        }
        // All of them are of dropped batches, so none is later than the events that follow.
        whole.events.sort_by_key(|event| event.time_ns);
        whole.names.extend(batch.names);
        whole.timers.extend(batch.timers);
        whole.events.extend(batch.events);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tardy_model::event::{Comm, Mark, TaskName};

    fn mark(time_ns: u64, cpu: u16) -> Event {
        let kind = Mark { expiry_ns: 0, sequence: 0 }.into();
        Event::new(time_ns, CpuId(cpu), TaskId(5), kind)
    }

    fn events(events: &[Event]) -> Batch {
        Batch { events: events.to_vec(), ..Batch::default() }
    }

    fn take(out: &QueueOut) -> Option<Batch> {
        match out.take() {
            Taken::Batch(batch) => {
                out.give_back(batch.clone());
                Some(batch)
            }
            Taken::Empty | Taken::Closed => None,
        }
    }

    #[test]
    fn a_full_queue_tells_what_it_dropped() {
        let (mut sending, out) = queue(3);
        let name = (NameId(1), "tick".to_owned());
        let timer = TimerDef { id: tardy_model::TimerId(9), ..TimerDef::default() };
        let named = TaskName { comm: Comm::new("new") };
        let born = Event::new(21, CpuId(0), TaskId(8), named.into());

        assert_eq!(sending.offer(events(&[mark(10, 0), mark(11, 0)])), Offered::Queued);
        let mut second = events(&[mark(20, 0), born, mark(22, 1), mark(23, 0)]);
        second.names.push(name.clone());
        second.timers.push(timer);
        assert_eq!(sending.offer(second), Offered::Dropped);
        assert_eq!(sending.offer(events(&[mark(30, 1), mark(31, 1)])), Offered::Dropped);
        assert_eq!(sending.dropped_events(), 5);

        take(&out).unwrap();
        assert_eq!(sending.offer(events(&[mark(40, 0)])), Offered::Queued);
        let batch = take(&out).unwrap();
        assert_eq!((batch.names, batch.timers), (vec![name], vec![timer]));
        let loss = |time_ns, cpu, since_ns, count| {
            Event::new(time_ns, CpuId(cpu), TaskId::IDLE, Loss { since_ns, count }.into())
        };
        let told = [born, loss(23, 0, 20, 2), loss(31, 1, 22, 3), mark(40, 0)];
        assert_eq!(batch.events, told);
    }

    #[test]
    fn many_small_batches_fill_it_as_well() {
        let (mut sending, out) = queue(1 << 20);
        for at in 0..BATCHES_MAX as u64 {
            assert!(sending.has_room(1), "{at}");
            assert_eq!(sending.offer(events(&[mark(at, 0)])), Offered::Queued);
        }
        assert!(sending.is_half_full() && !sending.has_room(1));
        take(&out).unwrap();
        assert!(sending.has_room(1));
        assert_eq!(sending.offer(events(&[mark(BATCHES_MAX as u64, 0)])), Offered::Queued);
        assert_eq!(sending.dropped_events(), 0);
    }

    #[test]
    fn a_loss_that_is_dropped_is_still_told_and_the_end_tells_the_last() {
        let (mut sending, out) = queue(1);
        sending.offer(events(&[mark(1, 0)]));
        let told = Loss { since_ns: 5, count: 7 };
        let lost = Event::new(9, CpuId(0), TaskId::IDLE, told.into());
        assert_eq!(sending.offer(events(&[lost, mark(10, 0)])), Offered::Dropped);
        assert_eq!(sending.close(), 1);
        take(&out).unwrap();
        let all = Loss { since_ns: 5, count: 8 };
        let told = Event::new(10, CpuId(0), TaskId::IDLE, all.into());
        assert_eq!(take(&out).unwrap().events, [told]);
        assert!(matches!(out.take(), Taken::Closed));
    }

    proptest! {
        /// However fast the other end is: times never go back, and every event sent either comes
        /// out or is counted in a loss.
        #[test]
        fn nothing_vanishes(steps in prop::collection::vec((0u16..3, 0usize..5, any::<bool>()), 1..80)) {
            let (mut sending, out) = queue(6);
            let (mut sent, mut time_ns, mut came) = (0u64, 0, Vec::new());
            for (cpu, count, drain) in steps {
                let batch: Vec<Event> =
                    (0..count as u64).map(|n| mark(time_ns + n, cpu)).collect();
                time_ns += count as u64;
                sent += count as u64;
                sending.offer(events(&batch));
                if drain {
                    came.extend(take(&out));
                }
            }
            // The last batch of a full queue has no room to wait in: make some first.
            came.extend(take(&out));
            let dropped = sending.close();
            while let Some(batch) = take(&out) {
                came.push(batch);
            }
            let all: Vec<Event> = came.into_iter().flat_map(|batch| batch.events).collect();
            prop_assert!(all.is_sorted_by_key(|event| event.time_ns));
            let (mut good, mut lost) = (0, 0);
            for event in all {
                match event.kind() {
                    Kind::Loss(loss) => lost += loss.at_least(),
                    _ => good += 1,
                }
            }
            prop_assert_eq!((good + lost, lost), (sent, dropped));
        }
    }
}
