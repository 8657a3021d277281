//! tokio's clock, stopped and moved by hand. A tick is a millisecond, the resolution of its timers.

use std::time::Duration;
use tokio::runtime::{Builder, EnterGuard, Runtime};
use tokio::time::{Instant, advance};

pub(super) struct TokioClock {
    // Timers are made within a runtime, and this stays within it.
    _within: EnterGuard<'static>,
    runtime: &'static Runtime,
    start: Instant,
    now: u64,
}

impl TokioClock {
    /// A runtime of its own, which lasts as long as the process: there are a few of them.
    pub(super) fn start() -> Self {
        // Stopped from the beginning, so that its milliseconds and these begin at one time.
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime: &'static Runtime = Box::leak(Box::new(runtime.expect("a thread's runtime")));
        let within = runtime.enter();
        Self { _within: within, runtime, start: Instant::now(), now: 0 }
    }

    pub(super) fn at(&self, ticks: u64) -> Instant {
        self.start + Duration::from_millis(ticks)
    }

    /// Moves the clock on and lets the runtime look which of its timers are due.
    pub(super) fn reach(&mut self, now: u64) {
        if now > self.now {
            self.runtime.block_on(advance(Duration::from_millis(now - self.now)));
            self.now = now;
        }
    }
}
