//! What the service's threads, its clients and its futures share.

use super::delivery::Delivery;
use super::lane::Lane;
use super::park::Park;
use super::timebase::Clock;
use super::watch::{SlowHook, Watch};
use crate::Level;

/// A service without its threads.
pub(super) struct Shared {
    /// Differs from that of any other service of the process.
    pub(super) number: u32,
    pub(super) clock: Clock,
    pub(super) desks: [Desk; Level::COUNT],
    /// For [`Priority::Inherit`](crate::Priority::Inherit).
    pub(super) thresholds: [u8; Level::COUNT - 1],
    pub(super) slow_ns: u64,
    pub(super) on_slow: Option<SlowHook>,
    /// As it was when the service began.
    pub(super) fork: forkguard::Guard,
}

impl Shared {
    pub(super) fn desk(&self, level: Level) -> &Desk {
        &self.desks[level.number() as usize]
    }

    /// Whether this is a child of the process that began the service. The C library's `fork` counts
    /// forks (`pthread_atfork(3)`), so this is one load and no system call; a raw `clone` system call
    /// goes unnoticed.
    pub(super) fn is_forked(&self) -> bool {
        self.fork.clone().detected_fork()
    }
}

/// What a level's thread and all others share.
pub(super) struct Desk {
    pub(super) lane: Lane<Delivery>,
    pub(super) park: Park,
    pub(super) watch: Watch,
}
