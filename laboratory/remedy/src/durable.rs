//! Files and folders that are on disk when a function returns.
//!
//! A file that is synced is found after a power cut only where the folder that names it is synced too, and a name that is
//! taken away is gone for good only then.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a folder, and those above it that are not there, each for all to read.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    // From the outside in: each is named by the one above.
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev().filter(|folder| !folder.as_os_str().is_empty()) {
        match fs::DirBuilder::new().mode(0o755).create(folder) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        sync_names_beside(folder)?;
    }
    Ok(())
}

/// What names the file or folder is on disk: that it is there, that it is not, or which one it is.
pub(crate) fn sync_names_beside(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Gives a file another's name, in one step.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_names_beside(to)
}

/// Takes a file away; one that is not there is away.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Whoever took it away before may not have waited until that was on disk.
    match sync_names_beside(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced,
    }
}
