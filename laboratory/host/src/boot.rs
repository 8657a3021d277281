//! Which boot of the system this is.

/// This boot's id; empty where the kernel tells none.
pub fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
