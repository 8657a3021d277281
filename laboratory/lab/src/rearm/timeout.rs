//! The timeout that one thread moves and another waits for.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// No timeout is armed: later than all.
pub(super) const NONE_NS: u64 = u64::MAX;

/// Delivered or moved is decided by one exchange of the expiry: no timeout is delivered twice, and
/// none that was moved away is delivered at all.
#[derive(Debug)]
pub(super) struct Timeout {
    expiry_ns: AtomicU64,
    over: AtomicBool,
    kernel_timers: AtomicU64,
}

impl Default for Timeout {
    fn default() -> Self {
        Self {
            expiry_ns: AtomicU64::new(NONE_NS),
            over: AtomicBool::new(false),
            kernel_timers: AtomicU64::new(0),
        }
    }
}

impl Timeout {
    /// When it expires; [`NONE_NS`] where none is armed.
    pub(super) fn expiry_ns(&self) -> u64 {
        self.expiry_ns.load(SeqCst)
    }

    /// Moves it. Yields when it would have expired, or [`NONE_NS`].
    pub(super) fn set(&self, new_ns: u64) -> u64 {
        self.expiry_ns.swap(new_ns, SeqCst)
    }

    /// Takes it as delivered, if it has passed by `now_ns`. Yields when it was due.
    pub(super) fn deliver(&self, now_ns: u64) -> Option<u64> {
        let due_ns = self.expiry_ns();
        let passed = due_ns != NONE_NS && due_ns <= now_ns;
        let taken =
            passed && self.expiry_ns.compare_exchange(due_ns, NONE_NS, SeqCst, SeqCst).is_ok();
        taken.then_some(due_ns)
    }

    /// Counts a timer that a system call asked the kernel for.
    pub(super) fn kernel_timer_armed(&self) {
        self.kernel_timers.fetch_add(1, SeqCst);
    }

    /// How many those are.
    pub(super) fn kernel_timers(&self) -> u64 {
        self.kernel_timers.load(SeqCst)
    }

    pub(super) fn end(&self) {
        self.over.store(true, SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivered_once_not_early_and_not_when_moved_away() {
        let timeout = Timeout::default();
        assert_eq!(timeout.deliver(u64::MAX), None, "none is armed");
        assert_eq!(timeout.set(100), NONE_NS);
        assert_eq!(timeout.deliver(99), None);
        assert_eq!(timeout.set(200), 100);
        assert_eq!(timeout.deliver(150), None);
        assert_eq!((timeout.deliver(201), timeout.deliver(202)), (Some(200), None));
        assert_eq!(timeout.set(300), NONE_NS);
    }
}
