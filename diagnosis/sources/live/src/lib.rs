//! Events of the running kernel by eBPF: CO-RE programs on BTF tracepoints, a ring per CPU in memory
//! that this process maps.
//!
//! [`Live::start`] loads and attaches; [`Live`] is a [`LiveSource`] that never blocks: each batch is
//! what the rings hold now. [`LiveSource::stop`] detaches, and the batches that follow are the rest.
//! What the kernel does not have is skipped and listed in [`LiveSource::missing`].
//!
//! With [`Options::flight_over_ns`] it is a flight recorder: programs of its own (`bpf/hooks/flight.h`)
//! overwrite the oldest, and nothing is read before [`LiveSource::stop`].
//!
//! The only crate here with `unsafe`: in `ring.rs` and `flight.rs`, for the memory shared with the
//! kernel. The BPF side is in `bpf/`; start reading there at `ring.h`.

mod attach;
mod error;
mod flight;
mod recursion_misses;
mod ring;
mod state;
mod translate;
mod unhooked;
mod warnings;
mod window;

pub use error::Error;
pub use tardy_kernel::{Exceeded, LiveSource, Options};

use flight::Flight;
use ring::Rings;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tardy_kernel::{IdleStates, Merge, Roles, monotonic_ns, own_thread_is, tasks_now};
use tardy_model::event::{
    IdleState, IpiSend, Loss, Nmi, Recorded, SectionBegin, SectionEnd, Stolen, Switch, TaskInfo,
    Woken,
};
use tardy_model::{Batch, CpuId, Event, Kind, MarkReader, NameId, Source, SourceError, TaskId};
use translate::Translator;

/// Slots of a CPU's ring where nobody asks for more or less, as a power of two: 4 MB, a quarter of a
/// second at 500,000 events/s on one CPU.
const SLOTS_SHIFT: u32 = 17;

/// The least and the most of it: 32 KB and 128 MB.
const SLOTS_SHIFTS: std::ops::RangeInclusive<u32> = 10..=22;

/// How long after its time a record may be claimed: an expiry's may be the loop's reading of the clock,
/// which takes a few hundred instructions to come to its callback.
const CLAIMED_LATE_NS: u64 = 20_000;

/// How long a program that was detached may still run.
const SETTLING: std::time::Duration = std::time::Duration::from_millis(10);

/// The running recorder.
pub struct Live {
    rings: Rings,
    /// Dropping these detaches the programs.
    links: Vec<libbpf_rs::Link>,
    translator: Translator,
    merge: Merge,
    marks: Vec<MarkReader>,
    missing: Vec<String>,
    roles: Roles,
    start_ns: u64,
    flight: Option<Flight>,
    /// What a flight recorder held, in order, once it was stopped; and how far it reached.
    landed: Option<Landed>,
    stopped: bool,
    /// Runs of programs that the kernel has left out; known once it is stopped.
    recursion_misses: BTreeMap<String, u64>,
}

/// What a flight recorder held.
#[derive(Debug, Default)]
struct Landed {
    events: std::vec::IntoIter<Event>,
    /// Of each CPU that had any, from its first event to its last.
    spans_ns: Vec<u64>,
}

/// Events of a flight recorder that are handed out in one batch.
const LANDED_BATCH: usize = 1 << 16;

impl Live {
    /// Loads the programs, attaches them, and reads who is there already.
    ///
    /// The rings' size is rounded down to a power of two.
    ///
    /// # Errors
    /// Where the kernel has no BTF or does not let this process load programs: the error says what
    /// would bring it.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let slots_shift = match options.buffer_bytes_per_cpu {
            Some(bytes) => slots_shift(bytes)?,
            None => SLOTS_SHIFT,
        };
        // Before anything is recorded: reading the symbols takes longer than a small ring does.
        let mut translator = Translator::new();
        let start_ns = monotonic_ns();
        let attached = attach::attach(options, slots_shift)?;
        translator.timer_interrupts_untold(attached.timer_interrupts_untold);
        let mut roles = Roles::default();
        roles.threads.extend(options.own_threads.iter().map(|thread| (*thread, TaskInfo::OWN)));
        let watched = attach::watched_info(options);
        roles.processes.extend(options.watched_processes.iter().map(|process| (*process, watched)));

        let mut flight = attached.flight;
        let mut merge = Merge::default();
        if flight.is_none() && attached.missing.is_empty() {
            merge.push(Event::new(
                start_ns,
                CpuId(0),
                TaskId::IDLE,
                recorded(attached.counts_stolen).into(),
            ));
        }
        for (state, _, exit_latency_ns) in IdleStates::read().all() {
            let state = IdleState { state, exit_latency_ns, name: NameId::NONE };
            merge.push(Event::new(start_ns, CpuId(0), TaskId::IDLE, state.into()));
        }
        for event in tasks_now(start_ns, &roles) {
            if let (Some(flight), Kind::TaskInfo(info)) = (&mut flight, event.kind())
                && info.has(TaskInfo::WATCHED)
            {
                flight.watch(event.task.0);
            }
            merge.push(event);
        }
        Ok(Self {
            rings: attached.rings,
            links: attached.links,
            translator,
            merge,
            marks: Vec::new(),
            missing: attached.missing,
            roles,
            start_ns,
            flight,
            landed: None,
            stopped: false,
            recursion_misses: BTreeMap::new(),
        })
    }

    /// Takes what a flight recorder holds, once nothing writes any more: who was there, what each CPU
    /// did, and where older events had been.
    fn land(&mut self, batch: &mut Batch) -> Landed {
        let mut held: Vec<Event> = Vec::new();
        let mut spans: Vec<Option<(u64, u64)>> = Vec::new();
        let translator = &mut self.translator;
        let mut first = BTreeMap::new();
        self.rings.recover(|record, _| {
            if record.tag == Switch::TAG {
                first.entry(record.cpu).or_insert(record.task);
            }
        });
        for (cpu, task) in first {
            translator.first_current(cpu, task);
        }
        let overwritten = self.rings.recover(|record, definition| {
            let from = held.len();
            translator.flight_record(record, definition, batch, &mut held);
            let cpu = usize::from(record.cpu);
            spans.resize(spans.len().max(cpu + 1), None);
            for event in &held[from..] {
                let span = spans[cpu].get_or_insert((event.time_ns, event.time_ns));
                *span = (span.0.min(event.time_ns), span.1.max(event.time_ns));
            }
        });
        let first_ns = spans.iter().flatten().map(|span| span.0).min().unwrap_or(self.start_ns);
        if let Some(exceeded) = self.flight.as_ref().and_then(Flight::exceeded) {
            *self.roles.threads.entry(exceeded.task.0).or_default() |= TaskInfo::WATCHED;
        }
        // Those of the start first: who has gone since may be in the events.
        let mut there = Vec::new();
        self.merge.release(u64::MAX, &mut there);
        there.extend(tasks_now(first_ns, &self.roles));
        for event in &mut there {
            event.time_ns = event.time_ns.min(first_ns);
        }
        for (cpu, span) in spans.iter().enumerate() {
            if let (true, Some((from_ns, _))) = (overwritten[cpu], span) {
                let loss = Loss { since_ns: self.start_ns, count: u32::MAX };
                let cpu = CpuId(cpu as u16);
                there.push(Event::new(*from_ns, cpu, TaskId::IDLE, Kind::Loss(loss)));
            }
        }
        there.extend(held);
        // A stable sort: who is there and what is lost come ahead of events of the same time.
        there.sort_by_key(|event| event.time_ns);
        let spans_ns = spans.iter().flatten().map(|span| span.1 - span.0).collect();
        Landed { events: there.into_iter(), spans_ns }
    }

    /// Events that the kernel side has dropped so far, on all CPUs.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }
}

fn slots_shift(bytes: u64) -> Result<u32, Error> {
    let slots = bytes / tardy_model::RECORD_BYTES as u64;
    slots
        .checked_ilog2()
        .filter(|shift| SLOTS_SHIFTS.contains(shift))
        .ok_or(Error::BufferSize { bytes })
}

impl Live {
    fn flight_note(&self, flight: &Flight) -> String {
        let spans_ns = self.landed.as_ref().map_or(&[][..], |landed| &landed.spans_ns);
        let seconds = |ns: Option<&u64>| ns.copied().unwrap_or(0) as f64 / 1e9;
        let mut note = format!(
            "the kernel's buffers held the last {:.3} s (the CPU that did most) to {:.3} s (least)",
            seconds(spans_ns.iter().min()),
            seconds(spans_ns.iter().max()),
        );
        if flight.unwatched() > 0 {
            let _ = write!(
                note,
                "; {} threads were not watched for their lateness: others' ids end alike",
                flight.unwatched()
            );
        }
        note
    }
}

/// What is told where every hook could be attached: all but what has none, and what migrations tell.
fn recorded(counts_stolen: bool) -> Recorded {
    let unhooked = [Woken::TAG, Nmi::TAG, IpiSend::TAG, SectionBegin::TAG, SectionEnd::TAG];
    let stolen = (!counts_stolen).then_some(Stolen::TAG);
    let unhooked = unhooked.iter().chain(&stolen).fold(0, |kinds, tag| kinds | 1 << tag);
    Recorded { kinds: Recorded::all().kinds & !unhooked }
}

impl LiveSource for Live {
    fn name(&self) -> &'static str {
        "live-ebpf"
    }

    fn missing(&self) -> &[String] {
        &self.missing
    }

    fn bytes_per_cpu(&self) -> u64 {
        self.rings.bytes_per_cpu()
    }

    fn mark_own(&mut self, thread: u32) {
        self.merge.push(own_thread_is(monotonic_ns(), TaskId(thread), TaskInfo::OWN));
    }

    fn follow(&mut self, marks: MarkReader) {
        let flags = TaskInfo::WATCHED | TaskInfo::MARKS;
        self.merge.push(own_thread_is(monotonic_ns(), marks.task(), flags));
        self.marks.push(marks);
    }

    /// See [`Merge::late`].
    fn late(&self) -> u64 {
        self.merge.late()
    }

    fn exceeded(&self) -> Option<Exceeded> {
        self.flight.as_ref()?.exceeded()
    }

    fn stop(&mut self) -> Result<(), SourceError> {
        if !self.stopped {
            self.recursion_misses = recursion_misses::recursion_misses(&self.links);
        }
        // Detaches the programs.
        self.links.clear();
        if self.flight.is_some() && !self.stopped {
            // One may still be in the middle of a record: they run for microseconds.
            std::thread::sleep(SETTLING);
        }
        self.stopped = true;
        Ok(())
    }

    fn closing_notes(&self) -> Vec<String> {
        let late = match self.late() {
            0 => None,
            late => Some(format!(
                "{late} events came after their place in time; theirs was moved forward"
            )),
        };
        let flight = self.flight.as_ref().map(|flight| self.flight_note(flight));
        let recursion_misses = recursion_misses::note(&self.recursion_misses);
        let symbols = self.translator.symbols().note();
        symbols.into_iter().chain(late).chain(recursion_misses).chain(flight).collect()
    }
}

impl Source for Live {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        let stopped = self.stopped;
        if self.flight.is_some() {
            if !stopped {
                return Ok(true);
            }
            if self.landed.is_none() {
                self.landed = Some(self.land(batch));
            }
            let landed = self.landed.get_or_insert_default();
            batch.events.extend(landed.events.by_ref().take(LANDED_BATCH));
            return Ok(landed.events.len() > 0);
        }
        let now_ns = monotonic_ns();
        let mut complete = true;
        for marks in &mut self.marks {
            complete &= !self.merge.push_marks(marks);
        }
        let (translator, merge) = (&mut self.translator, &mut self.merge);
        complete &= self.rings.drain(|record, definition| {
            translator.streamed(record, definition, batch, |event| merge.push(event));
        });
        let until_ns = match (complete, stopped) {
            (_, true) => u64::MAX,
            (true, false) => now_ns.saturating_sub(CLAIMED_LATE_NS),
            // Something is on its way whose time may be anything since the last complete round.
            (false, false) => self.merge.released_ns(),
        };
        if stopped {
            for loss in self.rings.last_losses(now_ns) {
                self.merge.push(loss);
            }
        }
        self.merge.release(until_ns, &mut batch.events);
        Ok(!stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rings_size_is_rounded_down_within_bounds() {
        assert_eq!(slots_shift(32 << 10).unwrap(), *SLOTS_SHIFTS.start());
        assert_eq!(slots_shift((4 << 20) + 12345).unwrap(), SLOTS_SHIFT);
        assert_eq!(slots_shift(128 << 20).unwrap(), *SLOTS_SHIFTS.end());
        for bytes in [0, 31, (32 << 10) - 1, 256 << 20, u64::MAX] {
            assert!(
                matches!(slots_shift(bytes), Err(Error::BufferSize { bytes: b }) if b == bytes)
            );
        }
    }
}
