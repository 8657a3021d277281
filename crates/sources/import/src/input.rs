//! A file or a pipe, of which the beginning has been read.

use crate::ImportError;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How much of a file is looked at to find its format.
pub const HEAD_BYTES: usize = 64 << 10;

/// A file to be read, which is at its beginning whatever has been looked at.
///
/// As [`Read`] it can be a pipe too. Formats that need to go back and forth ask for
/// [`Input::into_file`].
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    file: File,
    head: Vec<u8>,
    /// How much of `head` has been read by the format.
    at: usize,
}

impl Input {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Where it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let wrong = |source| ImportError::Io { path: path.to_owned(), source };
        let path_to_open = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let file = File::open(path_to_open).map_err(wrong)?;
        let mut head = Vec::new();
        (&file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(wrong)?;
        Ok(Self { path: path.to_owned(), file, head, at: 0 })
    }

    /// Its name, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first [`HEAD_BYTES`], or all of a shorter file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The file itself, at its beginning.
    ///
    /// # Errors
    /// Where it is a pipe.
    pub fn into_file(self) -> Result<File, ImportError> {
        let mut file = self.file;
        match file.seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(file),
            Err(source) => Err(ImportError::Io { path: self.path, source }),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(buffer)?;
            self.at += read;
            return Ok(read);
        }
        self.file.read(buffer)
    }
}
