//! A folder that is held open.

use crate::new_file::NewFile;
use crate::owner;
use crate::walk::{self, Last};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, fsync, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Who may read what is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner alone: recordings say what a system did, and with which commands.
    Private,
    /// Whoever the process's umask lets: what the user named himself.
    Usual,
}

impl Access {
    pub(crate) fn of_file(self) -> Mode {
        Mode::from_raw_mode(if self == Self::Private { 0o600 } else { 0o666 })
    }

    fn of_folder(self) -> Mode {
        Mode::from_raw_mode(if self == Self::Private { 0o700 } else { 0o777 })
    }
}

/// A folder. What is in it is named by names of one part, and no link there is followed.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    /// For messages.
    path: PathBuf,
}

/// What others than its owner may do.
const OTHERS: u32 = 0o077;

/// Folders in one another that are removed with what is in them, at most.
const DEPTH_MAX: usize = 16;

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    // A pipe would wait for who writes into it.
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

const CREATE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    pub(crate) fn at(handle: OwnedFd, path: &Path) -> Self {
        Self { handle, path: path.to_owned() }
    }

    /// Opens a folder, through links of root's and one's own.
    ///
    /// # Errors
    /// Where it is not there, is none, or a link of another user's is on the way.
    pub fn open(path: &Path) -> io::Result<Self> {
        let place = walk::resolve(path, Last::Followed)?;
        Self::at(place.folder, path).open_in(&place.name, path)
    }

    /// Opens a folder, or makes it and those that lead to it.
    ///
    /// # Errors
    /// As [`Folder::open`], and where one cannot be made.
    pub fn make(path: &Path, access: Access) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            // Those on the way are as usual: what is private is below.
            Self::make(parent, Access::Usual)?;
        }
        match Self::make_new(path, access) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::open(path),
            made => made,
        }
    }

    /// Makes a folder that is not there; its parent is.
    ///
    /// # Errors
    /// Where there is something of that name, or it cannot be made.
    pub fn make_new(path: &Path, access: Access) -> io::Result<Self> {
        let place = walk::resolve(path, Last::Kept)?;
        Self::at(place.folder, path).make_in(&place.name, path, access)
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// Where there is none of that name, or a link.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        self.open_in(name, &self.path.join(name))
    }

    /// Makes a new folder in this one.
    ///
    /// # Errors
    /// Where there is something of that name, or it cannot be made.
    pub fn make_folder(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<Self> {
        let name = name.as_ref();
        self.make_in(name, &self.path.join(name), access)
    }

    /// Opens a regular file to be read.
    ///
    /// # Errors
    /// Where there is none of that name, or something else.
    pub fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = name.as_ref();
        walk::check(name)?;
        // Before it is opened: what a device does then is its own affair.
        must_be_regular(statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
        let file = File::from(openat(&self.handle, name, READ, Mode::empty())?);
        must_be_regular(fstat(&file)?.st_mode)?;
        Ok(file)
    }

    /// The bytes of a regular file that has `bytes_max` at most.
    ///
    /// # Errors
    /// As [`Folder::file`], and where it is longer.
    pub fn read(&self, name: impl AsRef<OsStr>, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.file(name)?.take(bytes_max + 1).read_to_end(&mut bytes)? as u64;
        if read > bytes_max {
            let why = format!("it is longer than {} KiB", bytes_max >> 10);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    }

    /// Whether there is a regular file of this name.
    pub fn has_file(&self, name: impl AsRef<OsStr>) -> bool {
        let found = statat(&self.handle, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| must_be_regular(found.st_mode).is_ok())
    }

    /// Makes a new file, to be written and read.
    ///
    /// # Errors
    /// Where there is something of that name, or it cannot be made.
    pub fn create_new(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        let name = name.as_ref();
        walk::check(name)?;
        let file = File::from(openat(&self.handle, name, CREATE, access.of_file())?);
        owner::hand_over(&file, self.owner()?)?;
        Ok(file)
    }

    /// Opens a regular file to be added to and read, or makes it. It has no other name.
    ///
    /// # Errors
    /// Where there is something else of that name, or it is another user's.
    pub fn append(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        self.update(name.as_ref(), access, OFlags::APPEND)
    }

    /// As [`Folder::append`], to be written at any place.
    ///
    /// # Errors
    /// As [`Folder::append`].
    pub fn open_or_make(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<File> {
        self.update(name.as_ref(), access, OFlags::empty())
    }

    fn update(&self, name: &OsStr, access: Access, how: OFlags) -> io::Result<File> {
        match self.create_new(name, access) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        must_be_regular(statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
        let flags = OFlags::RDWR | how | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(&self.handle, name, flags, Mode::empty())?);
        let found = fstat(&file)?;
        must_be_regular(found.st_mode)?;
        if found.st_nlink != 1 || !owner::is_ours(found.st_uid) {
            let why = "it belongs to another user, or has another name too";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(file)
    }

    /// Begins a file that has its name once it is whole, in place of what had it before.
    ///
    /// # Errors
    /// Where no file can be made here.
    pub fn begin(&self, name: impl AsRef<OsStr>, access: Access) -> io::Result<NewFile> {
        let name = name.as_ref();
        walk::check(name)?;
        NewFile::begin(self.another()?, name, access)
    }

    /// Replaces a file by one of these bytes, which are on stable storage then.
    ///
    /// # Errors
    /// Where it cannot be written; what was there before is there then.
    pub fn replace(&self, name: impl AsRef<OsStr>, bytes: &[u8], access: Access) -> io::Result<()> {
        let mut file = self.begin(name, access)?;
        file.write_all(bytes)?;
        file.keep()
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Where there is none, or it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        walk::check(name.as_ref())?;
        Ok(unlinkat(&self.handle, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes a file, or a folder with all that is in it, wherever that lies by now; links are removed, not followed.
    ///
    /// # Errors
    /// Where there is none, it cannot be removed, or it is deeper than [`DEPTH_MAX`].
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.remove_to(name.as_ref(), DEPTH_MAX)
    }

    fn remove_to(&self, name: &OsStr, depth: usize) -> io::Result<()> {
        walk::check(name)?;
        match unlinkat(&self.handle, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => {}
            done => return Ok(done?),
        }
        let below = depth.checked_sub(1).ok_or(Errno::NAMETOOLONG)?;
        let folder = self.folder(name)?;
        for inner in folder.names()? {
            folder.remove_to(&inner, below)?;
        }
        Ok(unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Gives what has a name another one that nothing has yet.
    ///
    /// # Errors
    /// Where there is nothing of the first name, or something of the second.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        walk::check(from)?;
        walk::check(to)?;
        let how = RenameFlags::NOREPLACE;
        match renameat_with(&self.handle, from, &self.handle, to, how) {
            // File systems that cannot promise it: a folder takes no other's place unless that is empty.
            Err(Errno::INVAL | Errno::NOSYS) => Ok(renameat(&self.handle, from, &self.handle, to)?),
            done => Ok(done?),
        }
    }

    /// The names in it, in no order.
    ///
    /// # Errors
    /// Where it cannot be listed.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    /// Whether nothing is in it.
    ///
    /// # Errors
    /// Where it cannot be listed.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.names()?.is_empty())
    }

    /// Brings its names to stable storage.
    ///
    /// # Errors
    /// Where that fails.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.handle)?)
    }

    /// By which path it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is, by number.
    ///
    /// # Errors
    /// Where that cannot be found out.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(fstat(&self.handle)?.st_uid)
    }

    /// Who may read what is made here as a matter of course: its owner alone, where it is closed to others.
    ///
    /// # Errors
    /// Where that cannot be found out.
    pub fn access(&self) -> io::Result<Access> {
        let is_closed = fstat(&self.handle)?.st_mode & OTHERS == 0;
        Ok(if is_closed { Access::Private } else { Access::Usual })
    }

    /// Whether results may be put into it: it is ours, and can be written to.
    pub fn is_ours(&self) -> bool {
        let may_write = rustix::fs::accessat(
            &self.handle,
            ".",
            rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
            AtFlags::empty(),
        );
        self.owner().is_ok_and(owner::is_ours) && may_write.is_ok()
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// Where there can be no more.
    pub fn another(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    fn open_in(&self, name: &OsStr, path: &Path) -> io::Result<Self> {
        walk::check(name)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => Ok(Self { handle, path: path.to_owned() }),
            Err(Errno::LOOP) => Err(is_a_link()),
            Err(Errno::NOTDIR) if self.is_link(name) => Err(is_a_link()),
            Err(error) => Err(error.into()),
        }
    }

    fn is_link(&self, name: &OsStr) -> bool {
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    }

    fn make_in(&self, name: &OsStr, path: &Path, access: Access) -> io::Result<Self> {
        walk::check(name)?;
        mkdirat(&self.handle, name, access.of_folder())?;
        let made = self.open_in(name, path)?;
        // Somebody who can write here may have put another in its place.
        if !owner::is_ours(made.owner()?) {
            let why = "another user put a folder of his in its place";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        owner::hand_over(&made, fstat(&self.handle)?.st_uid)?;
        Ok(made)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

fn must_be_regular(mode: u32) -> io::Result<()> {
    let what = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => return Err(is_a_link()),
        FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

fn is_a_link() -> io::Error {
    let why = "it is a link, and tardy follows no links in folders from elsewhere";
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
