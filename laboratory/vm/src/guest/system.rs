//! The guest's system: what its kernel's first process finds missing.

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount as mount_at};
use rustix::system::{RebootCommand, finit_module, reboot, uname};
use std::ffi::CStr;
use std::fs::File;

/// A file system, where it goes, and its options.
const MOUNTS: &[(&CStr, &str, &CStr)] = &[
    (c"proc", "/proc", c""),
    (c"sysfs", "/sys", c""),
    (c"devtmpfs", "/dev", c""),
    (c"devpts", "/dev/pts", c""),
    (c"tmpfs", "/dev/shm", c""),
    (c"tmpfs", "/tmp", c"size=90%"),
    (c"tmpfs", "/out", c"size=90%"),
    (c"tracefs", "/sys/kernel/tracing", c""),
];

/// Those that some kernels do not have, and nothing here needs.
const OPTIONAL: [&CStr; 2] = [c"devpts", c"tracefs"];

/// Mounts what every program expects.
pub(super) fn mount() -> Result<(), String> {
    for &(kind, at, options) in MOUNTS {
        // sysfs and tracefs bring their own.
        let _ = std::fs::create_dir_all(at);
        if holds_files(at) {
            continue;
        }
        let mounted = mount_at(c"none", at, kind, MountFlags::empty(), options);
        // A kernel may mount devtmpfs itself.
        if let Err(error) = mounted
            && error != Errno::BUSY
            && !OPTIONAL.contains(&kind)
        {
            return Err(format!("cannot mount {} at {at}: {error}", kind.to_string_lossy()));
        }
    }
    // The page frames' folder of processes: what std's temporary files use.
    let _ = rustix::system::sethostname(b"tardy-guest");
    Ok(())
}

/// Whether a file that was given to the guest lies there, as one from the host's `/tmp` does: a file system on top would
/// hide it, and the first one is in memory as well.
fn holds_files(at: &str) -> bool {
    at == "/tmp" && std::fs::read_dir(at).is_ok_and(|mut entries| entries.next().is_some())
}

/// Loads a module.
pub(super) fn load(path: &str) -> Result<(), String> {
    let wrong = |why: String| format!("cannot load the module {path}: {why}");
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    match finit_module(&file, c"", 0) {
        // Built in, or loaded by another that needs it.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// `uname -r`.
pub(super) fn release() -> String {
    uname().release().to_string_lossy().into_owned()
}

/// Ends the guest: QEMU takes a reboot for its end.
pub(super) fn end() {
    rustix::fs::sync();
    if let Err(error) = reboot(RebootCommand::Restart) {
        eprintln!("tardy-guest: cannot end the guest: {error}");
    }
}
