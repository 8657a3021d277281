//! The source: start, read in rounds, stop.

use crate::clocks::{Clocks, now_ns};
use crate::decode::{Decoder, wanted};
use crate::format::{Endian, EventFormat};
use crate::instance::Instance;
use crate::merge::{Item, Merge};
use crate::page::PageLayout;
use crate::root::Root;
use crate::symbols::Symbols;
use crate::{Error, procfs_tasks};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem::take;
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, Event, MarkReader, Source, SourceError};

/// What to record.
pub struct Options {
    /// Threads of the recorder itself: their time is the cost of looking.
    pub own: Vec<u32>,
    /// Threads that the recording is made for.
    pub watched: Vec<u32>,
    /// Threads of this process that mark their own return to user space.
    pub marks: Vec<MarkReader>,
    /// The kernel's buffer, in bytes for each CPU. A busy CPU writes a few MB a second.
    pub buffer_bytes_per_cpu: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            own: Vec::new(),
            watched: Vec::new(),
            marks: Vec::new(),
            buffer_bytes_per_cpu: 8 << 20,
        }
    }
}

/// What a recording has and has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Events that this kernel does not have, as `group/event`, or `group` where none of it is
    /// there.
    pub missing: Vec<String>,
    /// The kernel's buffer, in bytes for each CPU.
    pub buffer_bytes_per_cpu: u64,
    /// Events that became known only after the stream had passed their time. They are told as
    /// losses.
    pub late: u64,
    /// Records that could not be read.
    pub undecoded: u64,
    /// What else the reader of the recording should know, a sentence each.
    pub notes: Vec<String>,
}

/// Events of the running kernel through tracefs.
///
/// [`Source::next_batch`] never waits. Call it until it yields nothing, then again after some 50 ms:
/// more often costs the system more, more seldom and the kernel's buffer may overflow.
pub struct Tracefs {
    // Before the instance, which the kernel keeps as long as these are open.
    pipes: Vec<File>,
    merge: Merge,
    decoder: Decoder,
    marks: Vec<MarkLane>,
    marks_scratch: Vec<Event>,
    /// Events at the start that came from procfs.
    first: Batch,
    start_ns: u64,
    watermark_ns: u64,
    /// When it was told to stop.
    stopped_ns: Option<u64>,
    info: Info,
    instance: Instance,
}

struct MarkLane {
    reader: MarkReader,
    complete_ns: u64,
}

/// The most events in a batch, but for the first one, which has all tasks.
const BATCH_EVENTS: usize = 8192;

/// An event's time is taken before it can be read: another CPU may still be writing it, and a
/// guest's CPU may be stopped in the middle of that. What is younger than this waits for the next
/// round. (With 2 ms an event came late once in a few recordings on a busy guest; with 20 ms none.)
const SETTLE_NS: u64 = 20_000_000;

/// How long the stream waits for a thread that was stopped in the middle of marking. Its mark may
/// come after that, and is late then.
const MARK_PATIENCE_NS: u64 = 1_000_000_000;

impl Tracefs {
    /// Makes a trace instance of its own and begins to record.
    ///
    /// # Errors
    /// Where tracefs cannot be had, an instance not be made, or the scheduler's events are missing.
    pub fn start(options: Options) -> Result<Self, Error> {
        let instance = Instance::make(Root::open()?)?;
        let mut info = Info {
            buffer_bytes_per_cpu: instance.set_buffer(options.buffer_bytes_per_cpu)?,
            ..Info::default()
        };
        let layout =
            PageLayout::parse(&instance.root().read("events/header_page")?, Endian::NATIVE)?;
        let symbols = Symbols::of_this_kernel();
        if symbols.is_empty() {
            info.notes.push(
                "functions are shown as addresses: /proc/kallsyms cannot be read or hides them \
                 (run as root, or set kernel.kptr_restrict to 0)"
                    .to_owned(),
            );
        }
        let mut decoder = Decoder::new(Endian::NATIVE, Clocks::now(), symbols);
        info.missing = enable(&instance, &mut decoder)?;

        let (cpus, pipes): (Vec<_>, Vec<_>) =
            instance.pipes()?.into_iter().map(|(cpu, pipe)| (CpuId(cpu), pipe)).unzip();
        let start_ns = now_ns();
        instance.set_tracing(true)?;
        // Read while tracing already, so that no thread falls between; told as of the start.
        let mut first = Batch::default();
        introduce_tasks(start_ns, &options, &mut decoder, &mut first);
        let marks: Vec<_> = options
            .marks
            .into_iter()
            .map(|reader| MarkLane { reader, complete_ns: start_ns })
            .collect();
        Ok(Self {
            pipes,
            merge: Merge::new(layout, &cpus, marks.len(), start_ns),
            decoder,
            marks,
            marks_scratch: Vec::new(),
            first,
            start_ns,
            watermark_ns: start_ns,
            stopped_ns: None,
            info,
            instance,
        })
    }

    /// Ends the recording. What was recorded still comes from [`Source::next_batch`], and then the
    /// end.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.instance.set_tracing(false)?;
        self.stopped_ns.get_or_insert_with(now_ns);
        Ok(())
    }

    /// A thread of this process counts as one that does the recording. To be called before the first
    /// batch is read.
    pub fn mark_own(&mut self, thread: u32) {
        let info =
            TaskInfo { process: tardy_model::TaskId(std::process::id()), flags: TaskInfo::OWN };
        let kind = tardy_model::Kind::TaskInfo(info);
        let task = tardy_model::TaskId(thread);
        self.first.events.push(Event::new(self.start_ns, CpuId(0), task, kind));
    }

    /// What this recording has and has not, up to now.
    pub fn info(&self) -> Info {
        let mut info = self.info.clone();
        info.late = self.merge.late();
        info.undecoded = self.decoder.undecoded();
        info.notes.extend(self.decoder.silent_idle_cpus().into_iter().map(|cpu| {
            format!(
                "this kernel does not tell of switches from the idle task of CPU {cpu}, nor of its \
                 idle states: when a thread begins to run there out of idleness is not known"
            )
        }));
        info
    }

    /// Reads every CPU's buffer and every thread's marks to their present end, and moves the
    /// watermark to what is complete by that.
    fn round(&mut self) -> Result<(), Error> {
        let now_ns = now_ns();
        let mut complete_ns = now_ns.saturating_sub(SETTLE_NS);
        let mut is_all = self.stopped_ns.is_some();
        for lane in 0..self.pipes.len() {
            if let Some(until_ns) = self.read_pipe(lane)? {
                complete_ns = complete_ns.min(until_ns);
                is_all = false;
            }
        }
        for (at, lane) in self.marks.iter_mut().enumerate() {
            // Asked before the ring is emptied: a mark that is not pending is in the ring, or its
            // clock will be read later than `now_ns`.
            let is_pending = lane.reader.is_pending();
            let has_room = self.merge.marks_room(at) >= tardy_model::MARKS_MAX;
            if has_room {
                lane.reader.drain(&mut self.marks_scratch);
            }
            for mark in self.marks_scratch.drain(..) {
                self.merge.push_mark(at, mark, self.start_ns);
            }
            let patience_ns = now_ns.saturating_sub(MARK_PATIENCE_NS);
            if has_room && !is_pending {
                lane.complete_ns = now_ns;
            } else {
                lane.complete_ns = lane.complete_ns.max(patience_ns);
                is_all &= self.stopped_ns.is_some_and(|stopped_ns| stopped_ns < patience_ns);
            }
            complete_ns = complete_ns.min(lane.complete_ns);
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
                Item::Event(event) => batch.events.push(event),
            })
        {}
    }
}

impl Source for Tracefs {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if !self.first.is_empty() {
            *batch = take(&mut self.first);
            return Ok(true);
        }
        self.release(batch);
        if !batch.is_empty() {
            return Ok(true);
        }
        self.round()?;
        self.release(batch);
        let has_ended = self.watermark_ns == u64::MAX && self.merge.is_empty();
        Ok(!(has_ended && batch.is_empty()))
    }
}

/// Enables every event that the decoder can read. Returns those that are not there.
fn enable(instance: &Instance, decoder: &mut Decoder) -> Result<Vec<String>, Error> {
    let root = instance.root();
    let mut missing = BTreeSet::new();
    let mut found = 0;
    for (group, event) in wanted() {
        if !root.has(format!("events/{group}")) {
            missing.insert(group.to_owned());
            continue;
        }
        let path = format!("events/{group}/{event}/format");
        let is_there = root.has(&path)
            && EventFormat::parse(&root.read(&path)?)
                .is_ok_and(|format| decoder.learn(group, &format))
            && instance.enable(group, event)?;
        if is_there {
            found += usize::from(matches!(event, "sched_switch" | "sched_waking"));
        } else {
            missing.insert(format!("{group}/{event}"));
        }
    }
    if found < 2 { Err(Error::NoEvents) } else { Ok(missing.into_iter().collect()) }
}

/// Tells of every thread that runs already, with what the caller says of some.
fn introduce_tasks(start_ns: u64, options: &Options, decoder: &mut Decoder, first: &mut Batch) {
    let own: BTreeSet<u32> = options.own.iter().copied().collect();
    let watched: BTreeSet<u32> = options.watched.iter().copied().collect();
    let marks: BTreeSet<u32> = options.marks.iter().map(|reader| reader.task().0).collect();
    for mut known in procfs_tasks::read() {
        let flags = [
            (&own, TaskInfo::OWN),
            (&watched, TaskInfo::WATCHED),
            (&marks, TaskInfo::WATCHED | TaskInfo::MARKS),
        ];
        for (tasks, flag) in flags {
            if tasks.contains(&known.task.0)
                || tasks.contains(&known.info.process.0) && flag == TaskInfo::WATCHED
            {
                known.info.flags |= flag;
            }
        }
        decoder.introduce(start_ns, &known, first);
    }
}
