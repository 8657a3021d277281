//! As `jiffy-list`, with the race that its author saw in the kernel of January 2005: the interrupt raises the
//! softirq, and the thread that the interrupt's handler was made into ([`Settings::top_half`]) counts the jiffy.
//!
//! A softirq that runs before that thread goes by the jiffy before and does nothing: coarse timers wait for the next
//! jiffy, precise ones for some of it, as they were due. Which runs first is a matter of the two threads' priorities.
//! Without a threaded handler it is `jiffy-list`. (George Anzinger, linux-kernel, "Re: High resolution timers and BH
//! processing on -RT", 2005-01-28.)

use super::kit::{EdgeWork, JiffyLists};
use super::{About, Key, Settings};
use crate::queue::Queue;

pub(crate) const ABOUT: About = About {
    name: "jiffy-list-race",
    proposed: "seen by George Anzinger, 2005-01-28",
    contexts: "hard irq; common softirq thread",
    by_tick: true,
};

pub(crate) fn new<T, Q: Queue<Key>>(
    settings: &Settings,
    queue: &dyn Fn() -> Q,
) -> JiffyLists<T, Q> {
    JiffyLists::new(EdgeWork::InSoftirq, settings, queue).counted_by_top_half()
}
