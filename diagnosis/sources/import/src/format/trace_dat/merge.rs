//! One stream in time order from all CPUs' lanes.

use super::data::Data;
use super::lane::Lane;
use crate::ImportError;
use crate::stamps::Stamps;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tardy_ftrace::decode::Decoder;
use tardy_model::event::Loss;
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

/// Lanes, and how far they were read.
pub(super) struct Merge {
    lanes: Vec<Lane>,
    /// The stamp of each lane's next event, soonest first.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    stamps: Stamps,
    /// Each lane's last event.
    last_ns: Vec<u64>,
    released_ns: u64,
    /// Events that stand behind a later one of their CPU.
    late: u64,
}

impl Merge {
    pub(super) fn new(
        data: &Data,
        mut lanes: Vec<Lane>,
        stamps: Stamps,
    ) -> Result<Self, ImportError> {
        let mut heads = BinaryHeap::new();
        for (at, lane) in lanes.iter_mut().enumerate() {
            lane.advance(data)?;
            heads.extend(lane.head().map(|head| Reverse((head.stamp, at))));
        }
        let first_ns = heads.peek().map_or(0, |Reverse((stamp, _))| stamps.to_ns(*stamp));
        let last_ns = vec![first_ns; lanes.len()];
        Ok(Self { lanes, heads, stamps, last_ns, released_ns: first_ns, late: 0 })
    }

    /// The time of the next event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let Reverse((stamp, _)) = self.heads.peek()?;
        Some(self.stamps.to_ns(*stamp))
    }

    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// Decodes what comes next until the batch has `events_max` events.
    pub(super) fn fill(
        &mut self,
        data: &Data,
        decoder: &mut Decoder,
        batch: &mut Batch,
        events_max: usize,
    ) -> Result<(), ImportError> {
        while batch.events.len() < events_max
            && let Some(Reverse((_, at))) = self.heads.pop()
        {
            let until = self.heads.peek().map_or((u64::MAX, usize::MAX), |Reverse(next)| *next);
            let lane = &mut self.lanes[at];
            let cpu = CpuId(lane.cpu);
            // As long as no other lane's turn comes, the heap need not be asked.
            while batch.events.len() < events_max
                && let Some(head) = lane.head()
                && (head.stamp, at) <= until
            {
                let time_ns = self.stamps.to_ns(head.stamp);
                if time_ns < self.released_ns {
                    // To put it at another time would be a lie; it is lost, and that is told.
                    self.late += 1;
                    let loss = Loss { since_ns: time_ns, count: 1 };
                    batch.events.push(loss_event(self.released_ns, cpu, loss));
                } else {
                    self.released_ns = time_ns;
                    if let Some(count) = lane.lost {
                        let loss = Loss { since_ns: self.last_ns[at], count };
                        batch.events.push(loss_event(time_ns, cpu, loss));
                        decoder.lost(cpu, time_ns);
                    }
                    decoder.decode(time_ns, cpu, lane.record(head), batch);
                    self.last_ns[at] = time_ns;
                    lane.lost = None;
                }
                lane.advance(data)?;
            }
            if let Some(head) = lane.head() {
                self.heads.push(Reverse((head.stamp, at)));
            } else if let Some(count) = lane.lost.take() {
                let loss = Loss { since_ns: self.last_ns[at], count };
                batch.events.push(loss_event(self.released_ns, cpu, loss));
            }
        }
        Ok(())
    }
}

fn loss_event(time_ns: u64, cpu: CpuId, loss: Loss) -> Event {
    Event::new(time_ns, cpu, TaskId::IDLE, Kind::Loss(loss))
}
