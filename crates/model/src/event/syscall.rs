//! System calls of watched threads.

use super::{Pack, Payload};

/// A watched thread enters the kernel. `a` argument, `b` number, `c` operation.
///
/// The argument and the operation are those that matter: for `futex` the address and the `op`; for
/// `clock_nanosleep` and `nanosleep` the requested time in nanoseconds and the flags; for others
/// the first argument and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallEnter {
    /// The call's number on the architecture that was recorded.
    pub number: u32,
    /// Its operation or flags.
    pub op: u32,
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
        Payload { flags: 0, a: self.argument, b: self.number, c: self.op }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { number: p.b, op: p.c, argument: p.a }
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
