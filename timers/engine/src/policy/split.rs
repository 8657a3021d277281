//! Timers of real-time tasks are fired in hard irq, or in the threaded top half; all others stay on the
//! jiffy-bound list, which the common softirq thread works off after each tick.
//!
//! So the others never program the device, and are up to a jiffy late. (Thomas Gleixner, linux-kernel,
//! "High resolution timers and BH processing on -RT", 2005-01-28.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, HARD_IRQ_PRIORITY, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "split",
    proposed: "Thomas Gleixner, 2005-01-28",
    contexts: "hard irq or threaded top half; common softirq thread",
    by_tick: true,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Split> {
    Laned::new(Split, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Split;

impl Rules for Split {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        let realtime = match settings.top_half {
            Some(priority) => Served { by: Context::TopHalf, priority },
            None => Served { by: Context::HardIrq, priority: HARD_IRQ_PRIORITY },
        };
        vec![Served { by: Context::CommonSoftirq, priority: settings.common }, realtime]
    }

    fn lane(&self, arm: &Arm, _priority: u8) -> u8 {
        u8::from(arm.is_realtime())
    }

    fn waits_for_tick(&self, arm: &Arm) -> bool {
        !arm.is_realtime()
    }
}
