//! The kernel's clock readings near the beginning and the end of a trace, before its events are read:
//! they tell what its times are.

use super::data::Data;
use super::lane::Lane;
use super::options::FileOptions;
use crate::ImportError;
use crate::stamps::{Stamps, WALL_NS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tardy_ftrace::decode::{Decoder, TraceClock};

/// Readings, each with the stamp of its event, in order of stamps.
pub(super) struct Readings {
    /// The stamp of the trace's first event.
    begins: u64,
    first: Vec<(u64, i64)>,
    last: Vec<(u64, i64)>,
}

/// What is looked at, at most: events of all CPUs at the beginning, and pages of each at the end.
const FIRST_EVENTS_MAX: usize = 1 << 18;
const LAST_PAGES: u64 = 32;

/// Enough readings to know a clock by.
const READINGS_MAX: usize = 4096;

/// Clocks that count something else than nanoseconds.
const COUNTERS: [&str; 2] = ["x86-tsc", "ppc-tb"];

/// A reading farther from its stamp than this, where the quickest of many should be next to it, is of
/// another clock than the stamp.
const FAR_NS: i64 = 1_000_000;

/// Fewer may all be slow.
const READINGS_MIN: usize = 10;

/// Reads them.
pub(super) fn readings(
    data: &Data,
    decoder: &Decoder,
    lanes: impl Fn() -> Vec<Lane>,
) -> Result<Readings, ImportError> {
    let mut first = Vec::new();
    let mut all = lanes();
    let mut heads = BinaryHeap::new();
    for (at, lane) in all.iter_mut().enumerate() {
        lane.advance(data)?;
        heads.extend(lane.head().map(|head| Reverse((head.stamp, at))));
    }
    let begins = heads.peek().map_or(0, |Reverse((stamp, _))| *stamp);
    let mut events = 0;
    while events < FIRST_EVENTS_MAX
        && first.len() < READINGS_MAX
        && let Some(Reverse((stamp, at))) = heads.pop()
    {
        let lane = &mut all[at];
        if let Some(head) = lane.head() {
            first.extend(decoder.clock_reading(lane.record(head)).map(|ns| (stamp, ns)));
        }
        lane.advance(data)?;
        heads.extend(lane.head().map(|head| Reverse((head.stamp, at))));
        events += 1;
    }
    let mut last = Vec::new();
    for mut lane in lanes() {
        lane.skip_to_last_pages(data, LAST_PAGES)?;
        loop {
            lane.advance(data)?;
            let Some(head) = lane.head() else { break };
            if last.len() < READINGS_MAX * 4 {
                last.extend(decoder.clock_reading(lane.record(head)).map(|ns| (head.stamp, ns)));
            }
        }
    }
    last.sort_unstable();
    Ok(Readings { begins, first, last })
}

impl Readings {
    /// How the trace's stamps become nanoseconds.
    pub(super) fn stamps(
        &self,
        data: &Data,
        clock: &str,
        file_options: &FileOptions,
        notes: &mut Vec<String>,
    ) -> Result<Stamps, ImportError> {
        let stamps = if let Some((mult, shift)) = file_options.tsc_to_ns {
            Stamps::scaled(mult, shift)
        } else if COUNTERS.contains(&clock) {
            let mut all: Vec<(u64, i64)> = self
                .first
                .iter()
                .chain(&self.last)
                .copied()
                .filter(|(_, ns)| *ns < WALL_NS)
                .collect();
            all.sort_unstable();
            Stamps::of_counter(&all).ok_or_else(|| {
                data.broken(
                    0,
                    format!(
                        "its clock is `{clock}`, which counts cycles. The file does not contain \
                         the length of a cycle, nor hrtimer_expire_entry events over at least 50 \
                         ms, from which tardy could compute it; record with `--tsc2nsec`, or with \
                         the clock `mono`"
                    ),
                )
            })?
        } else if clock == "counter" {
            return Err(data.broken(
                0,
                "its clock is `counter`, which gives an order of events but no times; record \
                 with the clock `mono`",
            ));
        } else {
            Stamps::default()
        };
        if stamps.to_ns(self.begins).checked_add_signed(file_options.offset_ns).is_none() {
            notes.push(format!(
                "the file's clock offset of {} ns would put events before time 0; it is ignored",
                file_options.offset_ns
            ));
            return Ok(stamps);
        }
        Ok(stamps.later_by(file_options.offset_ns))
    }

    /// What the trace's times are of.
    pub(super) fn clock(&self, clock: &str, stamps: Stamps, notes: &mut Vec<String>) -> TraceClock {
        if clock != "mono" || stamps != Stamps::default() {
            return TraceClock::Other;
        }
        let ahead = |(stamp, ns): &(u64, i64)| ns.saturating_sub(*stamp as i64);
        let of_this_kind = self.first.iter().filter(|(_, ns)| *ns < WALL_NS);
        let quickest_ns = of_this_kind.clone().map(ahead).max();
        if of_this_kind.count() >= READINGS_MIN
            && quickest_ns.is_some_and(|ns| !(-FAR_NS..=0).contains(&ns))
        {
            notes.push(
                "the file says that its clock is `mono`, but the kernel's readings of that clock \
                 differ: it is treated as another clock"
                    .to_owned(),
            );
            return TraceClock::Other;
        }
        TraceClock::Monotonic
    }

    /// Those of the beginning, with their events' times.
    pub(super) fn first_in_ns(&self, stamps: Stamps) -> Vec<(u64, i64)> {
        self.first.iter().map(|(stamp, ns)| (stamps.to_ns(*stamp), *ns)).collect()
    }
}
