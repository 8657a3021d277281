//! Waits: what a thread slept for, and for how long. A wait is what it asked for, never a lateness.

use crate::label::Label;
use tardy_model::event::{Call, SyscallEnter, TaskState, futex};
use tardy_model::{BlockedOn, Culprit, NameId, TaskId, WakeupKind};

/// What a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// For its own timer: the time that it had asked for.
    Timer,
    /// For a lock.
    Lock,
    /// For a spinlock of `PREEMPT_RT`, or frozen: its switch shows it as one that could run, as some kernels do of both.
    LockOrFrozen,
    /// For a condition of another thread's (futex).
    Condition,
    /// For a device: state D, ended by an interrupt, a softirq or a thread of the kernel's.
    Io,
    /// It was woken, what its call waits for was not true yet, and it slept again in the same call.
    NotYet,
    /// It had given the CPU away (`sched_yield`), until it had it back.
    Yielded,
    /// A signal, a tracer or a debugger had stopped it, until it was made to go on.
    Stopped,
    /// For an event: a message, a signal, another thread.
    Event,
}

impl WaitKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Timer,
        Self::Lock,
        Self::LockOrFrozen,
        Self::Condition,
        Self::Io,
        Self::NotYet,
        Self::Yielded,
        Self::Stopped,
        Self::Event,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Lock => "lock",
            Self::LockOrFrozen => "lock_or_frozen",
            Self::Condition => "condition",
            Self::Io => "io",
            Self::NotYet => "not_true_yet",
            Self::Yielded => "yielded",
            Self::Stopped => "stopped",
            Self::Event => "event",
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Timer => "for its own timer",
            Self::Lock => "for a lock",
            Self::LockOrFrozen => {
                "for a spinlock of PREEMPT_RT, or frozen (the trace does not tell which)"
            }
            Self::Condition => "for a condition",
            Self::Io => "for a device (I/O)",
            Self::NotYet => "again in the same call, because the condition was not true yet",
            Self::Yielded => "for the CPU that it had given away (sched_yield)",
            Self::Stopped => "to go on after a stop (signal, tracer or debugger)",
            Self::Event => "for an event",
        }
    }
}

/// What a lock has in its word while somebody waits for it, by glibc, musl and Rust alike: a
/// `FUTEX_WAIT` for this value is a mutex', for any other a condition's, a semaphore's, a counter's.
const CONTENDED: u16 = 2;

/// Whether a call waits until it has a lock.
pub(crate) fn waits_for_lock(call: SyscallEnter) -> bool {
    call.call == Call::Futex
        && match futex::operation(call.op) {
            futex::LOCK_PI | futex::LOCK_PI2 => true,
            futex::WAIT | futex::WAIT_BITSET => call.value == CONTENDED,
            _ => false,
        }
}

/// A sleep while it lasts; or, where the thread can run on, the time for which it has given the CPU away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    pub(crate) since_ns: u64,
    pub(crate) state: TaskState,
    /// The call it is in, where that is known.
    pub(crate) call: Option<SyscallEnter>,
    /// It slept in this call before.
    pub(crate) again: bool,
    /// It had lent its priority to whoever has what it waits for.
    pub(crate) boosts: bool,
    /// It was shown as one that could run.
    shown_runnable: bool,
}

impl Sleep {
    /// A thread gives the CPU away.
    pub(crate) fn yielding(since_ns: u64) -> Self {
        let state = TaskState::Running;
        Self { since_ns, state, call: None, again: false, boosts: false, shown_runnable: false }
    }

    /// A thread sleeps; `call` is the one it is in, `again` if it slept there before, `boosts` if it has lent its
    /// priority.
    pub(crate) fn shown(
        since_ns: u64,
        state: TaskState,
        call: Option<SyscallEnter>,
        again: bool,
        boosts: bool,
    ) -> Self {
        Self { since_ns, state, call, again, boosts, shown_runnable: false }
    }

    /// A thread slept that was shown as one that could run. Kernels before 5.18 have no letter for the state of one that
    /// waits for a spinlock of `PREEMPT_RT` (`TASK_RTLOCK_WAIT`), those from 6.1 to 6.13 none for a frozen one (`TASK_FROZEN`).
    /// Who `boosts` waits for a lock.
    pub(crate) fn shown_runnable(since_ns: u64, boosts: bool) -> Self {
        Self { boosts, shown_runnable: true, ..Self::yielding(since_ns) }
    }

    /// What it was for, now that it is known what ended it; `own_timer` where that was its timer, and
    /// `by_kernel` where a thread of the kernel's did.
    pub(crate) fn kind(&self, by: WakeupKind, own_timer: bool, by_kernel: bool) -> WaitKind {
        let in_futex = self.call.is_some_and(|call| call.call == Call::Futex);
        let is_lock = self.call.is_some_and(waits_for_lock);
        if self.state == TaskState::Stopped {
            WaitKind::Stopped
        } else if own_timer {
            WaitKind::Timer
        } else if is_lock || self.boosts || self.state == TaskState::RtLock {
            WaitKind::Lock
        } else if self.shown_runnable {
            WaitKind::LockOrFrozen
        } else if self.state == TaskState::Uninterruptible {
            match by {
                WakeupKind::Task if !by_kernel => WaitKind::Lock,
                _ => WaitKind::Io,
            }
        } else if self.again {
            WaitKind::NotYet
        } else if in_futex {
            WaitKind::Condition
        } else {
            WaitKind::Event
        }
    }
}

/// A wait that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    pub(crate) task: TaskId,
    pub(crate) kind: WaitKind,
    pub(crate) since_ns: u64,
    pub(crate) ns: u64,
    pub(crate) ended_by: Culprit,
    /// Where in the kernel it slept, where a stack tells.
    pub(crate) slept_in: NameId,
}

impl Waited {
    /// `task` has waited in this sleep until `time_ns`.
    pub(crate) fn of(
        task: TaskId,
        sleep: &Sleep,
        kind: WaitKind,
        time_ns: u64,
        ended_by: Culprit,
    ) -> Self {
        let since_ns = sleep.since_ns;
        let (ns, slept_in) = (time_ns.saturating_sub(since_ns), NameId::NONE);
        Self { task, kind, since_ns, ns, ended_by, slept_in }
    }
}

/// All waits of a kind.
#[derive(Clone, Debug)]
pub struct WaitFinding {
    /// Which kind.
    pub kind: WaitKind,
    /// How many.
    pub count: u64,
    /// How long, together.
    pub ns: u64,
    /// The longest of them.
    pub longest: LongestWait,
}

/// The longest wait of a kind.
#[derive(Clone, Debug, Default)]
pub struct LongestWait {
    /// Who waited.
    pub victim: Label,
    /// Since when.
    pub since_ns: u64,
    /// How long.
    pub ns: u64,
    /// What ended it.
    pub ended_by: Label,
    /// Where in the kernel it slept, as the frames of [`Stack`](tardy_model::event::Stack); empty where no stack tells.
    pub slept_in: String,
}

/// Sums over waits.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    kinds: [Option<WaitFinding>; WaitKind::ALL.len()],
    /// Whose the longest of each kind is.
    of: [TaskId; WaitKind::ALL.len()],
}

impl Waits {
    /// `label` is asked only for the longest.
    pub(crate) fn add(&mut self, waited: &Waited, mut label: impl FnMut(Culprit) -> Label) {
        let Waited { kind, ns, since_ns, .. } = *waited;
        let sum = self.kinds[kind as usize].get_or_insert_with(|| WaitFinding {
            kind,
            count: 0,
            ns: 0,
            longest: LongestWait::default(),
        });
        sum.count += 1;
        sum.ns = sum.ns.saturating_add(ns);
        if ns > sum.longest.ns {
            let victim = label(Culprit::Task(waited.task));
            let ended_by = label(waited.ended_by);
            let slept_in = match waited.slept_in {
                NameId::NONE => String::new(),
                stack => label(Culprit::Function(stack)).name,
            };
            sum.longest = LongestWait { victim, since_ns, ns, ended_by, slept_in };
            self.of[kind as usize] = waited.task;
        }
    }

    /// A task's sleep that began at a time was there, as is told after its end.
    pub(crate) fn slept(&mut self, task: TaskId, since_ns: u64, frames: impl Fn() -> String) {
        for (sum, of) in self.kinds.iter_mut().zip(self.of) {
            let Some(sum) = sum else { continue };
            let longest = &mut sum.longest;
            if of == task && longest.since_ns == since_ns && longest.slept_in.is_empty() {
                longest.slept_in = frames();
            }
        }
    }

    pub(crate) fn into_findings(self) -> Vec<WaitFinding> {
        self.kinds.into_iter().flatten().collect()
    }
}

/// What a victim waits for, by the state in which it left and what it is known to ask for.
pub(crate) fn blocked_on(
    state: TaskState,
    faults: bool,
    lock: Option<u64>,
    boosts: bool,
) -> BlockedOn {
    match (state, lock) {
        _ if faults => BlockedOn::Page,
        // A sleeping spinlock, or a mutex of the kernel's: user space waits in state S.
        (TaskState::RtLock, _) => BlockedOn::KernelLock,
        (TaskState::Uninterruptible, lock) if lock.is_some() || boosts => BlockedOn::KernelLock,
        (TaskState::Interruptible, Some(address)) => BlockedOn::Futex(address),
        _ => BlockedOn::Unknown,
    }
}
