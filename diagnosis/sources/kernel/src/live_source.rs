//! What whoever records the running kernel asks of a source, and what every such source can do.

use tardy_model::{MarkReader, Source, SourceError};

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that do the recording, by thread id: their time is the cost of looking.
    pub own_threads: Vec<u32>,
    /// Processes to watch, by process id, with all their threads.
    pub watched_processes: Vec<u32>,
    /// Watch the processes that this one starts from now on, and those that they start.
    pub watch_children: bool,
    /// The kernel's buffer, in bytes for each CPU; `None` for the source's own choice. A source may
    /// round it, and says what it made of it in [`LiveSource::bytes_per_cpu`].
    pub buffer_bytes_per_cpu: Option<u64>,
    /// Take kernel stacks where something is later than this, in nanoseconds; `None` for none. A source that cannot
    /// says so.
    pub stacks_over_ns: Option<u64>,
}

/// A source of the running kernel's events, while it runs.
///
/// To be implemented by each way to get at them. A source begins to record when it is made; from
/// then on [`Source::next_batch`] yields what there is, and never waits: call it until it yields
/// nothing, then again after some milliseconds. Between two looks no more may happen than the
/// kernel's buffer holds.
pub trait LiveSource: Source {
    /// The name under which recordings keep it: `live-…`.
    fn name(&self) -> &'static str;

    /// Events that this kernel does not have, as it calls them.
    fn missing(&self) -> &[String];

    /// The kernel's buffer, in bytes for each CPU.
    fn bytes_per_cpu(&self) -> u64;

    /// From now on this thread of this process counts as one that does the recording.
    fn mark_own(&mut self, thread: u32);

    /// From now on a thread of this process is watched by the marks it makes itself.
    fn follow(&mut self, marks: MarkReader);

    /// Events that came when the stream had passed their time.
    fn late(&self) -> u64;

    /// Ends the recording. What was recorded still comes with the next batches, and then the end.
    ///
    /// # Errors
    /// Where the kernel refuses.
    fn stop(&mut self) -> Result<(), SourceError>;

    /// What the reader of the recording should know and is not known before its end, a sentence
    /// each.
    fn closing_notes(&self) -> Vec<String>;
}
