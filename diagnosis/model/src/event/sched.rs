//! The scheduler: who becomes runnable, who runs, where, at which priority.

use super::{Pack, Payload, pack_halves, unpack_halves};
use crate::{CpuId, Prio, TaskId};

/// The state a task was in when it left the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TaskState {
    /// `R`: still runnable; it was preempted or yielded.
    Running = 0,
    /// `S`: sleeps and can be interrupted by a signal.
    Interruptible = 1,
    /// `D`: sleeps and cannot be interrupted.
    Uninterruptible = 2,
    /// `T`, `t`: stopped.
    Stopped = 3,
    /// `X`, `Z`: gone.
    Dead = 4,
    /// `P`: parked kernel thread.
    Parked = 5,
    /// `I`: an idle kernel thread.
    Idle = 6,
    /// Waits for a sleeping spinlock of `PREEMPT_RT` (`TASK_RTLOCK_WAIT`; traces show `D`).
    RtLock = 7,
}

impl TaskState {
    /// The letter that traces show.
    pub const fn letter(self) -> char {
        match self {
            Self::Running => 'R',
            Self::Interruptible => 'S',
            Self::Uninterruptible | Self::RtLock => 'D',
            Self::Stopped => 'T',
            Self::Dead => 'X',
            Self::Parked => 'P',
            Self::Idle => 'I',
        }
    }

    #[inline]
    const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Running,
            1 => Self::Interruptible,
            3 => Self::Stopped,
            4 => Self::Dead,
            5 => Self::Parked,
            6 => Self::Idle,
            7 => Self::RtLock,
            _ => Self::Uninterruptible,
        }
    }
}

/// A task is being woken: it becomes runnable now, and is put on `target_cpu` or, by a
/// [`Migrate`] that follows, another. `b` target, `c` CPU and priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waking {
    /// Who is woken.
    pub target: TaskId,
    /// The CPU it last ran on; [`CpuId::UNKNOWN`] where the source does not tell.
    pub target_cpu: CpuId,
    /// Its priority.
    pub prio: Prio,
}

/// A new task is put on a CPU for the first time. Fields as [`Waking`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WokenNew {
    /// The new task.
    pub target: TaskId,
    /// The CPU it starts on.
    pub target_cpu: CpuId,
    /// Its priority.
    pub prio: Prio,
}

/// A woken task is on a CPU's queue now. Fields as [`Waking`], of which it is the second half: where
/// both are told, this one says which CPU was chosen. A source that tells of migrations need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// Who may run now.
    pub target: TaskId,
    /// The CPU in whose queue it is.
    pub target_cpu: CpuId,
    /// Its priority.
    pub prio: Prio,
}

/// The CPU goes from the event's own task to `next`. `flags` state and, in bit 7, whether it was
/// preempted; `b` next, `c` both priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The state in which the event's task left.
    pub prev_state: TaskState,
    /// Its priority.
    pub prev_prio: Prio,
    /// Whether it was preempted (rather than having called the scheduler).
    pub preempted: bool,
    /// Who runs now.
    pub next: TaskId,
    /// Its priority.
    pub next_prio: Prio,
}

/// A task moves to another CPU's queue. `b` target, `c` both CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrate {
    /// Who moves.
    pub target: TaskId,
    /// From where.
    pub from: CpuId,
    /// To where.
    pub to: CpuId,
}

/// A task's priority is changed by inheritance: the event's own task boosts or releases it.
/// `flags` bit 0 released, `b` target, `c` both priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Whose priority.
    pub target: TaskId,
    /// Before.
    pub old: Prio,
    /// After; the same as `old` where a source cannot tell.
    pub new: Prio,
    /// It falls back, because who lent it a priority does so no more.
    pub released: bool,
}

macro_rules! pack_woken {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                let c = pack_halves(self.target_cpu.0, self.prio.0 as u16);
                Payload { b: self.target.0, c, ..Payload::default() }
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                let (cpu, prio) = unpack_halves(p.c);
                Self { target: TaskId(p.b), target_cpu: CpuId(cpu), prio: Prio(prio as i16) }
            }
        }
    )*};
}
pack_woken!(Waking, WokenNew, Woken);

impl Switch {
    /// The bit of `flags` that says preempted.
    pub const PREEMPTED: u8 = 0x80;
}

impl Priority {
    /// The bit of `flags` that says released.
    pub const RELEASED: u8 = 1;
}

impl Pack for Switch {
    fn pack(&self) -> Payload {
        let preempted = if self.preempted { Self::PREEMPTED } else { 0 };
        Payload {
            flags: self.prev_state as u8 | preempted,
            a: 0,
            b: self.next.0,
            c: pack_halves(self.prev_prio.0 as u16, self.next_prio.0 as u16),
        }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let (prev_prio, next_prio) = unpack_halves(p.c);
        Self {
            prev_state: TaskState::from_code(p.flags & !Self::PREEMPTED),
            prev_prio: Prio(prev_prio as i16),
            preempted: p.flags & Self::PREEMPTED != 0,
            next: TaskId(p.b),
            next_prio: Prio(next_prio as i16),
        }
    }
}

impl Pack for Migrate {
    fn pack(&self) -> Payload {
        Payload { b: self.target.0, c: pack_halves(self.from.0, self.to.0), ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let (from, to) = unpack_halves(p.c);
        Self { target: TaskId(p.b), from: CpuId(from), to: CpuId(to) }
    }
}

impl Pack for Priority {
    fn pack(&self) -> Payload {
        Payload {
            flags: if self.released { Self::RELEASED } else { 0 },
            a: 0,
            b: self.target.0,
            c: pack_halves(self.old.0 as u16, self.new.0 as u16),
        }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let (old, new) = unpack_halves(p.c);
        Self {
            target: TaskId(p.b),
            old: Prio(old as i16),
            new: Prio(new as i16),
            released: p.flags & Self::RELEASED != 0,
        }
    }
}
