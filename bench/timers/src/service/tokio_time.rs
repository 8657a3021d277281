//! tokio's sleep, by a runtime with two threads, which share its timers.

use crate::{Arms, Sleeper};
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) struct Tokio(Runtime);

impl Tokio {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
        Self(runtime.expect("a runtime with two threads"))
    }
}

impl Sleeper for Tokio {
    fn name(&self) -> &'static str {
        "tokio"
    }

    fn sleep(&self, time: Duration) {
        // Within it, as the sleep looks for its runtime when it is made.
        self.0.block_on(async { sleep(time).await });
    }

    fn arms(&self) -> Option<&dyn Arms> {
        Some(self)
    }
}

impl Arms for Tokio {
    fn arm_and_cancel(&self, pairs: u32) {
        let _within = self.0.enter();
        for _ in 0..pairs {
            // Armed when it is first polled, cancelled when it is dropped.
            let _ = pin!(sleep(HOUR)).poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
