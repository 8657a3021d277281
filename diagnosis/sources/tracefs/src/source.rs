//! The source: start, read in rounds, stop.

use crate::Error;
use crate::instance::Instance;
use crate::merge::{Item, Merge};
use crate::root::Root;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Read};
use tardy_ftrace::decode::{Decoder, POLICY_GROUP, recorded, wanted};
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_ftrace::page::PageLayout;
use tardy_kernel::{
    Abi, Clocks, CpuGroups, IdleStates, LiveSource, Options, Roles, Symbols, buffer_bytes,
    monotonic_ns, online_end, own_thread_is, tasks_now, tick_ns,
};
use tardy_model::event::{ClockSet, IdleState, Loss, Mark, Recorded, TaskInfo};
use tardy_model::{Batch, CpuId, Event, MarkReader, Source, SourceError, TaskId};

/// `ENODEV`, which has no kind of its own.
const NO_SUCH_DEVICE: i32 = 19;

/// The kernel's buffer per CPU where nobody asks for more or less. A busy CPU writes a few MB a
/// second.
const BUFFER_BYTES_PER_CPU: u64 = 8 << 20;

/// Events of the running kernel through tracefs.
///
/// However often it is asked, it looks into the kernel's buffer at most every 50 ms, or more often
/// where the buffer is small: a look copies what the last page holds with interrupts off (33 µs were
/// seen on a machine of 500 MIPS), which is lateness that would not be there without the recorder.
pub struct Tracefs {
    // Before the instance, which the kernel keeps as long as these are open.
    pipes: Vec<File>,
    merge: Merge,
    decoder: Decoder,
    clocks: Clocks,
    marks: Vec<MarkLane>,
    marks_scratch: Vec<Event>,
    /// The lane of what this process tells of tasks.
    told_lane: usize,
    watermark_ns: u64,
    /// When it last looked, and how long until it does again.
    looked_ns: u64,
    look_every_ns: u64,
    /// When it was told to stop.
    stopped_ns: Option<u64>,
    missing: Vec<String>,
    /// What is to be told before anything else.
    first: Batch,
    bytes_per_cpu: u64,
    instance: Instance,
}

struct MarkLane {
    reader: MarkReader,
    lane: usize,
    /// Since when it is followed: marks from before that are no part of the stream.
    from_ns: u64,
    complete_ns: u64,
}

/// The most events in a batch.
const BATCH_EVENTS: usize = 8192;

/// An event's time is taken before it can be read: another CPU may still be writing it, and a
/// guest's CPU may be stopped in the middle of that. What is younger than this waits for the next
/// round. (With 2 ms an event came late once in a few recordings on a busy guest; with 20 ms none.)
const SETTLE_NS: u64 = 20_000_000;

/// The longest time between two looks.
const LOOK_NS_MAX: u64 = 50_000_000;

/// What a CPU may write a second without loss, with the longest time between two looks or a shorter
/// one: some ten times what a busy one does.
const BYTES_PER_S_MAX: u64 = 100_000_000;

/// How long the stream waits for a thread that was stopped in the middle of marking. Its mark may
/// come after that, and is late then.
const MARK_PATIENCE_NS: u64 = 1_000_000_000;

impl Tracefs {
    /// Makes a trace instance of its own and begins to record.
    ///
    /// # Errors
    /// Where tracefs cannot be had, an instance not be made, or the scheduler's events are missing.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let instance = Instance::make(Root::open()?)?;
        // The kernel makes buffers for the CPUs that are online.
        let usual = buffer_bytes(BUFFER_BYTES_PER_CPU, online_end());
        let buffer = options.buffer_bytes_per_cpu.unwrap_or(usual);
        let bytes_per_cpu = instance.set_buffer(buffer)?;
        let layout =
            PageLayout::parse(&instance.root().read("events/header_page")?, Endian::NATIVE)?;
        let mut clocks = Clocks::read();
        let offsets = clocks.at(monotonic_ns());
        let symbols = Symbols::of_this_kernel();
        let mut decoder = Decoder::new(Endian::NATIVE, offsets, tick_ns(), symbols);
        // Before any call says it: a system may make no other call for long.
        decoder.set_abi(Abi::of_this_machine());
        decoder.set_idle_states(IdleStates::read());
        let (missing, recorded) = enable(&instance, &mut decoder)?;

        let (cpus, pipes): (Vec<_>, Vec<_>) =
            instance.pipes()?.into_iter().map(|(cpu, pipe)| (CpuId(cpu), pipe)).unzip();
        let start_ns = monotonic_ns();
        let mut merge = Merge::new(layout, &cpus, start_ns);
        let told_lane = merge.add_event_lane();
        let mut first = Batch::default();
        let recorded = Event::new(start_ns, CpuId(0), TaskId::IDLE, recorded.into());
        first.events.push(recorded);
        decoder.tell_idle_states(start_ns, &mut first);
        decoder.tell_groups(start_ns, &CpuGroups::read(), &mut first);
        instance.set_tracing(true)?;
        // Read while tracing already, so that no thread falls between; told as of the start.
        let tasks = tasks_now(start_ns, &roles(options));
        decoder.introduce(&tasks);
        let parent = options.watch_children.then(|| TaskId(std::process::id()));
        decoder.watch(options.watched_processes.iter().copied().map(TaskId), parent);
        for event in tasks {
            merge.push_event(told_lane, event);
        }
        Ok(Self {
            pipes,
            merge,
            decoder,
            clocks,
            marks: Vec::new(),
            marks_scratch: Vec::new(),
            told_lane,
            watermark_ns: start_ns,
            looked_ns: start_ns,
            look_every_ns: look_every_ns(bytes_per_cpu),
            stopped_ns: None,
            missing,
            first,
            bytes_per_cpu,
            instance,
        })
    }

    /// Records that could not be read.
    pub fn undecoded(&self) -> u64 {
        self.decoder.undecoded()
    }

    fn tell(&mut self, thread: TaskId, flags: u8) -> u64 {
        let now_ns = monotonic_ns();
        let event = own_thread_is(now_ns, thread, flags);
        self.decoder.introduce(&[event]);
        self.merge.push_event(self.told_lane, event);
        now_ns
    }

    /// Reads every CPU's buffer and every thread's marks to their present end, and moves the
    /// watermark to what is complete by that.
    fn round(&mut self) -> Result<(), Error> {
        let now_ns = monotonic_ns();
        self.decoder.set_clocks(self.clocks.at(now_ns));
        let mut complete_ns = now_ns.saturating_sub(SETTLE_NS);
        let mut is_all = self.stopped_ns.is_some();
        for lane in 0..self.pipes.len() {
            if let Some(until_ns) = self.read_pipe(lane)? {
                complete_ns = complete_ns.min(until_ns);
                is_all = false;
            }
        }
        for marks in &mut self.marks {
            // Asked before the ring is emptied: a mark that is not pending is in the ring, or its
            // clock will be read later than `now_ns`.
            let is_pending = marks.reader.is_pending();
            let has_room = self.merge.has_room_for_marks(marks.lane);
            if has_room {
                marks.reader.drain(&mut self.marks_scratch);
            }
            for mark in self.marks_scratch.drain(..) {
                if mark.time_ns >= marks.from_ns {
                    self.merge.push_event(marks.lane, mark);
                }
            }
            let patience_ns = now_ns.saturating_sub(MARK_PATIENCE_NS);
            if has_room && !is_pending {
                marks.complete_ns = now_ns;
            } else {
                marks.complete_ns = marks.complete_ns.max(patience_ns);
                is_all &= self.stopped_ns.is_some_and(|stopped_ns| stopped_ns < patience_ns);
            }
            complete_ns = complete_ns.min(marks.complete_ns);
        }
        self.watermark_ns = if is_all { u64::MAX } else { self.watermark_ns.max(complete_ns) };
        Ok(())
    }

    /// Reads a CPU's buffer until it is empty (`None`), or until its lane is full: then the lane is
    /// complete up to the time returned.
    fn read_pipe(&mut self, lane: usize) -> Result<Option<u64>, Error> {
        while self.merge.has_room(lane) {
            let mut page = self.merge.spare_page();
            match self.pipes[lane].read(&mut page) {
                Ok(bytes) if bytes > 0 => {
                    page.truncate(bytes);
                    self.merge.push_page(lane, page);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => self.merge.give_back(page),
                // The kernel has no buffer of a CPU that is offline; it may come.
                Err(error) if error.raw_os_error() == Some(NO_SUCH_DEVICE) => {
                    self.merge.give_back(page);
                    return Ok(None);
                }
                Err(error) if error.kind() != ErrorKind::WouldBlock => {
                    let path = self.instance.shown(format!("per_cpu/*/trace_pipe_raw [{lane}]"));
                    return Err(Error::file("read", path, error));
                }
                _ => {
                    self.merge.give_back(page);
                    return Ok(None);
                }
            }
        }
        Ok(Some(self.merge.filled_ns(lane)))
    }

    /// Moves what is complete into `batch`, as much as fits.
    fn release(&mut self, batch: &mut Batch) {
        let Self { merge, decoder, .. } = self;
        while batch.events.len() < BATCH_EVENTS
            && merge.release(self.watermark_ns, |item| match item {
                Item::Record(time_ns, cpu, record) => decoder.decode(time_ns, cpu, record, batch),
                Item::Event(event) => {
                    if event.tag() == Loss::TAG {
                        decoder.lost(event.cpu, event.time_ns);
                    }
                    batch.events.push(event);
                }
            })
        {}
    }
}

impl Source for Tracefs {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if !self.first.is_empty() {
            *batch = std::mem::take(&mut self.first);
            return Ok(true);
        }
        self.release(batch);
        if !batch.is_empty() {
            return Ok(true);
        }
        let now_ns = monotonic_ns();
        let is_time = now_ns.saturating_sub(self.looked_ns) >= self.look_every_ns;
        if is_time || self.stopped_ns.is_some() {
            self.looked_ns = now_ns;
            self.round()?;
            self.release(batch);
        }
        let has_ended = self.watermark_ns == u64::MAX && self.merge.is_empty();
        Ok(!(has_ended && batch.is_empty()))
    }
}

impl LiveSource for Tracefs {
    fn name(&self) -> &'static str {
        "live-tracefs"
    }

    /// As `group/event`, or `group` where none of it is there.
    fn missing(&self) -> &[String] {
        &self.missing
    }

    fn bytes_per_cpu(&self) -> u64 {
        self.bytes_per_cpu
    }

    fn mark_own(&mut self, thread: u32) {
        self.tell(TaskId(thread), TaskInfo::OWN);
    }

    fn follow(&mut self, reader: MarkReader) {
        let from_ns = self.tell(reader.task(), TaskInfo::WATCHED | TaskInfo::MARKS);
        let lane = self.merge.add_event_lane();
        self.marks.push(MarkLane { reader, lane, from_ns, complete_ns: from_ns });
    }

    /// They are told as losses.
    fn late(&self) -> u64 {
        self.merge.late()
    }

    fn stop(&mut self) -> Result<(), SourceError> {
        self.instance.set_tracing(false)?;
        self.stopped_ns.get_or_insert_with(monotonic_ns);
        Ok(())
    }

    fn closing_notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.decoder.symbols().note().into_iter().collect();
        notes.extend(self.decoder.silent_idle_cpus().into_iter().map(|cpu| {
            format!(
                "this kernel records neither switches from the idle task of CPU {cpu} nor its \
                 idle states: it is not known when a thread begins to run there after idling"
            )
        }));
        notes.extend(self.decoder.bounds_reached());
        if self.late() > 0 {
            notes.push(format!(
                "{} events came too late for their place in time; they count as lost",
                self.late()
            ));
        }
        if self.undecoded() > 0 {
            notes.push(format!("{} of the kernel's records could not be read", self.undecoded()));
        }
        notes
    }
}

/// Enables every event that the decoder can read. Returns those that are not there, and what the others
/// tell.
fn enable(instance: &Instance, decoder: &mut Decoder) -> Result<(Vec<String>, Recorded), Error> {
    let root = instance.root();
    let (mut missing, mut enabled) = (BTreeSet::new(), HashSet::new());
    let mut found = 0;
    for (group, event) in wanted() {
        if !root.has(format!("events/{group}")) {
            // A kernel without threads for timers lacks nothing.
            if group != POLICY_GROUP {
                missing.insert(group.to_owned());
            }
            continue;
        }
        let path = format!("events/{group}/{event}/format");
        let is_there = root.has(&path)
            && EventFormat::parse(&root.read(&path)?)
                .is_ok_and(|format| decoder.learn(group, &format))
            && instance.enable(group, event)?;
        if is_there {
            enabled.insert(event);
            found += usize::from(matches!(event, "sched_switch" | "sched_waking"));
        } else {
            missing.insert(format!("{group}/{event}"));
        }
    }
    if found < 2 {
        return Err(Error::NoEvents);
    }
    let mut kinds = recorded(|event| enabled.contains(event));
    // Threads mark their return themselves; the rest is told of this machine.
    for tag in [Mark::TAG, IdleState::TAG, ClockSet::TAG, Recorded::TAG] {
        kinds.kinds |= 1 << tag;
    }
    Ok((missing.into_iter().collect(), kinds))
}

/// How long a buffer of that size can be left alone.
fn look_every_ns(bytes_per_cpu: u64) -> u64 {
    bytes_per_cpu.saturating_mul(1_000_000_000 / BYTES_PER_S_MAX).min(LOOK_NS_MAX)
}

fn roles(options: &Options) -> Roles {
    let with = |ids: &[u32], flags: u8| -> HashMap<u32, u8> {
        ids.iter().map(|id| (*id, flags)).collect()
    };
    Roles {
        threads: with(&options.own_threads, TaskInfo::OWN),
        processes: with(&options.watched_processes, TaskInfo::WATCHED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_buffer_is_looked_at_more_often() {
        assert_eq!(look_every_ns(BUFFER_BYTES_PER_CPU), LOOK_NS_MAX);
        assert_eq!(look_every_ns(64 << 10), 655_360);
        assert_eq!(look_every_ns(u64::MAX), LOOK_NS_MAX);
    }
}
