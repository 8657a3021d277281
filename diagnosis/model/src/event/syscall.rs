//! System calls: which, with the arguments that matter, and what they returned.

use super::{Pack, Payload, pack_halves, unpack_halves};

/// What a system call is for, where that matters to timing. Its number says the same, on one
/// architecture; this says it on all, so that nothing after a source needs to know which it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Call {
    /// Not known, because the architecture is not.
    #[default]
    Unknown = 0,
    /// Known, and none of those below.
    Other = 1,
    /// `futex`, with any timeout it may have; and `futex_wait`, `futex_waitv` and their like, as what they do.
    Futex = 2,
    /// `clock_nanosleep`.
    ClockNanosleep = 3,
    /// `nanosleep`.
    Nanosleep = 4,
    /// `poll` and `ppoll`.
    Poll = 5,
    /// `select` and `pselect6`.
    Select = 6,
    /// `epoll_wait`, `epoll_pwait` and `epoll_pwait2`.
    Epoll = 7,
    /// `timerfd_settime`.
    Timerfd = 8,
    /// `timer_settime`: POSIX timers.
    PosixTimer = 9,
    /// `setitimer` and `alarm`.
    Itimer = 10,
    /// `sched_yield`.
    Yield = 11,
}

impl Call {
    /// Every call, in the order of its code.
    pub const ALL: [Self; 12] = [
        Self::Unknown,
        Self::Other,
        Self::Futex,
        Self::ClockNanosleep,
        Self::Nanosleep,
        Self::Poll,
        Self::Select,
        Self::Epoll,
        Self::Timerfd,
        Self::PosixTimer,
        Self::Itimer,
        Self::Yield,
    ];

    /// The name by which it is known; empty where it is none in particular.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown | Self::Other => "",
            Self::Futex => "futex",
            Self::ClockNanosleep => "clock_nanosleep",
            Self::Nanosleep => "nanosleep",
            Self::Poll => "poll",
            Self::Select => "select",
            Self::Epoll => "epoll_wait",
            Self::Timerfd => "timerfd_settime",
            Self::PosixTimer => "timer_settime",
            Self::Itimer => "setitimer",
            Self::Yield => "sched_yield",
        }
    }

    #[inline]
    pub(super) const fn from_code(code: u8) -> Self {
        if (code as usize) < Self::ALL.len() { Self::ALL[code as usize] } else { Self::Unknown }
    }
}

/// What a `futex` call does, by the number in its `op` (`include/uapi/linux/futex.h`).
pub mod futex {
    /// `FUTEX_WAIT`.
    pub const WAIT: u16 = 0;
    /// `FUTEX_WAKE`.
    pub const WAKE: u16 = 1;
    /// `FUTEX_CMP_REQUEUE`.
    pub const CMP_REQUEUE: u16 = 4;
    /// `FUTEX_LOCK_PI`.
    pub const LOCK_PI: u16 = 6;
    /// `FUTEX_UNLOCK_PI`.
    pub const UNLOCK_PI: u16 = 7;
    /// `FUTEX_WAIT_BITSET`.
    pub const WAIT_BITSET: u16 = 9;
    /// `FUTEX_WAIT_REQUEUE_PI`.
    pub const WAIT_REQUEUE_PI: u16 = 11;
    /// `FUTEX_CMP_REQUEUE_PI`.
    pub const CMP_REQUEUE_PI: u16 = 12;
    /// `FUTEX_LOCK_PI2`.
    pub const LOCK_PI2: u16 = 13;

    const NAMES: [&str; 14] = [
        "WAIT",
        "WAKE",
        "FD",
        "REQUEUE",
        "CMP_REQUEUE",
        "WAKE_OP",
        "LOCK_PI",
        "UNLOCK_PI",
        "TRYLOCK_PI",
        "WAIT_BITSET",
        "WAKE_BITSET",
        "WAIT_REQUEUE_PI",
        "CMP_REQUEUE_PI",
        "LOCK_PI2",
    ];

    /// `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`, which change nothing of what is done.
    const FLAGS: u16 = 0x180;

    /// The operation without its flags.
    pub const fn operation(op: u16) -> u16 {
        op & !FLAGS
    }

    /// The kernel's name for an operation, without `FUTEX_`.
    pub fn name(op: u16) -> &'static str {
        NAMES.get(operation(op) as usize).copied().unwrap_or("unknown operation")
    }
}

/// A thread enters the kernel. `a` argument, `b` number, `c` operation and value, `flags` call.
///
/// Argument, operation and value are those that matter: for `futex` the address, the `op` and the low
/// half of `val`; for `clock_nanosleep` and `nanosleep` the requested time in nanoseconds (0 where the
/// source saw only its address) and the flags; for others the first argument and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallEnter {
    /// What it is for.
    pub call: Call,
    /// Its number on the architecture that was recorded.
    pub number: u32,
    /// Its operation or flags.
    pub op: u16,
    /// What it compares with.
    pub value: u16,
    /// Its argument.
    pub argument: u64,
}

/// A watched thread returns to user space. `a` result, `b` number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallExit {
    /// The call's number.
    pub number: u32,
    /// What it returned; errors are negative.
    pub result: i64,
}

impl Pack for SyscallEnter {
    fn pack(&self) -> Payload {
        Payload {
            flags: self.call as u8,
            a: self.argument,
            b: self.number,
            c: pack_halves(self.op, self.value),
        }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let (op, value) = unpack_halves(p.c);
        Self { call: Call::from_code(p.flags), number: p.b, op, value, argument: p.a }
    }
}

impl Pack for SyscallExit {
    fn pack(&self) -> Payload {
        Payload { a: self.result as u64, b: self.number, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { number: p.b, result: p.a as i64 }
    }
}
