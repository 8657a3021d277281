//! A file appears under its name whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Replaces `path` by a file of these bytes: a temporary file beside it, on stable storage, then
/// renamed. A reader sees the old file or the new one, whenever the process or the machine dies.
///
/// # Errors
/// Where it cannot be written; the old file is there then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_path(path);
    let mut file = File::create(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| commit(&file, &temporary, path));
    if written.is_err() {
        // Best effort: it holds nothing that anyone needs, and a full disk wants its room.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Where the temporary file of `path` lies.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Makes a temporary file that is complete the one at `path`.
pub(crate) fn commit(file: &File, temporary: &Path, path: &Path) -> io::Result<()> {
    // The data before the name: after a power cut the name must not lead to an empty file.
    file.sync_all()?;
    fs::rename(temporary, path)?;
    match path.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Brings a folder's names to stable storage.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}
