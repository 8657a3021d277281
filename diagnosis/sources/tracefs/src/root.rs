//! Where tracefs is; mounted for ourselves alone where it is nowhere.

use crate::Error;
use rustix::fs::{CWD, Mode, OFlags, StatFs, openat, statfs};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where a kernel's tracefs usually is.
const USUAL: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// `TRACEFS_MAGIC` (`include/uapi/linux/magic.h`).
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// No text that is read here is longer; an event's format has a few KiB.
const TEXT_BYTES_MAX: usize = 1 << 16;

/// tracefs, held open by its root directory.
///
/// Every path goes through that descriptor (`/proc/self/fd/N/…`). A mount of our own is made by
/// `fsmount` and never attached to any directory: nobody else sees it and it ends with the last
/// descriptor, however the process ends.
#[derive(Debug)]
pub(crate) struct Root {
    directory: OwnedFd,
    shown: PathBuf,
}

impl Root {
    /// Finds tracefs, or mounts it.
    pub(crate) fn open() -> Result<Self, Error> {
        for path in USUAL {
            match openat(
                CWD,
                path,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            ) {
                Ok(directory) if is_tracefs(&directory) => {
                    return Ok(Self { directory, shown: path.into() });
                }
                Err(Errno::ACCESS | Errno::PERM) => {
                    return Err(Error::Permission { path: path.into() });
                }
                _ => {}
            }
        }
        let directory = mount_detached().map_err(|errno| match errno {
            Errno::PERM | Errno::ACCESS => Error::Permission { path: USUAL[0].into() },
            errno => Error::NoTracefs { source: errno.into() },
        })?;
        Ok(Self { directory, shown: "tracefs".into() })
    }

    /// A path below tracefs, to be opened by this process while `self` lives.
    fn path(&self, below: &Path) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd())).join(below)
    }

    /// A path as messages show it.
    pub(crate) fn shown(&self, below: impl AsRef<Path>) -> PathBuf {
        self.shown.join(below)
    }

    /// Whether a path exists.
    pub(crate) fn has(&self, below: impl AsRef<Path>) -> bool {
        self.path(below.as_ref()).exists()
    }

    /// A file as text, at most [`TEXT_BYTES_MAX`] of it.
    pub(crate) fn read(&self, below: impl AsRef<Path>) -> Result<String, Error> {
        let below = below.as_ref();
        let mut file = self.file(below, OFlags::RDONLY)?;
        // In large pieces: some files of tracefs (`events/header_page`) end after the first read,
        // however short it was, and the standard library's own first read is of 32 bytes.
        let (mut text, mut filled) = (vec![0; TEXT_BYTES_MAX], 0);
        loop {
            match file.read(&mut text[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::file("read", self.shown(below), source)),
            }
        }
        Ok(String::from_utf8_lossy(&text[..filled]).into_owned())
    }

    /// Writes one value.
    pub(crate) fn write(&self, below: impl AsRef<Path>, value: &str) -> Result<(), Error> {
        let below = below.as_ref();
        std::fs::write(self.path(below), value)
            .map_err(|source| Error::file(format!("write `{value}`"), self.shown(below), source))
    }

    /// Opens a file with `flags`.
    pub(crate) fn file(&self, below: impl AsRef<Path>, flags: OFlags) -> Result<File, Error> {
        let below = below.as_ref();
        openat(CWD, self.path(below), flags | OFlags::CLOEXEC, Mode::empty())
            .map(File::from)
            .map_err(|errno| Error::file("open", self.shown(below), errno.into()))
    }

    /// Names in a directory.
    pub(crate) fn list(&self, below: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        let below = below.as_ref();
        let entries = std::fs::read_dir(self.path(below))
            .map_err(|source| Error::file("list", self.shown(below), source))?;
        Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// Makes a directory.
    pub(crate) fn make(&self, below: impl AsRef<Path>) -> Result<(), Error> {
        let below = below.as_ref();
        std::fs::create_dir(self.path(below))
            .map_err(|source| Error::file("make", self.shown(below), source))
    }

    /// Removes a directory; one in use is refused by the kernel.
    pub(crate) fn remove(&self, below: impl AsRef<Path>) -> io::Result<()> {
        std::fs::remove_dir(self.path(below.as_ref()))
    }
}

fn is_tracefs(directory: impl AsFd) -> bool {
    statfs_of(directory).is_ok_and(|stat| stat.f_type as u64 & 0xffff_ffff == TRACEFS_MAGIC)
}

fn statfs_of(directory: impl AsFd) -> Result<StatFs, Errno> {
    statfs(format!("/proc/self/fd/{}/.", directory.as_fd().as_raw_fd()))
}

fn mount_detached() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let quiet = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, quiet)
}
