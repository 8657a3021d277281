//! Who tasks are. In these events the event's own task is the one spoken of.

use super::{Pack, Payload};
use crate::{NameId, TaskId};
use std::fmt;

/// A thread's name as the kernel keeps it: at most 15 bytes, ended by a zero, in no encoding.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// From text, cut to what the kernel would keep.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; 16];
        let kept = name.len().min(15);
        bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        Self(bytes)
    }

    /// Whether there is no name.
    pub const fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(16);
        f.pad(&String::from_utf8_lossy(&self.0[..end]))
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A task's name from now on. The name fills `a`, `b` and `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The name.
    pub comm: Comm,
}

/// What is known of a task. `b` its process, `flags` as below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskInfo {
    /// The process it belongs to.
    pub process: TaskId,
    /// The flags below.
    pub flags: u8,
}

impl TaskInfo {
    /// A kernel thread.
    pub const KERNEL: u8 = 1;
    /// One of tardy's own threads that do the recording: its time is the cost of looking.
    pub const OWN: u8 = 2;
    /// The recording was made to watch this thread.
    pub const WATCHED: u8 = 4;
    /// This thread marks its own return to user space ([`Mark`](super::Mark)).
    pub const MARKS: u8 = 8;
    /// This thread's system calls are recorded, so that its return to user space is known.
    pub const SYSCALLS: u8 = 16;

    /// Its policy is `SCHED_BATCH`, as far as that was looked at.
    pub const BATCH: u8 = 32;
    /// Its policy is `SCHED_IDLE`, the same.
    pub const IDLE: u8 = 64;

    /// Whether a flag is set.
    pub const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A task is gone; its id may come again as another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskExit;

/// The control group in which a task's CPU time is counted, from now on. `flags` bit 0 throttled, `c` its
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The path, from the hierarchy's root.
    pub path: NameId,
    /// The group's bandwidth (or that of one above it) is used up: when the task leaves the CPU next,
    /// which it does now, it may not run again until there is some.
    pub throttled: bool,
}

impl TaskGroup {
    /// In `flags`.
    pub const THROTTLED: u8 = 1;
}

impl Pack for TaskGroup {
    fn pack(&self) -> Payload {
        let flags = if self.throttled { Self::THROTTLED } else { 0 };
        Payload { flags, c: self.path.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { path: NameId(p.c), throttled: p.flags & Self::THROTTLED != 0 }
    }
}

/// The CPUs on which a task may run (its affinity), from now on. `a` a bit for each of the first 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskCpus {
    /// A bit each; all of them for any CPU, none for CPUs beyond the first 64 alone.
    pub cpus: u64,
}

impl TaskCpus {
    /// It may run on any CPU.
    pub const ANY: u64 = u64::MAX;
}

impl Pack for TaskCpus {
    fn pack(&self) -> Payload {
        Payload { a: self.cpus, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { cpus: p.a }
    }
}

/// How much CPU time a control group, with all below it, may use (`cpu.max`), from now on. `a` how much, `b` in which
/// period, `c` its path. Of no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupBandwidth {
    /// The path, from the hierarchy's root.
    pub path: NameId,
    /// CPU time of all CPUs together, ns.
    pub quota_ns: u64,
    /// In each of these, ns.
    pub period_ns: u32,
}

impl Pack for GroupBandwidth {
    fn pack(&self) -> Payload {
        Payload { a: self.quota_ns, b: self.period_ns, c: self.path.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { path: NameId(p.c), quota_ns: p.a, period_ns: p.b }
    }
}

/// A control group's share of the CPU against others in the same group, from now on (`cpu.weight`); or that of a session
/// that the kernel makes a group of (`sched_autogroup`), whose path is what `/proc/PID/autogroup` calls it. `b` the weight,
/// `c` the path. Of no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupWeight {
    /// The path, from the hierarchy's root.
    pub path: NameId,
    /// As a thread of nice 0 has 1024.
    pub weight: u32,
}

impl Pack for GroupWeight {
    fn pack(&self) -> Payload {
        Payload { b: self.weight, c: self.path.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { path: NameId(p.c), weight: p.b }
    }
}

impl Pack for TaskName {
    fn pack(&self) -> Payload {
        let bytes = u128::from_le_bytes(self.comm.0);
        Payload { flags: 0, a: bytes as u64, b: (bytes >> 64) as u32, c: (bytes >> 96) as u32 }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        let bytes = u128::from(p.a) | u128::from(p.b) << 64 | u128::from(p.c) << 96;
        Self { comm: Comm(bytes.to_le_bytes()) }
    }
}

impl Pack for TaskInfo {
    fn pack(&self) -> Payload {
        Payload { flags: self.flags, b: self.process.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { process: TaskId(p.b), flags: p.flags }
    }
}

impl Pack for TaskExit {
    fn pack(&self) -> Payload {
        Payload::default()
    }

    #[inline]
    fn unpack(_: Payload) -> Self {
        Self
    }
}
