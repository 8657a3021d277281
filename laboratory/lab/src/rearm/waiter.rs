//! One method's timeout: who moves it, and the thread that takes down how late it is told.

use super::method::{Fires, Kind, Make, Rearm, Thread};
use super::plan::RearmError;
use super::told::Told;
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
    pub(super) told: Arc<Told>,
    teller: Teller,
}

enum Teller {
    Waits(Waiting),
    Fires(Box<dyn Fires>),
}

/// A thread that was made to wait.
struct Waiting {
    method: Arc<dyn Rearm>,
    told: Arc<Told>,
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
        let told = Arc::<Told>::default();
        let teller = match kind.make {
            Make::Waits(make) => {
                let method: Arc<dyn Rearm> = make().map_err(failed(kind))?.into();
                Teller::Waits(Waiting::start(method, &told).map_err(RearmError::Spawn)?)
            }
            Make::Fires(make) => Teller::Fires(make(Arc::clone(&told)).map_err(failed(kind))?),
        };
        Ok(Self { kind, told, teller })
    }

    /// Moves the timeout. Yields when it would have expired.
    #[inline]
    pub(super) fn move_to(&mut self, expiry_ns: u64) -> Result<u64, RearmError> {
        let timeout = &self.told.timeout;
        let old_ns = timeout.set(expiry_ns);
        let moved = match &mut self.teller {
            Teller::Waits(waiting) => waiting.method.moved(timeout, old_ns, expiry_ns),
            Teller::Fires(method) => method.moved(old_ns, expiry_ns),
        };
        moved.map_err(failed(self.kind))?;
        Ok(old_ns)
    }

    pub(super) fn finish(self) -> Result<Waited, RearmError> {
        match self.teller {
            Teller::Waits(mut waiting) => {
                waiting.end();
                let join = waiting.join.take().ok_or(RearmError::Gone)?;
                let waited = join.join().map_err(|_| RearmError::Gone)?;
                let kernel_timers = Some(self.told.timeout.kernel_timers());
                Ok(Waited { thread: waited.map_err(failed(self.kind))?, kernel_timers })
            }
            Teller::Fires(mut method) => {
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
    fn start(method: Arc<dyn Rearm>, told: &Arc<Told>) -> io::Result<Self> {
        let (theirs, looks) = (Arc::clone(&method), Arc::clone(told));
        let join = std::thread::Builder::new()
            .name("rearm-wait".to_owned())
            .spawn(move || wait(&*theirs, &looks))?;
        Ok(Self { method, told: Arc::clone(told), join: Some(join) })
    }

    fn end(&self) {
        self.told.timeout.end();
        self.method.end(&self.told.timeout);
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

fn wait(method: &dyn Rearm, told: &Told) -> io::Result<Thread> {
    method.begin()?;
    // timerfd knows no slack; where it cannot be set, it shows as lateness.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let begun_ns = cpu_ns();
    while !told.timeout.is_over() {
        method.wait(&told.timeout)?;
        told.look(now_ns());
    }
    let id = tid();
    Ok(Thread { id, cpu_ns: cpu_ns().saturating_sub(begun_ns) })
}
