//! Whether thread ids are here what they are in the kernel's events.

use std::path::Path;

/// The namespace that the kernel begins with (`PROC_PID_INIT_INO`, `include/linux/proc_ns.h`), as its link reads.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// This process is in a PID namespace of its own.
///
/// Events tell the ids that threads have in the kernel's first namespace; here they have others, and procfs knows
/// no way from one to the other. A recording would call each thread by the name of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is a PID namespace of its own (a container), where threads have other ids than in the \
     kernel's events; record on the host (`tardy record -p PID`, with the PID that `docker top` \
     or `lsns -t pid` shows there), or give the container the host's ids (docker and podman: \
     --pid=host; Kubernetes: hostPID: true)"
)]
pub struct OwnPidNamespace;

/// Whether events can be told with ids that mean something here.
///
/// # Errors
/// In a PID namespace of its own; without procfs it is taken for the first.
pub fn ids_are_the_kernels() -> Result<(), OwnPidNamespace> {
    judge(Path::new("/proc/self/ns/pid"))
}

fn judge(link: &Path) -> Result<(), OwnPidNamespace> {
    match std::fs::read_link(link) {
        Ok(namespace) if namespace.as_os_str() != FIRST_PID_NAMESPACE => Err(OwnPidNamespace),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_another_namespace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("pid");
        assert_eq!(judge(&link), Ok(()), "nothing is known");
        symlink(FIRST_PID_NAMESPACE, &link).unwrap();
        assert_eq!(judge(&link), Ok(()));
        std::fs::remove_file(&link).unwrap();
        symlink("pid:[4026532201]", &link).unwrap();
        assert_eq!(judge(&link), Err(OwnPidNamespace));
    }
}
