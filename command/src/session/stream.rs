//! A live source whose events go to a consumer in this process instead of to disk.

use super::{LOOK_EVERY, raise_own_niceness, source};
use crate::failure::Failure;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tardy_kernel::{LiveSource, Options};
use tardy_model::Batch;

/// What takes the events.
pub(crate) trait Consumer: Send + 'static {
    /// Takes a batch, in time order; definitions travel ahead of their use.
    fn batch(&mut self, batch: &Batch);

    /// Whether the source should begin anew, because what it has defined so far is enough.
    fn has_enough(&self) -> bool;

    /// The source begins anew: ids that it defined mean nothing any more, and it tells once more who is
    /// there. Events in between are missing.
    fn begin_anew(&mut self);
}

/// How to record.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamRequest {
    /// Bytes of the kernel's buffer per CPU; `None` for the source's own choice.
    pub(crate) buffer_bytes_per_cpu: Option<u64>,
    /// Only this source; `None` for the best.
    pub(crate) only: Option<String>,
}

/// A stream that runs.
pub(crate) struct Stream {
    thread: JoinHandle<Result<(), Failure>>,
    stop: Arc<AtomicBool>,
    /// Where the events come from.
    pub(crate) source: &'static str,
    /// What was not to be had, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// What the thread says once it has begun: the source's name and what was not to be had.
type Begun = Result<(&'static str, Vec<String>), Failure>;

impl Stream {
    /// Begins. Returns once events come.
    pub(crate) fn begin(request: StreamRequest, consumer: impl Consumer) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (begun_in, begun) = mpsc::sync_channel(1);
        let stop_seen = Arc::clone(&stop);
        let caller = own_thread();
        let thread = std::thread::Builder::new()
            .name("tardy-stream".to_owned())
            .spawn(move || follow(&request, caller, consumer, &begun_in, &stop_seen))
            .map_err(|error| Failure::new(format!("cannot start the stream's thread: {error}")))?;
        let died = || Failure::new("the stream's thread ended before it began");
        let (source, notes) = super::patient(&begun).map_err(|_| died())??;
        Ok(Self { thread, stop, source, notes })
    }

    /// Whether it has ended by itself: the kernel refuses to go on.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it.
    pub(crate) fn end(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| Failure::new("the stream's thread broke"))?
    }
}

fn own_thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

fn follow(
    request: &StreamRequest,
    caller: u32,
    mut consumer: impl Consumer,
    begun: &mpsc::SyncSender<Begun>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    raise_own_niceness();
    let options = Options {
        own_threads: vec![own_thread(), caller],
        buffer_bytes_per_cpu: request.buffer_bytes_per_cpu,
        ..Options::default()
    };
    let mut source = match source::start(&options, request.only.as_deref()) {
        Ok((source, notes)) => {
            crate::confine::stream();
            // The other end waits for exactly this.
            let _ = begun.send(Ok((source.name(), notes)));
            source
        }
        Err(failure) => {
            let message = failure.to_string();
            let _ = begun.send(Err(failure));
            return Err(Failure::new(message));
        }
    };
    let mut batch = Batch::default();
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        let enough = consumer.has_enough();
        if stopping || enough {
            source.stop()?;
            drain(&mut *source, &mut batch, &mut consumer)?;
        }
        if stopping {
            return Ok(());
        }
        if enough {
            // Before the next one takes memory of the same size.
            drop(source);
            source = source::start(&options, request.only.as_deref())?.0;
            consumer.begin_anew();
        }
        source.next_batch(&mut batch)?;
        consumer.batch(&batch);
        batch.clear();
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What a source that was stopped still has.
fn drain(
    source: &mut dyn LiveSource,
    batch: &mut Batch,
    consumer: &mut impl Consumer,
) -> Result<(), Failure> {
    loop {
        let more = source.next_batch(batch)?;
        consumer.batch(batch);
        batch.clear();
        if !more {
            return Ok(());
        }
    }
}
