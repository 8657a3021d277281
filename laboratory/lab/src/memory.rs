//! Keeps the pages of this process in memory.

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// All memory of the process locked while this lives. It is a setting of the whole process: where
/// two are held, the first one dropped unlocks for both.
#[derive(Debug)]
pub struct MemoryLock {
    _private: (),
}

impl MemoryLock {
    /// Locks what is mapped and, where the permission has no bound, what will be.
    ///
    /// # Errors
    /// A note for the reader: what is lost and what would bring it.
    pub fn hold() -> Result<Self, String> {
        // With MCL_FUTURE under a bound, an allocation that crosses it fails, and a failed
        // allocation ends the process. So only the present is locked there.
        let flags = if is_unbounded() {
            MlockAllFlags::CURRENT | MlockAllFlags::FUTURE
        } else {
            MlockAllFlags::CURRENT
        };
        mlockall(flags).map(|()| Self { _private: () }).map_err(|error| {
            format!(
                "Memory could not be locked ({error}), so a page fault may count as latency; it \
                 needs CAP_IPC_LOCK or `ulimit -l unlimited`."
            )
        })
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        // Unlocking what is locked fails for nobody; there would be nothing to do about it anyway.
        let _ = munlockall();
    }
}

fn is_unbounded() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK))
        || getrlimit(Resource::Memlock).current.is_none()
}
