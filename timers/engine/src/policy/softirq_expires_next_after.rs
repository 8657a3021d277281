//! The bug that `softirq-expires-next-before` has, fixed (kernel commit 46eb1701c0): the cached time
//! is updated wherever the first soft timer may have changed. A rearm still programs twice.
//!
//! (Thomas Gleixner, linux-kernel, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
//! `__hrtimer_get_next_event()`", 2021-04-21.)

use super::kit::SoftirqBase;
use super::{About, Key, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "softirq-expires-next-after",
    proposed: "kernel commit 46eb1701c0",
    contexts: "hard irq; common softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> SoftirqBase<T, Q> {
    SoftirqBase::new(true, settings, queue)
}
