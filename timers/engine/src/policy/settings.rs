//! What can be set about a policy.

use super::{Arm, THREAD_PRIORITY_MAX};
use crate::Priority;
use core::num::NonZeroU64;

/// What can be set about a policy. Each reads what concerns it and ignores the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For how many timers there is room before anything is allocated.
    pub timers: usize,
    /// The tick's period, ns. Ticks are at its multiples.
    pub jiffy_ns: NonZeroU64,
    /// The clock when the policy begins, ns: the first tick is the first one after it.
    pub start_ns: u64,
    /// Priority of the common softirq thread, and of level 0.
    pub common: u8,
    /// Priority of a timer softirq thread of its own.
    pub timer_thread: u8,
    /// `split`: priority of the threaded top half; `None` leaves real-time timers in hard irq.
    /// `jiffy-list-race`: the same thread counts the jiffies; `None` leaves that to the interrupt.
    pub top_half: Option<u8>,
    /// Priorities of the threads of levels 1–3.
    pub levels: [u8; 3],
    /// `deferred`: whether what is deferred has a thread of its own, at [`timer_thread`], or goes to
    /// the common softirq thread.
    ///
    /// [`timer_thread`]: Self::timer_thread
    pub deferred_own_thread: bool,
    /// `split-jiffy`: the interrupt waits for a timer that is due so soon after it, ns, rather than
    /// program the device for it. 0 waits for none.
    pub too_close_ns: u64,
    /// How often an interrupt looks for timers that are due before it gives up, and puts the next one off by as long as
    /// it has taken: 3 in `hrtimer_interrupt` (`kernel/time/hrtimer.c`) for many years. 0 never gives up, and looks
    /// after each callback. The policies with lists per jiffy are older, and never give up.
    pub rounds: u32,
    /// When the device is programmed. The policies that are named after one of these have theirs;
    /// those with lists per jiffy, whose device is periodic, and the `softirq-expires-next` ones
    /// have their own rule.
    pub rearm: Rearm,
}

impl Default for Settings {
    /// HZ = 1000, ksoftirqd an ordinary task; 70 and 90 are the priorities with which Thomas Gleixner
    /// measured (linux-kernel, "High resolution timers and BH processing on -RT", 2005-01-28); those
    /// of levels 1–3 are a choice: 50, 70 and 90.
    fn default() -> Self {
        Self {
            timers: 0,
            jiffy_ns: NonZeroU64::new(1_000_000).unwrap_or(NonZeroU64::MIN),
            start_ns: 0,
            common: 0,
            timer_thread: 70,
            top_half: None,
            levels: [50, 70, 90],
            deferred_own_thread: false,
            too_close_ns: 0,
            rounds: 0,
            rearm: Rearm::Single,
        }
    }
}

impl Settings {
    /// The priority that a timer has: its task's, or that of its level's thread; none where no thread fires it.
    pub(crate) fn priority(&self, arm: &Arm) -> u8 {
        if arm.hard {
            return 0;
        }
        match arm.class.priority {
            Priority::Inherit => thread_priority(arm.task_priority),
            Priority::Level(level) => self.level_priority(level.number()),
        }
    }

    /// The priority of a level's thread.
    pub(crate) fn level_priority(&self, level: u8) -> u8 {
        let own = usize::from(level).checked_sub(1).and_then(|at| self.levels.get(at));
        thread_priority(*own.unwrap_or(&self.common))
    }
}

/// Bounded by [`THREAD_PRIORITY_MAX`].
pub(crate) fn thread_priority(priority: u8) -> u8 {
    priority.min(THREAD_PRIORITY_MAX)
}

/// When the clock-event device is programmed.
///
/// Seen from outside of the interrupt, which programs once when it ends, whatever the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Rearm {
    /// A rearm is a removal and a start, each of which programs if it changes what comes first: moving
    /// the first timer programs for who was second, and again if the timer is still the first.
    EagerDouble,
    /// A rearm programs once, if it changes what comes first.
    #[default]
    Single,
    /// Only what is due earlier than the device is programmed for programs it. Moving later and
    /// cancelling are only recorded: the device keeps its earlier time and settles when that comes.
    Lazy,
    /// As `Single`; and coarse timers live in a wheel that is looked at in the tick and never programs
    /// the device.
    Wheel,
}
