//! Reading a recording, whatever state it is in.

use crate::format::{FrameKind, segment_name, segment_number};
use crate::frame_reader::{Frame, FrameReader, Stop};
use crate::manifest::{Manifest, ManifestError};
use crate::payload::{read_names, read_timers};
use crate::torn::{Flaw, Torn};
use crate::writer::EVENTS;
use std::io;
use std::path::{Path, PathBuf};
use tardy_files::Folder;
use tardy_model::{Batch, Event, RECORD_BYTES, Source, SourceError};

/// A recording that is being read, from its first event to its last.
///
/// Reading is streaming: two buffers of 1 MiB, whatever the recording's size. Each frame's checksum
/// is checked before any of it is yielded. At the first frame that is not good the stream ends, and
/// [`Recording::stopped_at`] says where and why.
pub struct Recording {
    dir: PathBuf,
    manifest: Manifest,
    /// Segments by the highest number there is; some of them may be missing.
    segments: u32,
    /// The folder of segments, where there is one.
    held: Option<Folder>,
    frames: FrameReader,
    segment: u32,
    events: u64,
    ended: bool,
    torn: Option<Torn>,
}

/// Why a folder could not be opened as a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder is not there or cannot be listed.
    #[error("cannot open the recording {dir}: {source}")]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is something else.
    #[error("{dir} is not a recording: it has neither a manifest.json nor segments in events/")]
    NoRecording {
        /// The folder.
        dir: PathBuf,
    },
    /// There are no events, and the manifest cannot be read.
    #[error(transparent)]
    Manifest(ManifestError),
    /// A newer program wrote the events.
    #[error("{dir} has format version {version}: update tardy to read it")]
    Newer {
        /// The folder.
        dir: PathBuf,
        /// The version.
        version: u32,
    },
    /// The operating system refused.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The operating system did not give a file's bytes. What was yielded before is good.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {source}")]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl Recording {
    /// Opens the recording in folder `dir`. A recording whose manifest is missing or garbled but
    /// that has events gets a default manifest with a note.
    ///
    /// # Errors
    /// Where the folder is no recording, a newer program wrote it, or it cannot be read.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let folder = Folder::open(dir);
        let folder = folder.map_err(|source| OpenError::Folder { dir: dir.to_owned(), source })?;
        Self::open_in(&folder, dir)
    }

    /// As [`Recording::open`], the recording in a folder that is held open, which messages call `dir`.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_in(folder: &Folder, dir: &Path) -> Result<Self, OpenError> {
        let folder_error = |source| OpenError::Folder { dir: dir.to_owned(), source };
        let held = match folder.folder(EVENTS) {
            Ok(held) => Some(held),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(folder_error(error)),
        };
        let segments = count_segments(held.as_ref()).map_err(folder_error)?;
        let manifest = match Manifest::read_in(folder, dir) {
            Ok(manifest) => manifest,
            Err(error @ ManifestError::Newer { .. }) => return Err(OpenError::Manifest(error)),
            Err(error) if segments > 0 => Manifest {
                notes: vec![format!(
                    "The recording's manifest is lost, but its events are not: {error}."
                )],
                ..Manifest::default()
            },
            Err(ManifestError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(OpenError::NoRecording { dir: dir.to_owned() });
            }
            Err(error) => return Err(OpenError::Manifest(error)),
        };
        let mut recording = Self {
            dir: dir.to_owned(),
            manifest,
            segments,
            held,
            frames: FrameReader::new(),
            segment: 0,
            events: 0,
            ended: false,
            torn: None,
        };
        recording.rewind()?;
        match recording.torn {
            Some(Torn { why: Flaw::Newer { version }, .. }) => {
                Err(OpenError::Newer { dir: dir.to_owned(), version })
            }
            _ => Ok(recording),
        }
    }

    /// What the recording says of itself. `sealed` is false where it was not ended in good order.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the recording stops being good, once reading has come there; `None` before, and where
    /// all of it is good.
    pub fn stopped_at(&self) -> Option<&Torn> {
        self.torn.as_ref()
    }

    /// Goes back to the first event.
    ///
    /// # Errors
    /// Where the first file cannot be read.
    pub fn rewind(&mut self) -> Result<(), ReadError> {
        self.events = 0;
        self.ended = false;
        self.torn = None;
        self.open_segment(0)
    }

    /// Fills `batch`, which comes empty, from the next frame: names, timers or at most 32 768
    /// events. `Ok(false)` at the end.
    ///
    /// # Errors
    /// Where a file cannot be read. Bytes that are not good are no error but the end.
    pub fn read(&mut self, batch: &mut Batch) -> Result<bool, ReadError> {
        while !self.ended {
            match self.frames.next() {
                Ok(Some(frame)) => match decode(&frame, batch) {
                    Some(Decoded::Events(count)) => {
                        self.events += count;
                        return Ok(true);
                    }
                    Some(Decoded::Definitions) => return Ok(true),
                    Some(Decoded::PassedOver) => {}
                    None => {
                        batch.clear();
                        self.stop(Flaw::Content);
                    }
                },
                Ok(None) if self.segment + 1 < self.segments => {
                    self.open_segment(self.segment + 1)?;
                }
                Ok(None) => self.end(),
                Err(stop) => self.take_stop(stop)?,
            }
        }
        Ok(false)
    }

    fn open_segment(&mut self, number: u32) -> Result<(), ReadError> {
        self.segment = number;
        let opened = match &self.held {
            Some(held) => self.frames.open(held, number),
            None => Err(Flaw::Missing.into()),
        };
        opened.or_else(|stop| self.take_stop(stop))
    }

    fn take_stop(&mut self, stop: Stop) -> Result<(), ReadError> {
        match stop {
            Stop::Flaw(flaw) => {
                self.stop(flaw);
                Ok(())
            }
            Stop::Io(source) => {
                self.ended = true;
                let path = self.dir.join(EVENTS).join(segment_name(self.segment));
                Err(ReadError { path, source })
            }
        }
    }

    fn stop(&mut self, why: Flaw) {
        self.ended = true;
        let file = Path::new("events").join(segment_name(self.segment));
        self.torn = Some(Torn { file, byte: self.frames.at(), why });
    }

    /// After the last frame: a file that was cut between two frames shows only in the count.
    fn end(&mut self) {
        self.ended = true;
        let counted = self.manifest.totals.map_or(0, |totals| totals.events);
        if self.events < counted {
            self.stop(Flaw::EventsMissing { missing: counted - self.events });
        }
    }
}

impl Source for Recording {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        Ok(self.read(batch)?)
    }
}

enum Decoded {
    Definitions,
    Events(u64),
    PassedOver,
}

/// A frame's content in `batch`; `None` where it does not decode.
fn decode(frame: &Frame<'_>, batch: &mut Batch) -> Option<Decoded> {
    match frame.kind {
        FrameKind::Names => read_names(frame.payload, frame.count, &mut batch.names)?,
        FrameKind::Timers => read_timers(frame.payload, frame.count, &mut batch.timers)?,
        FrameKind::Events => {
            let (records, rest) = frame.payload.as_chunks::<RECORD_BYTES>();
            if !rest.is_empty() || records.len() != frame.count as usize {
                return None;
            }
            batch.events.extend(records.iter().map(Event::from_bytes));
            return Some(Decoded::Events(records.len() as u64));
        }
        FrameKind::Unknown(_) => return Some(Decoded::PassedOver),
    }
    Some(Decoded::Definitions)
}

/// One more than the highest number of a segment in `folder`; 0 where there is none.
fn count_segments(folder: Option<&Folder>) -> io::Result<u32> {
    let names = folder.map_or(Ok(Vec::new()), Folder::names)?;
    let numbers = names.iter().filter_map(|name| segment_number(name.to_str()?));
    Ok(numbers.max().map_or(0, |number| number.saturating_add(1)))
}
