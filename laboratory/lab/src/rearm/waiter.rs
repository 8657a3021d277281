//! One method's timeout: who moves it, and the thread that takes down how late it is told.

use super::method::{Fires, Kind, Make, Rearm, Thread};
use super::plan::RearmError;
use super::timeout_log::TimeoutLog;
use crate::clock::{cpu_ns, now_ns};
use crate::sched::tid;
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A method with the thread that tells. Dropped, that one ends.
pub(super) struct Waiter {
    pub(super) kind: &'static Kind,
    pub(super) log: Arc<TimeoutLog>,
    notifier: Notifier,
}

enum Notifier {
    Waits(Waiting),
    Fires(Box<dyn Fires>),
}

/// A thread that was made to wait.
struct Waiting {
    method: Arc<dyn Rearm>,
    log: Arc<TimeoutLog>,
    join: Option<JoinHandle<io::Result<Thread>>>,
}

/// What is left of it.
pub(super) struct Waited {
    pub(super) thread: Thread,
    /// Timers asked of the kernel, where that was counted.
    pub(super) kernel_timers: Option<u64>,
}

impl Waiter {
    pub(super) fn start(kind: &'static Kind) -> Result<Self, RearmError> {
        let log = Arc::<TimeoutLog>::default();
        let notifier = match kind.make {
            Make::Waits(make) => {
                let method: Arc<dyn Rearm> = make().map_err(failed(kind))?.into();
                Notifier::Waits(Waiting::start(method, &log).map_err(RearmError::Spawn)?)
            }
            Make::Fires(make) => Notifier::Fires(make(Arc::clone(&log)).map_err(failed(kind))?),
        };
        Ok(Self { kind, log, notifier })
    }

    /// Moves the timeout. Yields when it would have expired.
    #[inline]
    pub(super) fn move_to(&mut self, expiry_ns: u64) -> Result<u64, RearmError> {
        let timeout = &self.log.timeout;
        let old_ns = timeout.set(expiry_ns);
        let moved = match &mut self.notifier {
            Notifier::Waits(waiting) => waiting.method.moved(timeout, old_ns, expiry_ns),
            Notifier::Fires(method) => method.moved(old_ns, expiry_ns),
        };
        moved.map_err(failed(self.kind))?;
        Ok(old_ns)
    }

    pub(super) fn finish(self) -> Result<Waited, RearmError> {
        match self.notifier {
            Notifier::Waits(mut waiting) => {
                waiting.end();
                let join = waiting.join.take().ok_or(RearmError::Gone)?;
                let waited = join.join().map_err(|_| RearmError::Gone)?;
                let kernel_timers = Some(self.log.timeout.kernel_timers());
                Ok(Waited { thread: waited.map_err(failed(self.kind))?, kernel_timers })
            }
            Notifier::Fires(mut method) => {
                let thread = method.thread().map_err(failed(self.kind))?;
                Ok(Waited { thread, kernel_timers: None })
            }
        }
    }
}

fn failed(kind: &Kind) -> impl Fn(io::Error) -> RearmError + use<> {
    let method = kind.name;
    move |source| RearmError::Method { method, source }
}

impl Waiting {
    fn start(method: Arc<dyn Rearm>, log: &Arc<TimeoutLog>) -> io::Result<Self> {
        let (theirs, looks) = (Arc::clone(&method), Arc::clone(log));
        let join = std::thread::Builder::new()
            .name("rearm-wait".to_owned())
            .spawn(move || wait(&*theirs, &looks))?;
        Ok(Self { method, log: Arc::clone(log), join: Some(join) })
    }

    fn end(&self) {
        self.log.timeout.end();
        self.method.end(&self.log.timeout);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(join) = self.join.take() {
            self.end();
            let _ = join.join();
        }
    }
}

fn wait(method: &dyn Rearm, log: &TimeoutLog) -> io::Result<Thread> {
    method.begin()?;
    // timerfd knows no slack; where it cannot be set, it shows as lateness.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let begun_ns = cpu_ns();
    while !log.timeout.is_over() {
        method.wait(&log.timeout)?;
        log.look(now_ns());
    }
    let id = tid();
    Ok(Thread { id, cpu_ns: cpu_ns().saturating_sub(begun_ns) })
}
