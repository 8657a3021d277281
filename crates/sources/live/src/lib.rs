//! Events of the running kernel by eBPF: CO-RE programs on BTF tracepoints, a ring per CPU in memory
//! that this process maps.
//!
//! [`Live::start`] loads and attaches; [`Live`] is a [`tardy_model::Source`] that never blocks: each
//! batch is what the rings hold now. [`Live::stop`] detaches, and the batches that follow are the
//! rest. What the kernel does not have is skipped and listed in [`Live::missing`].
//!
//! The only crate here with `unsafe`: in `ring.rs`, for the memory shared with the kernel. The BPF
//! side is in `bpf/`; start reading there at `ring.h`.

mod attach;
mod error;
mod ring;
mod translate;
mod warnings;

pub use error::Error;

use ring::Rings;
use std::collections::HashMap;
use tardy_kernel::{Merge, Roles, monotonic_ns, tasks_now};
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, Event, Kind, MarkReader, Source, SourceError, TaskId};
use translate::Translator;

/// What to record.
pub struct Options {
    /// Slots of 32 bytes per CPU, as a power of two. Bounds: 10 to 22 (32 KB to 128 MB).
    pub slots_shift: u32,
    /// Threads of tardy's own that do the recording, by thread id.
    pub own_threads: Vec<u32>,
    /// Processes to watch with their system calls, by process id.
    pub watched_processes: Vec<u32>,
    /// Watch the processes that this one starts from now on.
    pub watch_children: bool,
}

impl Options {
    /// The least and the most of `slots_shift`.
    pub const SLOTS_SHIFT: std::ops::RangeInclusive<u32> = 10..=22;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // 4 MB: a quarter of a second at 500,000 events/s on one CPU.
            slots_shift: 17,
            own_threads: Vec::new(),
            watched_processes: Vec::new(),
            watch_children: false,
        }
    }
}

/// The running recorder.
pub struct Live {
    rings: Rings,
    /// Dropping these detaches the programs.
    links: Vec<libbpf_rs::Link>,
    translator: Translator,
    merge: Merge,
    marks: Vec<MarkReader>,
    missing: Vec<String>,
    stopped: bool,
    bytes_per_cpu: u64,
}

impl Live {
    /// Loads the programs, attaches them, and reads who is there already.
    ///
    /// # Errors
    /// Where the kernel has no BTF or does not let this process load programs: the error says what
    /// would bring it.
    pub fn start(options: &Options) -> Result<Self, Error> {
        if !Options::SLOTS_SHIFT.contains(&options.slots_shift) {
            return Err(Error::BufferSize { slots_shift: options.slots_shift });
        }
        let start_ns = monotonic_ns();
        let attached = attach::attach(options)?;
        let mut roles = Roles::default();
        for thread in &options.own_threads {
            roles.threads.insert(*thread, TaskInfo::OWN);
        }
        let watched = TaskInfo::WATCHED | TaskInfo::SYSCALLS;
        roles.processes = options
            .watched_processes
            .iter()
            .map(|process| (*process, watched))
            .collect::<HashMap<_, _>>();

        let mut merge = Merge::default();
        for event in tasks_now(start_ns, &roles) {
            merge.push(event);
        }
        Ok(Self {
            bytes_per_cpu: attached.rings.bytes_per_cpu(),
            rings: attached.rings,
            links: attached.links,
            translator: Translator::new(),
            merge,
            marks: Vec::new(),
            missing: attached.missing,
            stopped: false,
        })
    }

    /// Tracepoints that this kernel does not have.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Bytes of each CPU's ring.
    pub fn bytes_per_cpu(&self) -> u64 {
        self.bytes_per_cpu
    }

    /// Events that the kernel side has dropped so far, on all CPUs.
    pub fn lost(&self) -> u64 {
        self.rings.lost()
    }

    /// Events whose place in time had passed when they came; see [`Merge::late`].
    pub fn late(&self) -> u64 {
        self.merge.late()
    }

    /// From now on this thread of this process counts as one that does the recording.
    pub fn mark_own(&mut self, thread: u32) {
        self.inform(TaskId(thread), TaskInfo::OWN);
    }

    /// From now on a thread of this process is watched by the marks it makes itself.
    pub fn follow(&mut self, marks: MarkReader) {
        self.inform(marks.task(), TaskInfo::WATCHED | TaskInfo::MARKS);
        self.marks.push(marks);
    }

    fn inform(&mut self, thread: TaskId, flags: u8) {
        let info = TaskInfo { process: TaskId(std::process::id()), flags };
        self.merge.push(Event::new(monotonic_ns(), CpuId(0), thread, Kind::TaskInfo(info)));
    }

    /// Detaches the programs. What the rings still hold comes with the next batches.
    pub fn stop(&mut self) {
        self.links.clear();
        self.stopped = true;
    }
}

impl Source for Live {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        let stopped = self.stopped;
        let now_ns = monotonic_ns();
        let mut complete = true;
        for marks in &mut self.marks {
            complete &= !self.merge.push_marks(marks);
        }
        let (translator, merge) = (&mut self.translator, &mut self.merge);
        complete &= self.rings.drain(|record, definition| {
            merge.push(translator.event(record, definition, batch));
        });
        let until_ns = match (complete, stopped) {
            (_, true) => u64::MAX,
            (true, false) => now_ns,
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
