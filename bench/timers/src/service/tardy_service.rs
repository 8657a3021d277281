//! The timer service of this project: a thread that calls back, and wakes who sleeps. As it is by
//! default: that thread has a real-time priority where it is allowed one, which no other way here has.

use crate::{Arms, Sleeper};
use std::sync::Arc;
use std::thread::{self, Thread};
use std::time::Duration;
use tardy_timers::service::{Firing, Request, Service, Target};

const HOUR_NS: u64 = 3_600_000_000_000;

pub(crate) struct Tardy {
    service: Service,
    nothing: Arc<Nothing>,
}

impl Tardy {
    pub(crate) fn new() -> Self {
        let service = Service::start().expect("a service with default settings");
        Self { service, nothing: Arc::new(Nothing) }
    }
}

/// Fires in an hour.
struct Nothing;

impl Target for Nothing {
    fn fire(&self, _: &Firing) {}
}

impl Sleeper for Tardy {
    fn name(&self) -> &'static str {
        "tardy service"
    }

    fn sleep(&self, time: Duration) {
        let until_ns = self.service.now_ns() + time.as_nanos() as u64;
        let sleeper: Thread = thread::current();
        let wake = move |_: &Firing| sleeper.unpark();
        self.service.call(Request::at(until_ns), wake).expect("there is room for a timer");
        while self.service.now_ns() < until_ns {
            thread::park();
        }
    }

    fn arms(&self) -> Option<&dyn Arms> {
        Some(self)
    }
}

impl Arms for Tardy {
    fn arm_and_cancel(&self, pairs: u32) {
        let due_ns = self.service.now_ns() + HOUR_NS;
        for _ in 0..pairs {
            let armed = self.service.arm(Request::at(due_ns), Arc::clone(&self.nothing));
            let timer = armed.expect("there is room for a timer");
            self.service.cancel(timer).expect("it is due in an hour");
        }
    }
}
