//! The thread that waits for one method's timeout, and takes down how late it is told.

use super::method::{Kind, Rearm};
use super::plan::RearmError;
use super::timeout::Timeout;
use crate::clock::{cpu_ns, now_ns};
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::JoinHandle;
use tardy_stats::Latencies;

/// A method with its waiting thread. Dropped, the thread ends.
pub(super) struct Waiter {
    pub(super) kind: &'static Kind,
    pub(super) timeout: Arc<Timeout>,
    method: Arc<dyn Rearm>,
    join: Option<JoinHandle<Result<Waited, RearmError>>>,
}

/// What the thread brings home.
pub(super) struct Waited {
    /// From the expiry until the thread looked at the clock.
    pub(super) lateness: Latencies,
    pub(super) cpu_ns: u64,
}

impl Waiter {
    pub(super) fn start(kind: &'static Kind) -> Result<Self, RearmError> {
        let failed = |source| RearmError::Method { method: kind.name, source };
        let method: Arc<dyn Rearm> = (kind.make)().map_err(failed)?.into();
        let timeout = Arc::<Timeout>::default();
        let (theirs, moved) = (Arc::clone(&method), Arc::clone(&timeout));
        let join = std::thread::Builder::new()
            .name("rearm-wait".to_owned())
            .spawn(move || wait(&*theirs, &moved).map_err(failed))
            .map_err(RearmError::Spawn)?;
        Ok(Self { kind, timeout, method, join: Some(join) })
    }

    /// Moves the timeout. Yields when it would have expired.
    #[inline]
    pub(super) fn move_to(&self, expiry_ns: u64) -> Result<u64, RearmError> {
        let old_ns = self.timeout.set(expiry_ns);
        let moved = self.method.moved(&self.timeout, old_ns, expiry_ns);
        moved.map_err(|source| RearmError::Method { method: self.kind.name, source })?;
        Ok(old_ns)
    }

    pub(super) fn finish(mut self) -> Result<Waited, RearmError> {
        self.end();
        self.join.take().ok_or(RearmError::Gone)?.join().map_err(|_| RearmError::Gone)?
    }

    fn end(&self) {
        self.timeout.end();
        self.method.end(&self.timeout);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(join) = self.join.take() {
            self.end();
            let _ = join.join();
        }
    }
}

fn wait(method: &dyn Rearm, timeout: &Timeout) -> std::io::Result<Waited> {
    method.begin()?;
    // timerfd knows no slack; where it cannot be set, it shows as lateness.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let begun_ns = cpu_ns();
    let mut lateness = Latencies::default();
    while !timeout.is_over() {
        method.wait(timeout)?;
        let now_ns = now_ns();
        if let Some(due_ns) = timeout.deliver(now_ns) {
            lateness.record(now_ns - due_ns);
        }
    }
    Ok(Waited { lateness, cpu_ns: cpu_ns().saturating_sub(begun_ns) })
}
