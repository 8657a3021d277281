//! Whose a file is.

use rustix::fs::{Gid, Uid, fchown};
use rustix::process::geteuid;
use std::io;
use std::os::fd::AsFd;

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
