//! The `spin_sleep` crate, as it is by default: it sleeps until a bit before, and spins.

use crate::{Arms, Sleeper};
use spin_sleep::SpinSleeper;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Spin(SpinSleeper);

impl Sleeper for Spin {
    fn name(&self) -> &'static str {
        "spin_sleep"
    }

    fn sleep(&self, time: Duration) {
        self.0.sleep(time);
    }

    fn arms(&self) -> Option<&dyn Arms> {
        None
    }
}
