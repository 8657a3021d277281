//! A file that is being written, and goes away if it is not finished.

use crate::ExportError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

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

/// A file that is written through a buffer. Whatever fails names it; dropped unfinished, a regular file
/// is removed, because half a file looks like a whole one.
pub(crate) struct Output {
    path: PathBuf,
    /// `None` once it is finished.
    file: Option<BufWriter<File>>,
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self, ExportError> {
        let file = if path == Path::new(STDOUT) {
            io::stdout().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::create(path)
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
        self.file = None;
        Ok(())
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
        let Some(file) = self.file.take() else { return };
        let is_file = self.path != Path::new(STDOUT)
            && file.get_ref().metadata().is_ok_and(|metadata| metadata.is_file());
        // The buffer too: a full disk would only fail again.
        let _ = file.into_parts();
        if is_file {
            let _ = fs::remove_file(&self.path);
        }
    }
}
