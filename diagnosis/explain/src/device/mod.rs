//! How often the clock-event device of each CPU is programmed, by the events of its timers.
//!
//! No event tells it. But the kernel follows a rule, and the rule needs only what events tell: which
//! high-resolution timers a CPU has armed. The rule (`kernel/time/hrtimer.c` since "hrtimer: Avoid
//! double reprogramming in `__hrtimer_start_range_ns()`", Thomas Gleixner, 2021; the same in 6.18):
//!
//! | what happens | the device is programmed |
//! |---|---|
//! | a timer is armed | if it expires earlier than what the device is set for |
//! | the first timer is cancelled | if the next one expires at another time; with none, it is stopped |
//! | the first timer is moved by one `hrtimer_start` | once, if there is now another time to wait for |
//! | the timer interrupt ends | once, for whatever is first now |
//! | arms within that interrupt | no: its end does it |
//! | the softirq of timers ends | if a timer of its own is earlier than what the device is set for |
//! | a timer of another CPU is cancelled | no |
//! | the scheduler's tick (`hrtick`) is moved to later, or cancelled | no (Linux 7.3) |
//!
//! timerfd, POSIX timers and sleeps never move a timer: they cancel and arm it, which is two rows. Some
//! kernels tell of a move by a cancel and an arm, others (Linux 6.18) by an arm alone.
//!
//! What is approximated: timers that were armed before the stream began, or during a loss, are not
//! known until they expire; a CPU counts from the end of its first timer interrupt on, when the tick is
//! known. A timer is armed where it is asked for, though an idle CPU may hand it on. A write that the
//! kernel repeats because its time has passed counts once. In Linux 7.3 the device may be set only when the
//! interrupt has led to a switch (`CONFIG_HRTIMER_REARM_DEFERRED`), so that what is armed in that switch is
//! counted though it costs nothing. Nothing is counted where the kernel itself
//! programs the device past its timers (idle states, low resolution).
//!
//! Held against what the kernel wrote to the device (`msr:write_msr` of the TSC deadline, Linux 6.18 in
//! a guest, 2.3 s of moved timeouts): 41,332 followed, 41,358 written.

mod first;
mod follower;

pub use follower::{ARMED_MAX, DeviceFollower};

use crate::seen::Seen;
use tardy_followers::Followers;
use tardy_model::{Batch, CpuId, Tables, TaskId, TimerDef};

/// The device of a CPU was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Programming {
    /// When.
    pub time_ns: u64,
    /// Where.
    pub cpu: CpuId,
    /// Why.
    pub why: Why,
    /// The timer that was armed, cancelled or moved; of an interrupt, the first that expired in it. An
    /// entry with id 0 where there is none.
    pub timer: TimerDef,
    /// Whose timer that is: the thread that sleeps on it, or that armed it; [`TaskId::IDLE`] where it is no
    /// thread's, or not known.
    pub by: TaskId,
}

/// Why a device was programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A timer was armed that is the first now.
    Armed,
    /// The first timer was cancelled.
    Cancelled,
    /// The first timer was moved in one call.
    Moved,
    /// The timer interrupt ended.
    Interrupt,
    /// The softirq of timers ended.
    Softirq,
}

/// Follows the devices of all CPUs through a stream that nobody else follows. Pure: time comes in as
/// numbers.
#[derive(Debug)]
pub struct Devices {
    tables: Tables,
    followers: Followers,
    devices: DeviceFollower,
}

impl Default for Devices {
    fn default() -> Self {
        // Nothing of the past is asked for.
        let (tables, followers) = (Tables::default(), Followers::new(0));
        Self { tables, followers, devices: DeviceFollower::default() }
    }
}

impl Devices {
    /// Takes a batch: its definitions, then its events. `told` gets each programming, in order.
    pub fn batch(&mut self, batch: &Batch, mut told: impl FnMut(&Programming)) {
        let Self { tables, followers, devices } = self;
        batch.define(tables);
        followers.timers.define(&batch.timers);
        for event in &batch.events {
            let kind = event.kind();
            let followed = followers.event(event, &kind, tables);
            let (kind, followed) = (&kind, &followed);
            devices.event(&Seen { event, kind, followed, followers, tables }, &mut told);
        }
    }

    /// Losses told of so far: after each a CPU counts nothing until its next timer interrupt has ended.
    pub fn losses(&self) -> u64 {
        self.devices.losses
    }

    /// Expiries of timers that were not seen to be armed, and expiries not seen that must have been: there
    /// the kernel was silent.
    pub fn unseen(&self) -> u64 {
        self.devices.unseen
    }

    /// Timers not followed, see [`ARMED_MAX`].
    pub fn left_out(&self) -> u64 {
        self.devices.left_out
    }
}
