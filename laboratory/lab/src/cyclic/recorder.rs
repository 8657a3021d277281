//! Where one thread's returns go: memory of fixed size, all of it touched before the first.

use super::cut::{Exchange, Part};
use super::live::Live;
use super::plan::Plan;
use crate::clock::now_ns;
use rustix::thread::sched_getcpu;
use std::sync::Arc;
use tardy_model::{CpuId, MarkReader, MarkWriter, TaskId, mark_ring};
use tardy_stats::Histogram;

/// Stores returns.
pub(super) struct Recorder {
    /// Since the last cut.
    pub(super) part: Part,
    pub(super) exchange: Arc<Exchange>,
    pub(super) histogram: Option<Histogram>,
    /// Since the start.
    live: Arc<Live>,
    marks: Option<MarkWriter>,
    cpu: Option<CpuId>,
}

impl Recorder {
    /// For thread `task`, bound to `cpu`; and the recorder's end of its marks.
    pub(super) fn new(
        plan: &Plan,
        task: TaskId,
        cpu: Option<u16>,
        shared: (Arc<Live>, Arc<Exchange>),
    ) -> (Self, Option<MarkReader>) {
        let (marks, reader) = plan.marks.then(|| mark_ring(task)).unzip();
        let recorder = Self {
            part: Part::touched(),
            exchange: shared.1,
            histogram: plan.histogram_us.map(Histogram::new),
            live: shared.0,
            marks,
            cpu: cpu.map(CpuId),
        };
        (recorder, reader)
    }

    /// One whose returns nobody reads. Its first look finds that a cut is asked, so that this way has
    /// been gone once too.
    pub(super) fn rehearsing(plan: &Plan, cpu: Option<u16>) -> Self {
        let (recorder, _reader) = Self::new(plan, TaskId(0), cpu, Default::default());
        recorder.exchange.ask(Part::touched());
        recorder
    }

    /// How many returns have been stored.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.live.count()
    }

    /// Back from a wait: the clock first, everything else after it. Yields its reading.
    #[inline]
    pub(super) fn returned(&mut self, expiry_ns: u64) -> u64 {
        let now_ns = match &mut self.marks {
            None => now_ns(),
            Some(marks) => {
                let cpu = self.cpu.unwrap_or_else(|| CpuId(sched_getcpu() as u16));
                marks.mark(expiry_ns, cpu, now_ns)
            }
        };
        let latency_ns = now_ns.saturating_sub(expiry_ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.record(now_ns, expiry_ns, self.live.count());
        }
        self.part.latencies.record(latency_ns);
        self.part.blocking.record(latency_ns);
        self.live.record(latency_ns);
        now_ns
    }

    /// Counts expiries that were missed by the last return, and gives the part away where that is asked:
    /// last, so that a return and what it missed are in one part.
    #[inline]
    pub(super) fn missed(&mut self, expiries: u64) {
        self.part.overruns += expiries;
        self.exchange.serve(&mut self.part);
    }
}
