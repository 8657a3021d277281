//! Each timer has a level, 0–3; level 0 is fired by the common softirq thread, the others by a thread
//! each. Within a level there is time order.
//!
//! A timer that inherits gets a level from its task's priority: 0 for none, then a third of the
//! priorities each. (Ingo Molnar, linux-kernel, "High resolution timers and BH processing on -RT",
//! 2005-01-28.)

use super::kit::{Laned, Rules, Served};
use super::{About, Arm, Context, Key, Settings};
use crate::queue::Queue;
use crate::{Level, Priority};
use alloc::vec::Vec;

pub(crate) const ABOUT: About = About {
    name: "levels",
    proposed: "Ingo Molnar, 2005-01-28",
    contexts: "common softirq thread; a thread per level 1–3",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, Levels> {
    Laned::new(Levels, settings, queue)
}

#[derive(Debug)]
pub(crate) struct Levels;

impl Rules for Levels {
    fn lanes(&self, settings: &Settings) -> Vec<Served> {
        let thread = |level: Level| Served {
            by: match level.number() {
                0 => Context::CommonSoftirq,
                number => Context::TimerThread(number),
            },
            priority: settings.level_priority(level.number()),
        };
        Level::all().map(thread).collect()
    }

    fn lane(&self, arm: &Arm, priority: u8) -> u8 {
        match arm.class.priority {
            Priority::Level(level) => level.number(),
            Priority::Inherit => priority.div_ceil(33),
        }
    }
}
