//! How a thread of this process marks its own return to user space without a system call.
//!
//! One [`MarkWriter`] per measuring thread, one [`MarkReader`] at the recorder, a ring of fixed size
//! between them. The writer never waits: a full ring drops the mark and counts it, and the gap shows
//! in the marks' sequence numbers.

use crate::event::Mark;
use crate::{CpuId, Event, Kind, TaskId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Marks a ring holds: 65 s of a 1 ms thread, far more than a recorder ever leaves unread.
pub const MARKS_MAX: usize = 1 << 16;

#[derive(Default)]
struct Slot {
    time_ns: AtomicU64,
    expiry_ns: AtomicU64,
    /// The CPU in the high half, the sequence number in the low one.
    cpu_and_sequence: AtomicU64,
}

struct Ring {
    task: TaskId,
    slots: Box<[Slot]>,
    written: AtomicU64,
    read: AtomicU64,
    /// Set while a mark has perhaps read its clock but is not in the ring yet.
    pending: AtomicBool,
}

/// The measuring thread's end.
pub struct MarkWriter {
    ring: Arc<Ring>,
    sequence: u32,
}

/// The recorder's end.
pub struct MarkReader {
    ring: Arc<Ring>,
}

/// A ring for the marks of thread `task`.
pub fn mark_ring(task: TaskId) -> (MarkWriter, MarkReader) {
    let ring = Arc::new(Ring {
        task,
        slots: (0..MARKS_MAX).map(|_| Slot::default()).collect(),
        written: AtomicU64::new(0),
        read: AtomicU64::new(0),
        pending: AtomicBool::new(false),
    });
    (MarkWriter { ring: Arc::clone(&ring), sequence: 0 }, MarkReader { ring })
}

impl MarkWriter {
    /// Takes the clock reading with `clock` and marks it as the return from a wait for `expiry_ns`.
    /// Returns the reading.
    #[inline]
    pub fn mark(&mut self, expiry_ns: u64, cpu: CpuId, clock: impl FnOnce() -> u64) -> u64 {
        let ring = &*self.ring;
        // Pending before the clock is read, and seen so by the reader (hence SeqCst): what the
        // reader releases as complete must not miss a reading that is still on its way.
        ring.pending.store(true, Ordering::SeqCst);
        let time_ns = clock();
        let at = ring.written.load(Ordering::Relaxed);
        if at - ring.read.load(Ordering::Acquire) < MARKS_MAX as u64 {
            let slot = &ring.slots[at as usize % MARKS_MAX];
            slot.time_ns.store(time_ns, Ordering::Relaxed);
            slot.expiry_ns.store(expiry_ns, Ordering::Relaxed);
            let both = u64::from(cpu.0) << 32 | u64::from(self.sequence);
            slot.cpu_and_sequence.store(both, Ordering::Relaxed);
            ring.written.store(at + 1, Ordering::Release);
        }
        self.sequence = self.sequence.wrapping_add(1);
        ring.pending.store(false, Ordering::SeqCst);
        time_ns
    }
}

impl MarkReader {
    /// Whose marks these are.
    pub fn task(&self) -> TaskId {
        self.ring.task
    }

    /// Whether a mark may be on its way whose time has already been read.
    pub fn is_pending(&self) -> bool {
        self.ring.pending.load(Ordering::SeqCst)
    }

    /// Moves all marks that are in the ring to `events`, oldest first.
    pub fn drain(&mut self, events: &mut Vec<Event>) {
        let ring = &*self.ring;
        let written = ring.written.load(Ordering::Acquire);
        let mut at = ring.read.load(Ordering::Relaxed);
        while at < written {
            let slot = &ring.slots[at as usize % MARKS_MAX];
            let both = slot.cpu_and_sequence.load(Ordering::Relaxed);
            let mark =
                Mark { expiry_ns: slot.expiry_ns.load(Ordering::Relaxed), sequence: both as u32 };
            let time_ns = slot.time_ns.load(Ordering::Relaxed);
            let cpu = CpuId((both >> 32) as u16);
            events.push(Event::new(time_ns, cpu, ring.task, Kind::Mark(mark)));
            at += 1;
        }
        ring.read.store(at, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_drops_and_the_sequence_shows_it() {
        let (mut writer, mut reader) = mark_ring(TaskId(7));
        for time_ns in 0..MARKS_MAX as u64 + 3 {
            writer.mark(time_ns, CpuId(1), || time_ns + 5);
        }
        let mut events = Vec::new();
        reader.drain(&mut events);
        assert_eq!(events.len(), MARKS_MAX);
        events.clear();
        writer.mark(9, CpuId(1), || 10);
        reader.drain(&mut events);
        let after = Mark { expiry_ns: 9, sequence: MARKS_MAX as u32 + 3 };
        assert_eq!(events, [Event::new(10, CpuId(1), TaskId(7), Kind::Mark(after))]);
        assert!(!reader.is_pending());
    }
}
