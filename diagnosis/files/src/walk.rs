//! From a path to the folder that holds what it names, one part after the other.

use crate::owner;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, openat, readlinkat,
};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path};

/// Links in one path at most, as the kernel has it.
const LINKS_MAX: usize = 40;

/// What becomes of a link that a path ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Followed,
    Kept,
}

/// What a path leads to.
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    /// In that folder, which may be [`HERE`].
    pub(crate) name: OsString,
    /// It lies in `/proc`, whose links are no names but open files.
    pub(crate) is_proc: bool,
}

/// The folder itself.
const HERE: &str = ".";

/// Opens what need not be readable, and is no link.
const STEP: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Goes along `path`, through links of root's and ours.
pub(crate) fn resolve(path: &Path, last: Last) -> io::Result<Place> {
    let mut folder = openat(CWD, HERE, STEP | OFlags::DIRECTORY, Mode::empty())?;
    let mut parts = VecDeque::new();
    let mut links = 0;
    push_front(&mut parts, path);
    while let Some(part) = parts.pop_front() {
        if part.as_bytes() == b"/" {
            folder = openat(CWD, "/", STEP | OFlags::DIRECTORY, Mode::empty())?;
            continue;
        }
        let is_last = parts.is_empty();
        let found = match openat(&folder, &part, STEP, Mode::empty()) {
            Ok(found) => found,
            // What is to be made.
            Err(rustix::io::Errno::NOENT) if is_last => {
                return Ok(Place { folder, name: part, is_proc: false });
            }
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&found)?;
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link && fstatfs(&found)?.f_type == PROC_SUPER_MAGIC {
            if is_last {
                return Ok(Place { folder, name: part, is_proc: true });
            }
            let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            folder = openat(&folder, &part, through, Mode::empty())?;
        } else if is_link && (!is_last || last == Last::Followed) {
            if !owner::may_lead(stat.st_uid) {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!(
                        "{} is a link of another user's (uid {}), which is not followed",
                        part.display(),
                        stat.st_uid
                    ),
                ));
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(rustix::io::Errno::LOOP.into());
            }
            let target = readlinkat(&found, "", Vec::new())?.into_bytes();
            push_front(&mut parts, Path::new(&OsString::from_vec(target)));
        } else if is_last && part.as_bytes() != b".." {
            return Ok(Place { folder, name: part, is_proc: false });
        } else {
            folder = found;
        }
    }
    Ok(Place { folder, name: HERE.into(), is_proc: false })
}

/// Puts the parts of a path before those that are left.
fn push_front(parts: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::CurDir => {}
            part => parts.push_front(part.as_os_str().to_owned()),
        }
    }
}

/// Whether a name has one part and stays in its folder.
pub(crate) fn check(name: &OsStr) -> io::Result<()> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b".." || bytes.contains(&b'/') {
        let why = format!("{} is not the name of a file in a folder", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(())
}
