//! A timer's life: armed, cancelled, pending, expired.

use super::syscall::Call;
use super::{Pack, Payload};
use crate::{Prio, TaskId, TimerId};

/// How a timer was armed: bits as the kernel has them in `enum hrtimer_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerMode(pub u8);

impl TimerMode {
    /// The request was relative to now.
    pub const REL: u8 = 1;
    /// Bound to the CPU that armed it.
    pub const PINNED: u8 = 2;
    /// Expires in softirq context.
    pub const SOFT: u8 = 4;
    /// Expires in hard interrupt context even on `PREEMPT_RT`.
    pub const HARD: u8 = 8;
    /// Expires in a thread that the kernel has for timers; the kernel's own enumeration has no such bit, and
    /// only an [`ExpireBegin`] tells it, where the source knows.
    pub const IN_THREAD: u8 = 16;

    /// Whether it expires in softirq context.
    pub const fn is_soft(self) -> bool {
        self.0 & Self::SOFT != 0
    }

    /// Whether the interrupt only puts it off: to the softirq, or to a thread.
    pub const fn is_deferred(self) -> bool {
        self.is_soft() || self.is_in_thread()
    }

    /// Whether it expires in a thread that the kernel has for timers.
    pub const fn is_in_thread(self) -> bool {
        self.0 & Self::IN_THREAD != 0
    }
}

/// A timer was armed, or armed again. `a` soft expiry, `b` slack, `c` timer, `flags` mode and, in the
/// high half, the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerArm {
    /// Which timer.
    pub timer: TimerId,
    /// The earliest time it may fire.
    pub soft_ns: u64,
    /// Hard minus soft expiry; `u32::MAX` where it is more than 4.29 s.
    pub slack_ns: u32,
    /// How it was armed.
    pub mode: TimerMode,
    /// The system call in which the event's task armed it; [`Call::Unknown`] too where no task did.
    pub call: Call,
}

/// A timer's callback begins. Fields as in [`TimerArm`], so that a timer armed before the recording
/// began is known all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpireBegin {
    /// Which timer.
    pub timer: TimerId,
    /// The earliest time it was allowed to fire.
    pub soft_ns: u64,
    /// Hard minus soft expiry; `u32::MAX` where it is more than 4.29 s.
    pub slack_ns: u32,
    /// How it was armed, as far as the source tells: [`TimerMode::SOFT`] is always told.
    pub mode: TimerMode,
}

/// A timer has expired, and a thread that the kernel has for timers is woken to run its callback, and those of
/// others that are due with it. `b` thread, `c` timer, `flags` the thread's priority, 255 for deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerPending {
    /// The first of those that are due.
    pub timer: TimerId,
    /// The thread.
    pub thread: TaskId,
    /// Its priority from now on: a thread may take on that of who armed the timer.
    pub prio: Prio,
}

/// A timer was cancelled. `c` timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerCancel {
    /// Which timer.
    pub timer: TimerId,
}

/// A timer's callback has returned. `c` timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpireEnd {
    /// Which timer.
    pub timer: TimerId,
}

/// The bits of `flags` that hold the mode; above them is the call.
const MODE_BITS: u8 = 4;

impl Pack for TimerArm {
    fn pack(&self) -> Payload {
        let mode = self.mode.0 & ((1 << MODE_BITS) - 1);
        Payload {
            flags: mode | (self.call as u8) << MODE_BITS,
            a: self.soft_ns,
            b: self.slack_ns,
            c: self.timer.0,
        }
    }
    #[inline]
    fn unpack(p: Payload) -> Self {
        Self {
            timer: TimerId(p.c),
            soft_ns: p.a,
            slack_ns: p.b,
            mode: TimerMode(p.flags & ((1 << MODE_BITS) - 1)),
            call: Call::from_code(p.flags >> MODE_BITS),
        }
    }
}

impl Pack for ExpireBegin {
    fn pack(&self) -> Payload {
        Payload { flags: self.mode.0, a: self.soft_ns, b: self.slack_ns, c: self.timer.0 }
    }
    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { timer: TimerId(p.c), soft_ns: p.a, slack_ns: p.b, mode: TimerMode(p.flags) }
    }
}

impl Pack for TimerPending {
    fn pack(&self) -> Payload {
        let flags = u8::try_from(self.prio.0).unwrap_or(u8::MAX);
        Payload { flags, a: 0, b: self.thread.0, c: self.timer.0 }
    }
    #[inline]
    fn unpack(p: Payload) -> Self {
        let prio = Prio(if p.flags == u8::MAX { -1 } else { p.flags.into() });
        Self { timer: TimerId(p.c), thread: TaskId(p.b), prio }
    }
}

macro_rules! pack_timer_alone {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                Payload { c: self.timer.0, ..Payload::default() }
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                Self { timer: TimerId(p.c) }
            }
        }
    )*};
}
pack_timer_alone!(TimerCancel, ExpireEnd);
