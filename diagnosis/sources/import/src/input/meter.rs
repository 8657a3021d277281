//! How much of a file has been read, for whoever waits for it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is read of a file. Formats that read a file twice count twice.
#[derive(Debug, Default)]
pub struct Meter {
    read: AtomicU64,
    length: AtomicU64,
}

impl Meter {
    /// Bytes read until now.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes of the file; `None` of a pipe.
    pub fn length(&self) -> Option<u64> {
        Some(self.length.load(Ordering::Relaxed)).filter(|length| *length > 0)
    }

    fn count(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A file of which what is read is counted.
#[derive(Debug)]
pub(super) struct Metered {
    file: File,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(file: File, meter: Arc<Meter>) -> Self {
        let length =
            file.metadata().map_or(0, |found| if found.is_file() { found.len() } else { 0 });
        meter.length.store(length, Ordering::Relaxed);
        Self { file, meter }
    }

    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(super) fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)?;
        self.meter.count(buffer.len());
        Ok(())
    }
}

impl Read for &Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&self.file).read(buffer)?;
        self.meter.count(read);
        Ok(read)
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Seek for &Metered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.file).seek(to)
    }
}
