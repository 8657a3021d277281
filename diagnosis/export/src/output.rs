//! A file that is being written, and goes away if it is not finished.

use crate::ExportError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use tardy_files::{Access, NewFile};

/// Bytes that wait to be written.
const BUFFER_BYTES: usize = 256 << 10;

/// In place of a path: standard output as it was opened. (`/dev/stdout` would open it anew, or be whatever is there.)
pub(crate) const STDOUT: &str = "-";

/// Refuses standard output to `what`, which has to be where the file system can hold it.
pub(crate) fn needs_a_path(path: &Path, what: &str) -> Result<(), ExportError> {
    if path == Path::new(STDOUT) {
        return Err(ExportError::Needs(format!(
            "{what} cannot go to standard output: name it with -o"
        )));
    }
    Ok(())
}

/// A file that is written through a buffer. Whatever fails names it; dropped unfinished, it is not there, because half
/// a file looks like a whole one.
pub(crate) struct Output {
    path: PathBuf,
    /// `None` once it is finished.
    file: Option<BufWriter<Sink>>,
}

impl Output {
    #[expect(clippy::disallowed_methods, reason = "the open descriptor, for a file's bytes")]
    pub(crate) fn create(path: &Path) -> Result<Self, ExportError> {
        let file = if path == Path::new(STDOUT) {
            io::stdout().as_fd().try_clone_to_owned().map(|it| Sink::Stdout(it.into()))
        } else {
            tardy_files::create(path, Access::Usual).map(Sink::File)
        };
        let file = file.map_err(|error| ExportError::io(path, error))?;
        let file = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(Self { path: path.to_owned(), file })
    }

    /// Writes with `write`, whose errors are the file's.
    pub(crate) fn put(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        write(file).map_err(|error| ExportError::io(&self.path, error))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is in the buffer.
    pub(crate) fn finish(mut self) -> Result<(), ExportError> {
        self.put(|file| file.flush())?;
        let Some(file) = self.file.take() else { return Ok(()) };
        let kept = match file.into_parts().0 {
            Sink::Stdout(_) => Ok(()),
            Sink::File(file) => file.keep(),
        };
        kept.map_err(|error| ExportError::io(&self.path, error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(bytes.len()), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Not what is in the buffer: a full disk would only fail again.
        let _ = self.file.take().map(BufWriter::into_parts);
    }
}

enum Sink {
    Stdout(File),
    File(NewFile),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(file) => file.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(file) => file.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
