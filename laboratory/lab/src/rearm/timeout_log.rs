//! What one method delivered, as whoever delivers takes it down.

use super::timeout::Timeout;
use std::sync::{Mutex, PoisonError};
use tardy_stats::Latencies;

/// The timeout, and how late it was delivered each time.
#[derive(Debug, Default)]
pub(super) struct TimeoutLog {
    pub(super) timeout: Timeout,
    /// Locked by one thread at a time, so it waits for nobody.
    lateness: Mutex<Latencies>,
}

impl TimeoutLog {
    /// Delivers the timeout if it has passed by `now_ns`.
    pub(super) fn look(&self, now_ns: u64) {
        if let Some(due_ns) = self.timeout.deliver(now_ns) {
            let mut lateness = self.lateness.lock().unwrap_or_else(PoisonError::into_inner);
            lateness.record(now_ns - due_ns);
        }
    }

    pub(super) fn lateness(&self) -> Latencies {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
