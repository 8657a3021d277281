//! Writing a recording without making the caller wait.

use crate::manifest::{Manifest, ManifestEnd, Totals};
use crate::queue::{Offered, QueueIn, QueueOut, Taken, queue};
use crate::segment_writer::SegmentWriter;
use crate::write_error::WriteError;
use crate::{format, seal};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tardy_files::{Access, Folder};
use tardy_model::Batch;

/// How often the writing thread looks into the queue: half of the 100 ms that a crash may cost.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The name of the thread that writes.
const THREAD_NAME: &str = "tardy-write";

/// Writes a recording.
///
/// [`Writer::append`] only moves a batch into a queue, without a system call while the queue is
/// less than half full; a thread of its own named `tardy-write` takes batches out every 50 ms and
/// writes them. A batch that finds the queue full is dropped, and the recording itself tells of it:
/// a [`Loss`](tardy_model::event::Loss) per CPU, ahead of the next batch. Definitions and the events
/// that say who a task is are never dropped.
///
/// What survives:
/// - The process is killed: every event appended 100 ms before is in the kernel's page cache and so
///   in the recording (given that the system lets the writing thread run within 50 ms).
/// - The machine loses power: what the kernel had written back by itself, commonly all but the last
///   30 s; everything once [`Writer::seal`] has returned, which waits for stable storage.
/// - The disk is full, or fails: what was written before; [`Writer::append`] reports it.
///
/// Dropped without a seal, a writer still writes what was appended, and the recording counts as not
/// ended in good order.
pub struct Writer {
    folder: Folder,
    events: Folder,
    manifest: Manifest,
    compress: bool,
    running: Option<Running>,
    failure: Arc<OnceLock<WriteError>>,
    thread_id: u32,
}

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most events that wait in the queue, 32 bytes each.
    pub queue_events_max: usize,
    /// The most bytes of a segment file, between 1 MiB and a little and
    /// [`format::SEGMENT_BYTES_MAX`].
    pub segment_bytes_max: u64,
    /// Whether to compress when it is sealed: a quarter of the disk's room, for 60 ns per event at
    /// the seal and 25 instead of 4 ns per event at every reading (`examples/throughput.rs`).
    pub compress: bool,
}

/// A recording that was ended in good order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its folder.
    pub dir: PathBuf,
    /// What is in it.
    pub totals: Totals,
    /// Events that were dropped because the disk was too slow; [`Totals::lost`] has them too.
    pub lost_by_queue: u64,
}

struct Running {
    queue: QueueIn,
    thread: JoinHandle<SegmentWriter>,
}

impl Default for Options {
    /// 2 097 152 events in the queue (64 MiB, 2 s at a million events per second), segments of
    /// 64 MiB, not compressed: most recordings are read as often as they are written.
    fn default() -> Self {
        Self {
            queue_events_max: 2 << 20,
            segment_bytes_max: format::SEGMENT_BYTES_MAX,
            compress: false,
        }
    }
}

impl Writer {
    /// Begins a recording in the folder `dir`, which is made, or is empty.
    ///
    /// # Errors
    /// Where the folder is not empty, a file cannot be made in it, or there can be no thread.
    pub fn create(dir: &Path, manifest: Manifest) -> Result<Self, WriteError> {
        Self::create_with(dir, manifest, Options::default())
    }

    /// As [`Writer::create`], with other options.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create_with(
        dir: &Path,
        mut manifest: Manifest,
        options: Options,
    ) -> Result<Self, WriteError> {
        let folder = make_folder(dir)?;
        manifest.format_version = format::VERSION;
        manifest.sealed = false;
        manifest.totals = None;
        let cannot = |error| WriteError::create(dir, error);
        manifest.write(&folder).map_err(cannot)?;
        let events = folder
            .make_folder(EVENTS, Access::Private)
            .map_err(|error| WriteError::create(&dir.join(EVENTS), error))?;
        let held = events.another().map_err(cannot)?;
        let segments = SegmentWriter::create(held, options.segment_bytes_max)?;

        let (queue, out) = queue(options.queue_events_max);
        let failure = Arc::new(OnceLock::new());
        let failed = Arc::clone(&failure);
        let (id_in, id) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name(THREAD_NAME.to_owned())
            .spawn(move || {
                // The receiver waits for exactly this.
                let _ = id_in.send(rustix::thread::gettid().as_raw_nonzero().get() as u32);
                write_all(out, segments, &failed)
            })
            .map_err(|error| WriteError::Thread { source: Arc::new(error) })?;
        let thread_id = id.recv().map_err(|_| WriteError::Died)?;
        Ok(Self {
            folder,
            events,
            manifest,
            compress: options.compress,
            running: Some(Running { queue, thread }),
            failure,
            thread_id,
        })
    }

    /// Appends a batch, none of its events earlier than the last one's before, or drops it where
    /// the queue is full. Never waits. Returns an empty batch to fill next, with the memory of one
    /// that was written where there is one.
    ///
    /// # Errors
    /// Where writing has stopped: the disk is full or fails. Every later call says the same.
    pub fn append(&mut self, batch: Batch) -> Result<Batch, WriteError> {
        let running = self.running.as_mut().ok_or(WriteError::Died)?;
        if running.queue.offer(batch) == Offered::Closed {
            return Err(self.failure());
        }
        if running.queue.is_half_full() {
            running.thread.thread().unpark();
        }
        Ok(running.queue.empty_batch())
    }

    /// As [`Writer::append`], but waits for room in the queue: for importers, that read as fast as
    /// they can and have no kernel buffer to empty.
    ///
    /// # Errors
    /// As [`Writer::append`].
    pub fn append_waiting(&mut self, batch: Batch) -> Result<Batch, WriteError> {
        let running = self.running.as_mut().ok_or(WriteError::Died)?;
        while !running.queue.has_room(batch.events.len()) && !running.thread.is_finished() {
            running.thread.thread().unpark();
            thread::sleep(Duration::from_millis(1));
        }
        self.append(batch)
    }

    /// The writing thread's id, so that its own events can be told from the measured ones.
    pub fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Events dropped so far because the queue was full.
    pub fn lost_by_queue(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.queue.dropped_events())
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// Writes what is queued, compresses where that was asked for, waits for stable storage and completes the manifest.
    ///
    /// # Errors
    /// Where writing stopped early or the manifest could not be completed; what was written can be
    /// read all the same. A segment that could not be compressed stays plain, with a note in the
    /// manifest, and is no error.
    pub fn seal(mut self, end: ManifestEnd) -> Result<Sealed, WriteError> {
        let (segments, lost_by_queue) = self.stop()?;
        let mut totals = segments.totals();
        let mut manifest = self.manifest.clone();
        let failure = self.failure.get().cloned();
        if let Some(failure) = &failure {
            manifest.notes.push(format!("The recording ended early: {failure}."));
        } else {
            totals.bytes = self.settle(segments.segments(), &mut manifest)?;
        }
        manifest.end(end, totals);
        let completed = manifest.write(&self.folder);
        match (failure, completed) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => {
                Err(WriteError::Manifest { dir: self.dir().to_owned(), source: Arc::new(error) })
            }
            (None, Ok(())) => Ok(Sealed { dir: self.dir().to_owned(), totals, lost_by_queue }),
        }
    }

    /// Brings every segment to its final form on stable storage; returns the bytes of all.
    fn settle(&self, segments: u32, manifest: &mut Manifest) -> Result<u64, WriteError> {
        let mut bytes = 0;
        for number in 0..segments {
            if self.compress {
                match seal::compress(&self.events, number) {
                    Ok(compressed) => {
                        bytes += compressed;
                        continue;
                    }
                    Err(error) => {
                        let name = format::segment_name(number);
                        manifest.notes.push(format!("events/{name} is not compressed: {error}."));
                    }
                }
            }
            let path = || self.events.path().join(format::segment_name(number));
            bytes += seal::sync(&self.events, number)
                .map_err(|error| WriteError::write(&path(), error))?;
        }
        let synced = self.events.sync();
        synced.map_err(|error| WriteError::write(self.events.path(), error))?;
        Ok(bytes)
    }

    /// Ends the queue and waits for the writing thread.
    fn stop(&mut self) -> Result<(SegmentWriter, u64), WriteError> {
        let Running { queue, thread } = self.running.take().ok_or(WriteError::Died)?;
        thread.thread().unpark();
        let lost_by_queue = queue.close();
        thread.thread().unpark();
        Ok((thread.join().map_err(|_| WriteError::Died)?, lost_by_queue))
    }

    fn failure(&self) -> WriteError {
        self.failure.get().cloned().unwrap_or(WriteError::Died)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nobody is left to be told of an error.
        let _ = self.stop();
    }
}

/// The writing thread: until the queue is closed or writing fails. The failure is in place before
/// the queue's end is dropped, by which the sender learns of it.
fn write_all(
    queue: QueueOut,
    mut segments: SegmentWriter,
    failure: &OnceLock<WriteError>,
) -> SegmentWriter {
    if let Err(error) = write_until_closed(&queue, &mut segments) {
        // Empty until here: nobody else sets it.
        let _ = failure.set(error);
    }
    drop(queue);
    segments
}

fn write_until_closed(queue: &QueueOut, segments: &mut SegmentWriter) -> Result<(), WriteError> {
    loop {
        match queue.take() {
            Taken::Batch(batch) => {
                segments.add(&batch)?;
                queue.give_back(batch);
            }
            Taken::Empty => {
                segments.flush()?;
                thread::park_timeout(LOOK_EVERY);
            }
            Taken::Closed => return segments.flush(),
        }
    }
}

/// The folder of a recording's segments, in the recording's.
pub(crate) const EVENTS: &str = "events";

fn make_folder(dir: &Path) -> Result<Folder, WriteError> {
    let cannot = |error| WriteError::create(dir, error);
    let folder = Folder::make(dir, Access::Private).map_err(cannot)?;
    if folder.is_empty().map_err(cannot)? {
        Ok(folder)
    } else {
        Err(WriteError::Exists { dir: dir.to_owned() })
    }
}
