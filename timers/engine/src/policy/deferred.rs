//! As `hardirq`, but the timers on which threads sleep that are not real-time are fired in a softirq
//! thread; and so are those that ask for it.
//!
//! It can be switched off and on at any time. The switch is read when a timer is armed, as in the
//! proposal: who is armed already keeps its context, so nothing is lost and each context stays in time
//! order. (Gratian Crisan, "latency induced by hrtimer stacking", 2017-01-04.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, HARD_IRQ_PRIORITY, Key, Settings};
use crate::queue::Queue;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "deferred",
    proposed: "Gratian Crisan, 2017-01-04",
    contexts: "hard irq; common softirq thread or own",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Deferred> {
    Laned::new(Deferred { on: true }, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Deferred {
    on: bool,
}

impl Rules for Deferred {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        let softirq = if settings.deferred_own_thread {
            Served { by: Context::TimerThread(0), priority: settings.timer_thread }
        } else {
            Served { by: Context::CommonSoftirq, priority: settings.common }
        };
        vec![softirq, Served { by: Context::HardIrq, priority: HARD_IRQ_PRIORITY }]
    }

    fn lane(&self, arm: &Arm, _priority: u8) -> u8 {
        u8::from(!(arm.soft || self.on && arm.sleeper && !arm.is_realtime()))
    }

    fn defer(&mut self, on: bool) -> bool {
        self.on = on;
        true
    }
}
