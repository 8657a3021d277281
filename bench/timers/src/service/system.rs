//! std's sleep: what the kernel does, with this thread's timer slack.

use crate::{Arms, Sleeper};
use std::thread;
use std::time::Duration;

pub(crate) struct System;

impl Sleeper for System {
    fn name(&self) -> &'static str {
        "thread::sleep"
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }

    fn arms(&self) -> Option<&dyn Arms> {
        None
    }
}
