//! Events of the running kernel by eBPF: CO-RE programs on BTF tracepoints, a ring per CPU in memory
//! that this process maps.
//!
//! [`Live::start`] loads and attaches; [`Live`] is a [`LiveSource`] that never blocks: each batch is
//! what the rings hold now. [`LiveSource::stop`] detaches, and the batches that follow are the rest.
//! What the kernel does not have is skipped and listed in [`LiveSource::missing`].
//!
//! [`Flight`] is a flight recorder: programs of its own (`bpf/hooks/flight.h`) overwrite the oldest, and
//! nothing is read before somebody asks for a copy.
//!
//! The only crate here with `unsafe`: in `ring.rs`, `stacks.rs` and `flight_shared.rs`, for the memory shared with the
//! kernel. The BPF side is in `bpf/`; start reading there at `ring.h`.

mod attach;
mod error;
mod flight;
mod flight_shared;
mod recursion_misses;
mod ring;
mod stacks;
mod state;
mod translate;
mod unhooked;
mod warnings;
mod window;

pub use error::Error;
pub use flight::Flight;
pub use tardy_kernel::{FlightOptions, FlightRecorder, LiveSource, Options};

use ring::Rings;
use stacks::Stacks;
use std::collections::BTreeMap;
use tardy_kernel::{
    IdleStates, Merge, Programs, Roles, buffer_bytes, monotonic_ns, own_thread_is, present_end,
    tasks_now, unrecorded_note,
};
use tardy_model::event::{
    IdleState, IpiSend, Nmi, Recorded, SectionBegin, SectionEnd, Stack, Stolen, TaskInfo, Woken,
};
use tardy_model::{Batch, CpuId, Event, MarkReader, NameId, Source, SourceError, TaskId};
use translate::Translator;

/// Slots of a CPU's ring where nobody asks for more or less, as a power of two: 4 MB, a quarter of a
/// second at 500,000 events/s on one CPU.
const SLOTS_SHIFT: u32 = 17;

/// The least and the most of it: 32 KB and 128 MB.
const SLOTS_SHIFTS: std::ops::RangeInclusive<u32> = 10..=22;

const SLOT_BYTES: u64 = tardy_model::RECORD_BYTES as u64;

/// The most that all CPUs' rings take together, whatever is asked for.
const RINGS_BYTES_MAX: u64 = 4 << 30;

/// How long after its time a record may be claimed: an expiry's may be the loop's reading of the clock,
/// which takes a few hundred instructions to come to its callback.
const CLAIMED_LATE_NS: u64 = 20_000;

/// The running recorder.
pub struct Live {
    rings: Rings,
    stacks: Option<Stacks>,
    programs: Programs,
    /// Dropping these detaches the programs.
    links: Vec<libbpf_rs::Link>,
    translator: Translator,
    merge: Merge,
    /// Names of what was told in the beginning, which have not been given out.
    first: Batch,
    marks: Vec<MarkReader>,
    missing: Vec<String>,
    stopped: bool,
    /// Runs of programs that the kernel has left out; known once it is stopped.
    recursion_misses: BTreeMap<String, u64>,
}

impl Live {
    /// Loads the programs, attaches them, and reads who is there already.
    ///
    /// The rings' size is rounded down to a power of two.
    ///
    /// # Errors
    /// Where the kernel has no BTF or does not let this process load programs: the error says what
    /// would bring it.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let cpus = present_end();
        let slots_shift = slots_shift_of(options, cpus)?;
        // Before anything is recorded: reading the symbols takes longer than a small ring does.
        let mut translator = Translator::new();
        let start_ns = monotonic_ns();
        let attached = attach::attach(options, None, cpus, slots_shift)?;
        translator.timer_interrupts_untold(attached.timer_interrupts_untold);
        let roles = roles(options, false);
        let mut merge = Merge::default();
        if attached.missing.is_empty() {
            let recorded = recorded(attached.counts_stolen, attached.stacks.is_some()).into();
            merge.push(Event::new(start_ns, CpuId(0), TaskId::IDLE, recorded));
        }
        let there = idle_states(start_ns).into_iter().chain(tasks_now(start_ns, &roles));
        there.for_each(|event| merge.push(event));
        let mut first = Batch::default();
        translator.groups(start_ns, &mut first);
        first.events.drain(..).for_each(|event| merge.push(event));
        Ok(Self {
            first,
            rings: attached.rings,
            stacks: attached.stacks,
            programs: Programs::default(),
            links: attached.links,
            translator,
            merge,
            marks: Vec::new(),
            missing: attached.missing,
            stopped: false,
            recursion_misses: BTreeMap::new(),
        })
    }

    /// Events that the kernel side has dropped so far, on all CPUs.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }
}

/// What is known of threads beforehand.
fn roles(options: &Options, flies: bool) -> Roles {
    let mut roles = Roles::default();
    roles.threads.extend(options.own_threads.iter().map(|thread| (*thread, TaskInfo::OWN)));
    let watched = attach::watched_info(flies);
    roles.processes.extend(options.watched_processes.iter().map(|process| (*process, watched)));
    roles
}

/// What idle states there are.
fn idle_states(time_ns: u64) -> Vec<Event> {
    let states = IdleStates::read();
    let told = states.all().map(|(state, _, exit_latency_ns)| {
        let state = IdleState { state, exit_latency_ns, name: NameId::NONE };
        Event::new(time_ns, CpuId(0), TaskId::IDLE, state.into())
    });
    told.collect()
}

/// That of each CPU's ring. What is asked for is taken, within what all CPUs may have together.
fn slots_shift_of(options: &Options, cpus: u16) -> Result<u32, Error> {
    let Some(bytes) = options.buffer_bytes_per_cpu else {
        return slots_shift(buffer_bytes(SLOT_BYTES << SLOTS_SHIFT, cpus));
    };
    let all = bytes.saturating_mul(cpus.into());
    if all > RINGS_BYTES_MAX {
        return Err(Error::BuffersSize { bytes, cpus });
    }
    slots_shift(bytes)
}

fn slots_shift(bytes: u64) -> Result<u32, Error> {
    let slots = bytes / SLOT_BYTES;
    slots
        .checked_ilog2()
        .filter(|shift| SLOTS_SHIFTS.contains(shift))
        .ok_or(Error::BufferSize { bytes })
}

/// What is told where every hook could be attached: all but what has none, and what migrations tell.
fn recorded(counts_stolen: bool, takes_stacks: bool) -> Recorded {
    let unhooked = [Woken::TAG, Nmi::TAG, IpiSend::TAG, SectionBegin::TAG, SectionEnd::TAG];
    let stolen = (!counts_stolen).then_some(Stolen::TAG);
    let stacks = (!takes_stacks).then_some(Stack::TAG);
    let unhooked =
        unhooked.iter().chain(&stolen).chain(&stacks).fold(0, |kinds, tag| kinds | 1 << tag);
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

    fn stop(&mut self) -> Result<(), SourceError> {
        if !self.stopped {
            self.recursion_misses = recursion_misses::recursion_misses(&self.links);
        }
        // Detaches the programs.
        self.links.clear();
        self.stopped = true;
        Ok(())
    }

    fn closing_notes(&self) -> Vec<String> {
        let late = match self.late() {
            0 => None,
            late => Some(format!(
                "{late} events came too late for their place in time, and got a later time"
            )),
        };
        let recursion_misses = recursion_misses::note(&self.recursion_misses);
        let symbols = self.translator.symbols().note();
        let unrecorded = unrecorded_note(self.rings.cpus());
        let stacks = self.stacks.as_ref().and_then(|stacks| stacks::note(stacks.left_out()));
        symbols
            .into_iter()
            .chain(unrecorded)
            .chain(late)
            .chain(recursion_misses)
            .chain(stacks)
            .chain(self.programs.note())
            .collect()
    }
}

impl Source for Live {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        let stopped = self.stopped;
        let now_ns = monotonic_ns();
        batch.names.append(&mut self.first.names);
        let mut complete = true;
        for marks in &mut self.marks {
            complete &= !self.merge.push_marks(marks);
        }
        let (translator, merge) = (&mut self.translator, &mut self.merge);
        let programs = &mut self.programs;
        // Before the rings: of one time a stack comes before the switch that it is of. It is claimed after that time,
        // as an expiry is.
        if let Some(stacks) = &mut self.stacks {
            // All first, as naming them may take a while.
            let mut taken = Vec::new();
            complete &= stacks.drain(|raw| taken.push(raw));
            for raw in &taken {
                if let Some(stack) = translator.stack(raw, programs, batch) {
                    merge.push(stack);
                }
            }
            if let Some(thread) = programs.begun() {
                merge.push(own_thread_is(monotonic_ns(), TaskId(thread), TaskInfo::OWN));
            }
        }
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
        let asked = |bytes| Options { buffer_bytes_per_cpu: bytes, ..Options::default() };
        assert_eq!(slots_shift_of(&asked(None), 2).unwrap(), SLOTS_SHIFT);
        assert_eq!(slots_shift_of(&asked(None), 256).unwrap(), SLOTS_SHIFT - 1);
        assert_eq!(slots_shift_of(&asked(Some(8 << 20)), 256).unwrap(), SLOTS_SHIFT + 1);
        let error = slots_shift_of(&asked(Some(128 << 20)), 256).unwrap_err().to_string();
        assert!(error.contains("256 CPUs"), "{error}");
        for bytes in [0, 31, (32 << 10) - 1, 256 << 20, u64::MAX] {
            assert!(
                matches!(slots_shift(bytes), Err(Error::BufferSize { bytes: b }) if b == bytes)
            );
        }
    }
}
