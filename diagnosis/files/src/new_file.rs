//! A file appears under its name whole or not at all.

use crate::folder::{Access, Folder};
use crate::walk::{self, Last};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names that are tried for a temporary file at most: each is taken only by what a process of the same number left.
const TRIES_MAX: u32 = 1000;

/// A file that is being written. Dropped before it is kept, it leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    /// `None` where there is nothing to rename: a device, a pipe, or it is kept already.
    naming: Option<Naming>,
}

#[derive(Debug)]
struct Naming {
    folder: Folder,
    temporary: OsString,
    name: OsString,
}

/// Of this process, so that no two have one name.
static BEGUN: AtomicU64 = AtomicU64::new(0);

impl NewFile {
    pub(crate) fn begin(folder: Folder, name: &OsStr, access: Access) -> io::Result<Self> {
        // Folders are not replaced; to learn that only at the end would lose what was written.
        let there = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        for _ in 0..TRIES_MAX {
            let number = BEGUN.fetch_add(1, Ordering::Relaxed);
            let temporary = OsString::from(format!(".tardy-{}-{number}.tmp", std::process::id()));
            match folder.create_new(&temporary, access) {
                Ok(file) => {
                    let naming = Some(Naming { folder, temporary, name: name.to_owned() });
                    return Ok(Self { file, naming });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The file that is written, to be written through another handle.
    ///
    /// # Errors
    /// Where there can be no more.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives it its name, in place of what had it before, when all of it is on stable storage.
    ///
    /// # Errors
    /// Where that fails; what was there before is there then.
    pub fn keep(mut self) -> io::Result<()> {
        let Some(naming) = &self.naming else { return Ok(()) };
        // The data before the name: after a power cut the name must not lead to an empty file.
        self.file.sync_all()?;
        renameat(&naming.folder, &naming.temporary, &naming.folder, &naming.name)?;
        let naming = self.naming.take();
        naming.map_or(Ok(()), |naming| naming.folder.sync())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(naming) = &self.naming {
            // Best effort: it holds nothing that anyone needs, and a full disk wants its room.
            let _ = unlinkat(&naming.folder, &naming.temporary, AtFlags::empty());
        }
    }
}

/// Begins the file that the user named. A device or a pipe there is written to as it is, where root or the user
/// himself made it; `/dev/stdout` and its like are what they lead to.
///
/// # Errors
/// Where it cannot be made, ends in a link, or in another user's device or pipe.
pub fn create(path: &Path, access: Access) -> io::Result<NewFile> {
    let mut place = walk::resolve(path, Last::Kept)?;
    let in_dev = path.parent() == Some(Path::new("/dev"));
    if in_dev {
        place = walk::resolve(path, Last::Followed)?;
    }
    let directly = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    if place.is_proc {
        let file = openat(&place.folder, &place.name, directly, Mode::empty())?;
        return Ok(NewFile { file: file.into(), naming: None });
    }
    if let Ok(found) = statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile | FileType::Directory => {}
            FileType::Symlink => {
                let why = "it is a link: name the file that it points to";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            _ if crate::owner::may_lead(found.st_uid) => {
                let flags = directly | OFlags::NOFOLLOW;
                let file = openat(&place.folder, &place.name, flags, Mode::empty())?;
                return Ok(NewFile { file: file.into(), naming: None });
            }
            _ => {
                let why = "it is a pipe or a device of another user";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    // Not only a place: what is renamed in it is brought to stable storage.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = openat(&place.folder, ".", flags, Mode::empty())?;
    Folder::at(handle, parent).begin(&place.name, access)
}

/// Replaces the file that the user named by one of these bytes.
///
/// # Errors
/// As [`create`], and where it cannot be written; what was there before is there then.
pub fn replace(path: &Path, bytes: &[u8], access: Access) -> io::Result<()> {
    let mut file = create(path, access)?;
    file.write_all(bytes)?;
    file.keep()
}
