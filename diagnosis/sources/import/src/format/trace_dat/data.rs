//! The file's bytes: nothing is read, and no memory taken, for what lies beyond its end.

use super::NAME;
use super::packing::Unpacker;
use crate::{Contents, ImportError};
use std::io;
use std::path::{Path, PathBuf};
use tardy_ftrace::format::Endian;

/// A file that does not grow while it is read.
pub(super) struct Data {
    file: Contents,
    path: PathBuf,
    bytes: u64,
    unpacker: Unpacker,
}

impl Data {
    pub(super) fn new(file: Contents, path: &Path) -> Result<Self, ImportError> {
        let path = path.to_owned();
        match file.bytes() {
            Ok(bytes) => Ok(Self { file, path, bytes, unpacker: Unpacker::default() }),
            Err(source) => Err(ImportError::Io { path, source }),
        }
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What unpacks its parts.
    pub(super) fn unpacker(&self) -> &Unpacker {
        &self.unpacker
    }

    /// The error that it is broken at a place.
    pub(super) fn broken(&self, at: u64, why: impl Into<String>) -> ImportError {
        ImportError::Broken { path: self.path.clone(), format: NAME, at, why: why.into() }
    }

    pub(super) fn io(&self, source: io::Error) -> ImportError {
        ImportError::Io { path: self.path.clone(), source }
    }

    /// Reads `bytes` bytes at a place into `buffer`, in place of what is there.
    pub(super) fn read(
        &self,
        at: u64,
        bytes: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ImportError> {
        if at.checked_add(bytes as u64).is_none_or(|end| end > self.bytes) {
            return Err(self.broken(
                at,
                format!("{bytes} bytes are missing: the file is cut short, it has {}", self.bytes),
            ));
        }
        buffer.resize(bytes, 0);
        self.file.read_exact_at(buffer, at).map_err(|source| self.io(source))
    }
}

/// A walk over a part of the file, or over what such a part was unpacked to.
pub(super) struct Walk<'a> {
    data: &'a Data,
    endian: Endian,
    /// Bytes at hand, of which the next is at `at`.
    held: Vec<u8>,
    at: usize,
    /// Where the bytes at hand end in the file; `None` where they were unpacked and are all.
    held_to: Option<u64>,
    end: u64,
    /// For messages where they were unpacked: where that began.
    unpacked_from: u64,
}

/// How much is read at once.
const HOLD_BYTES: u64 = 64 << 10;

/// The longest string of a header.
const STRING_BYTES_MAX: usize = 4096;

impl<'a> Walk<'a> {
    /// Over the file from `from` to before `end`.
    pub(super) fn over_file(data: &'a Data, endian: Endian, from: u64, end: u64) -> Self {
        let end = end.min(data.bytes);
        let held_to = Some(from.min(end));
        Self { data, endian, held: Vec::new(), at: 0, held_to, end, unpacked_from: 0 }
    }

    /// Over what was unpacked from the file at `from`.
    pub(super) fn over_unpacked(data: &'a Data, endian: Endian, held: Vec<u8>, from: u64) -> Self {
        Self { data, endian, held, at: 0, held_to: None, end: 0, unpacked_from: from }
    }

    /// Over bytes that were taken out of this one at `place`.
    pub(super) fn within(&self, held: Vec<u8>, place: u64) -> Walk<'a> {
        Self::over_unpacked(self.data, self.endian, held, place)
    }

    /// Where it is in the file; where what was unpacked began.
    pub(super) fn place(&self) -> u64 {
        self.held_to.map_or(self.unpacked_from, |to| to - (self.held.len() - self.at) as u64)
    }

    /// How much comes yet.
    pub(super) fn left(&self) -> u64 {
        let at_hand = (self.held.len() - self.at) as u64;
        at_hand + self.held_to.map_or(0, |to| self.end - to)
    }

    pub(super) fn broken(&self, why: impl Into<String>) -> ImportError {
        self.data.broken(self.place(), why)
    }

    fn missing(&self, what: &str) -> ImportError {
        if self.held_to == Some(self.data.bytes) || self.end == self.data.bytes {
            self.broken(format!("the file is cut short: it ends before the end of its {what}"))
        } else {
            self.broken(format!("its {what} do not fit where they should be"))
        }
    }

    /// Has at least `bytes` at hand.
    fn hold(&mut self, bytes: usize, what: &str) -> Result<(), ImportError> {
        if self.held.len() - self.at >= bytes {
            return Ok(());
        }
        if self.left() < bytes as u64 {
            return Err(self.missing(what));
        }
        let from = self.place();
        let take = (self.end - from).min(HOLD_BYTES.max(bytes as u64));
        let mut held = std::mem::take(&mut self.held);
        self.data.read(from, take as usize, &mut held)?;
        (self.held, self.at, self.held_to) = (held, 0, Some(from + take));
        Ok(())
    }

    /// The next `bytes` bytes, of which there may be `bytes_max`.
    pub(super) fn take(
        &mut self,
        bytes: u64,
        bytes_max: usize,
        what: &str,
    ) -> Result<&[u8], ImportError> {
        if bytes > bytes_max as u64 {
            return Err(self.broken(format!(
                "it says that its {what} have {bytes} bytes, and {bytes_max} are the most that is read"
            )));
        }
        self.hold(bytes as usize, what)?;
        let from = self.at;
        self.at += bytes as usize;
        Ok(&self.held[from..self.at])
    }

    fn number(&mut self, bytes: u64, what: &str) -> Result<u64, ImportError> {
        let endian = self.endian;
        let number = endian.number(self.take(bytes, 8, what)?);
        number.ok_or_else(|| self.broken("a number of no machine's size"))
    }

    pub(super) fn u16(&mut self, what: &str) -> Result<u16, ImportError> {
        self.number(2, what).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32, ImportError> {
        self.number(4, what).map(|number| number as u32)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, ImportError> {
        self.number(8, what)
    }

    /// A string that ends with a zero.
    pub(super) fn string(&mut self, what: &str) -> Result<String, ImportError> {
        let mut bytes = Vec::new();
        loop {
            match self.take(1, 1, what)?[0] {
                0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                byte => bytes.push(byte),
            }
            if bytes.len() > STRING_BYTES_MAX {
                return Err(self.broken(format!("its {what} do not end")));
            }
        }
    }

    /// Passes `bytes` bytes.
    pub(super) fn skip(&mut self, bytes: u64, what: &str) -> Result<(), ImportError> {
        if self.left() < bytes {
            return Err(self.missing(what));
        }
        let at_hand = (self.held.len() - self.at) as u64;
        if bytes <= at_hand {
            self.at += bytes as usize;
        } else if let Some(to) = self.held_to {
            self.held_to = Some(to + (bytes - at_hand));
            self.held.clear();
            self.at = 0;
        }
        Ok(())
    }
}
