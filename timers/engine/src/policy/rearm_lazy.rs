//! Moving a timer later is only recorded: the device keeps its earlier time and settles when that comes.
//!
//! This is the policy's own doing, over any queue; one whose next expiry may itself be earlier than the
//! true first works the same.
//!
//! Hard timers are fired in hard irq, soft ones in the common softirq thread. (Thomas Gleixner,
//! linux-kernel, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
//! `__hrtimer_get_next_event()`", 2021-04-21.)

use super::kit::{HardOrSoft, Laned};
use super::{About, Key, Rearm, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "rearm-lazy",
    proposed: "this project",
    contexts: "hard irq; common softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> Laned<T, Q, HardOrSoft> {
    HardOrSoft::with(Rearm::Lazy, settings, queue)
}
