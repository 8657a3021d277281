//! One order in time from the records of many CPUs and the marks of this process.

use tardy_model::{Event, MarkReader};

/// Events held back at most while a CPU's or a thread's record is on its way: 64 MB. Beyond it they
/// are released all the same, and what then comes too late is counted.
pub const HELD_EVENTS_MAX: usize = 2 << 20;

/// Collects events that come nearly in order and releases them in order.
///
/// A round is: read the clock, look at every producer until it has no more, then [`Merge::release`]
/// up to that reading. Producers claim their place before they read the clock, so what comes in a
/// later round has a later time; a producer found in the middle of writing holds the release back.
#[derive(Debug, Default)]
pub struct Merge {
    held: Vec<Event>,
    released_ns: u64,
    late: u64,
}

impl Merge {
    /// Takes an event into the round.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.held.push(event);
    }

    /// Takes all marks of `reader` into the round. Returns whether one may still be on its way.
    /// Call it after the clock was read for this round.
    pub fn push_marks(&mut self, reader: &mut MarkReader) -> bool {
        let pending = reader.is_pending();
        reader.drain(&mut self.held);
        pending
    }

    /// Appends to `events` everything before `until_ns`, in order of time; of equal times what was
    /// pushed first comes first.
    pub fn release(&mut self, until_ns: u64, events: &mut Vec<Event>) {
        // A run per CPU, each nearly sorted: the standard sort merges runs in linear time.
        self.held.sort_by_key(|event| event.time_ns);
        let ready = self.held.partition_point(|event| event.time_ns < until_ns);
        let ready = ready.max(self.held.len().saturating_sub(HELD_EVENTS_MAX));
        let from = events.len();
        events.extend(self.held.drain(..ready));
        for event in &mut events[from..] {
            if event.time_ns < self.released_ns {
                self.late += 1;
                event.time_ns = self.released_ns;
            }
            self.released_ns = event.time_ns;
        }
    }

    /// Events that came after their place in the order had been released; their times were moved
    /// forward to keep the order. 0 unless [`HELD_EVENTS_MAX`] was reached.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The time of the last event released.
    pub fn released_ns(&self) -> u64 {
        self.released_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::IdleExit;
    use tardy_model::{CpuId, Kind, TaskId};

    fn at(time_ns: u64, cpu: u16) -> Event {
        Event::new(time_ns, CpuId(cpu), TaskId(0), Kind::IdleExit(IdleExit))
    }

    #[test]
    fn releases_in_order_and_only_what_is_complete() {
        let mut merge = Merge::default();
        for event in [at(10, 0), at(30, 0), at(5, 1), at(20, 1)] {
            merge.push(event);
        }
        let mut out = Vec::new();
        merge.release(25, &mut out);
        assert_eq!(out, [at(5, 1), at(10, 0), at(20, 1)]);
        merge.push(at(26, 1));
        merge.release(100, &mut out);
        assert_eq!(out[3..], [at(26, 1), at(30, 0)]);
        assert_eq!(merge.late(), 0);
    }

    #[test]
    fn what_comes_too_late_is_counted_and_keeps_the_order() {
        let mut merge = Merge::default();
        let mut out = Vec::new();
        merge.push(at(50, 0));
        merge.release(60, &mut out);
        merge.push(at(40, 1));
        merge.release(70, &mut out);
        assert_eq!(out, [at(50, 0), at(50, 1)]);
        assert_eq!(merge.late(), 1);
    }
}
