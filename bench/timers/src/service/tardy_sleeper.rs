//! The sleeper of this project: the kernel sleeps most of it, the rest is spun.

use crate::{Arms, Sleeper};
use std::cell::RefCell;
use std::time::Duration;
use tardy_timers::sleep::{self, Precision};

pub(crate) struct Tardy {
    name: &'static str,
    precision: Precision,
    /// While there is one, its thread has a timer slack of 1 ns, which the other ways have not.
    sleeper: RefCell<Option<sleep::Sleeper>>,
}

impl Tardy {
    pub(crate) fn balanced() -> Self {
        Self::new("tardy balanced", Precision::Balanced)
    }

    pub(crate) fn exact() -> Self {
        Self::new("tardy exact", Precision::Exact)
    }

    fn new(name: &'static str, precision: Precision) -> Self {
        Self { name, precision, sleeper: RefCell::new(None) }
    }
}

impl Sleeper for Tardy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sleep(&self, time: Duration) {
        let mut sleeper = self.sleeper.borrow_mut();
        sleeper.get_or_insert_with(|| sleep::Sleeper::new(self.precision)).sleep_for(time);
    }

    fn rest(&self) {
        self.sleeper.replace(None);
    }

    fn arms(&self) -> Option<&dyn Arms> {
        None
    }
}
