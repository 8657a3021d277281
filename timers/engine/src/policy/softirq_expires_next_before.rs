//! The bug: the cached expiry time of the softirq is not updated when a soft timer that was first is
//! removed and a hard timer comes first then.
//!
//! The stale time is early, so a soft timer that is moved later never looks like the first one again:
//! its rearm practically never programs the device, and it may be late, up to the next interrupt.
//!
//! (Thomas Gleixner, linux-kernel, "Re: \[PATCH\] hrtimer: Update `softirq_expires_next` correctly after
//! `__hrtimer_get_next_event()`", 2021-04-21.)

use super::kit::SoftirqBase;
use super::{About, Key, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "softirq-expires-next-before",
    proposed: "kernel commit 5da70160462e",
    contexts: "hard irq; common softirq thread",
    by_tick: false,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> SoftirqBase<T, Q> {
    SoftirqBase::new(false, settings, queue)
}
