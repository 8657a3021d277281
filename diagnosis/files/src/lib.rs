//! Files and folders that somebody else may have prepared.
//!
//! tardy mostly runs as root, writes where others can write, and reads what strangers send. So all that is written
//! goes through here, and what lies in a recording is read through here:
//!
//! - **A folder is held open**, and what is in it is reached by single names from there ([`Folder`]): nobody can put
//!   another folder in its place meanwhile.
//! - **Inside a folder no link is followed**, whoever made it: one that came out of an archive is its reader's own.
//! - **On the way to a folder** a link is followed where root or who runs this made it, and no other ([`Folder::open`]).
//! - **A file appears whole or not at all** ([`NewFile`]): a temporary file that did not exist before, renamed. What had
//!   the name before (a link, a pipe, another's file) is replaced, never opened.
//! - **Only regular files are read**: a pipe would wait for ever, and a device may do anything when it is opened.
//! - **What is made belongs to who asked for it** ([`owner`]): under sudo, in a folder of the invoking user's, to him.
//!
//! All this is done by names of one part, relative to a handle, with `O_NOFOLLOW`, which every kernel has. (`openat2`
//! with `RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH` promises the same of names of many parts, and there are none here.)
#![forbid(unsafe_code)]

mod folder;
mod new_file;
pub mod owner;
mod walk;

pub use folder::{Access, Folder};
pub use new_file::{NewFile, create, replace};

use rustix::fs::{Mode, OFlags};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Opens a regular file to be read, through links of root's and one's own.
///
/// # Errors
/// Where it is not there, is a link of another user's, is no regular file, or cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    let place = walk::resolve(path, walk::Last::Followed)?;
    Folder::at(place.folder, path.parent().unwrap_or(Path::new(""))).file(&place.name)
}

/// Opens a file that the user named, wherever links lead, to be shown to him: a regular file, or a descriptor that is open
/// already (`/dev/stdin`, `<(…)` of a shell). In whatever else has the name, nobody may ever write, or nothing may ever
/// end.
///
/// # Errors
/// Where it is not there, is something else, or cannot be read.
pub fn open_named(path: &Path) -> io::Result<File> {
    if is_open_already(path) {
        return File::open(path);
    }
    // Before it is opened: what a device does then is its own affair.
    must_be_readable(&path.metadata()?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    must_be_readable(&file.metadata()?)?;
    Ok(file)
}

/// A folder says itself what it is when it is read.
fn must_be_readable(found: &Metadata) -> io::Result<()> {
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    let why = "it is no regular file, but a pipe, a socket or a device: read it through standard input (-), or save it \
               to a file first";
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Whether a path names a descriptor of this process.
fn is_open_already(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    let is_in =
        path.parent().is_some_and(|parent| folders.iter().any(|it| parent == Path::new(it)));
    is_in || path == Path::new("/dev/stdin")
}

/// Whether there is a regular file, as [`open`] opens it.
pub fn is_file(path: &Path) -> bool {
    open(path).is_ok()
}
