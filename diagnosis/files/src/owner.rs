//! Whose a file is.

use rustix::fs::{Gid, Uid, fchown};
use rustix::process::geteuid;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Who called sudo, by user and group; `None` where this does not run as root by sudo.
pub fn invoking() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let user: (u32, u32) = (number("SUDO_UID")?, number("SUDO_GID")?);
    (geteuid().is_root() && user.0 != 0).then_some(user)
}

/// Whether a file of this user's is ours to change: our own, or of who called sudo.
pub fn is_ours(user: u32) -> bool {
    user == geteuid().as_raw() || invoking().is_some_and(|(invoking, _)| invoking == user)
}

/// The permission bits by which a file's group, and everybody else, may write.
pub const GROUP_WRITES: u32 = 0o020;
/// See [`GROUP_WRITES`].
pub const OTHERS_WRITE: u32 = 0o002;

/// The bit by which, in a folder that all may write to, only its owner removes a file.
pub const STICKY: u32 = 0o1000;

/// Whether nobody but root and users of whom `is_trusted` holds can change a file or folder, which is no link. `writers`
/// are the bits by which others may write to what has this group, and `pardoned` one with which they may.
pub fn is_closed(
    path: &Path,
    is_trusted: impl Fn(u32) -> bool,
    writers: impl Fn(u32) -> u32,
    pardoned: u32,
) -> bool {
    path.symlink_metadata().is_ok_and(|found| {
        let mode = found.mode();
        let is_open = mode & writers(found.gid()) != 0 && mode & pardoned == 0;
        (found.uid() == 0 || is_trusted(found.uid())) && !is_open && !found.is_symlink()
    })
}

/// Whether nobody else can put something into a folder, or put another in the place of it or of one above: what is read
/// there, and what is written, is what we have put there. Of one that is not there nobody has.
pub fn is_ours_alone(folder: &Path) -> bool {
    // A user's own group is trusted by the user, and not by root.
    let writers = |group: u32| {
        OTHERS_WRITE | if geteuid().is_root() && group != 0 { GROUP_WRITES } else { 0 }
    };
    // Where it leads to, so that no link on the way leads elsewhere afterwards.
    let Ok(folder) = folder.canonicalize() else { return true };
    folder.ancestors().all(|above| is_closed(above, is_ours, writers, STICKY))
}

/// The folder for what is needed for a while: the environment's, or the system's where somebody else could change what is
/// in that.
pub fn temporary_folder() -> PathBuf {
    let chosen = std::env::temp_dir();
    if is_ours_alone(&chosen) { chosen } else { PathBuf::from("/tmp") }
}

/// Whether a link of this user's may lead us: ours, or root's.
pub(crate) fn may_lead(user: u32) -> bool {
    user == 0 || is_ours(user)
}

/// Gives what was made in a folder of the invoking user's to him. `folder_of` is whose the folder is.
pub(crate) fn hand_over(made: impl AsFd, folder_of: u32) -> io::Result<()> {
    match invoking() {
        Some((user, group)) if user == folder_of => {
            Ok(fchown(made, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?)
        }
        _ => Ok(()),
    }
}
