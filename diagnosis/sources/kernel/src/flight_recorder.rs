//! What a flight recorder can do: keep the newest events in the kernel's memory, say who ran too late, and
//! hand out what it holds while it goes on.

use crate::Options;
use tardy_model::{Batch, CpuId, SourceError, TaskId};

/// What to record, and who is too late.
#[derive(Clone, Debug, Default)]
pub struct FlightOptions {
    /// As of a stream.
    pub source: Options,
    /// Every thread of user space with a real-time priority is watched too.
    pub watch_realtime: bool,
    /// A watched thread that runs later than this is told of.
    pub over_ns: u64,
}

/// A watched thread that ran later than the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Who.
    pub task: TaskId,
    /// Where it ran.
    pub cpu: CpuId,
    /// From when its lateness counts: its timer's hard expiry, or its waking.
    pub due_ns: u64,
    /// When the scheduler switched to it.
    pub ran_ns: u64,
}

impl Exceeded {
    /// How late it was.
    pub const fn late_ns(&self) -> u64 {
        self.ran_ns.saturating_sub(self.due_ns)
    }
}

/// What a flight recorder held at one time: a stream of its own, with definitions of its own.
#[derive(Debug, Default)]
pub struct Held {
    /// In order of time; who is there comes first.
    pub batches: Vec<Batch>,
    /// Nothing of any CPU is missing from here on, as far as the recorder knows.
    pub from_ns: u64,
    /// Up to here.
    pub until_ns: u64,
}

/// A flight recorder, while it runs. It begins when it is made, and ends when it is dropped.
pub trait FlightRecorder {
    /// The name under which recordings keep it: `live-…`.
    fn name(&self) -> &'static str;

    /// Events that this kernel does not have or that are left out, as the kernel calls them.
    fn missing(&self) -> &[String];

    /// The kernel's buffer, in bytes for each CPU.
    fn bytes_per_cpu(&self) -> u64;

    /// From now on this process is watched too, with all threads that it has now or starts later.
    ///
    /// # Errors
    /// Where the kernel refuses.
    fn watch_process(&mut self, process: u32) -> Result<(), SourceError>;

    /// From now on this thread is watched too, until it ends.
    fn watch_thread(&mut self, thread: u32);

    /// From now on nobody is told of who is not later than this; never less than the bound it began with.
    fn set_bar(&mut self, ns: u64);

    /// The first who exceeded the bar since [`FlightRecorder::hold`] was called last, once somebody has.
    fn exceeded(&self) -> Option<Exceeded>;

    /// How often anybody exceeded the bound that it began with, whatever the bar.
    fn over_count(&self) -> u64;

    /// Copies what it holds, while it goes on. Takes some 10 ms, and for each event as long as reading it.
    ///
    /// # Errors
    /// Where the kernel refuses.
    fn hold(&mut self) -> Result<Held, SourceError>;

    /// What the reader of what it held should know, a sentence each.
    fn notes(&self) -> Vec<String>;
}
