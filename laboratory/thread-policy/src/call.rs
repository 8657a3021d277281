//! The two system calls for policies.

use crate::Policy;
use std::io;
use std::mem::size_of;

/// `struct sched_attr` of `<linux/sched/types.h>` as it was first: any kernel takes that, and tells no
/// more than the size that it is asked for.
#[repr(C)]
#[derive(Default)]
struct Raw {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SIZE: u32 = size_of::<Raw>() as u32;

/// `SCHED_FLAG_RESET_ON_FORK` of `<linux/sched.h>`.
const RESET_ON_FORK: u64 = 1;

/// A policy with what is set with it, and is forgotten where it is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// The policy.
    pub policy: Policy,
    /// The slice of `SCHED_OTHER` and `SCHED_BATCH`, which Linux has since 6.12; 0 for the kernel's own, and where none is
    /// told.
    pub slice_ns: u64,
    /// Whether children begin as ordinary threads.
    pub resets_on_fork: bool,
}

impl Attributes {
    /// Those of a policy alone.
    #[must_use]
    pub const fn of(policy: Policy) -> Self {
        Self { policy, slice_ns: 0, resets_on_fork: false }
    }
}

/// The policy of the thread of this number; 0 is the calling one.
///
/// # Errors
/// `ESRCH` where there is none; `Unsupported` where its policy is none of [`Policy`].
pub fn of(tid: u32) -> io::Result<Policy> {
    Ok(attributes(tid)?.policy)
}

/// The same with all that is set with it. Of `SCHED_IDLE` and real-time threads the kernel tells no nice value, and of
/// real-time ones no slice.
///
/// # Errors
/// As [`of`].
pub fn attributes(tid: u32) -> io::Result<Attributes> {
    let mut told = Raw::default();
    // SAFETY: the kernel writes at most the size that it is told, which is that of the struct.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut told, SIZE, 0u32) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let (prio, nice) = (told.priority as u8, told.nice as i8);
    let policy = match told.policy.cast_signed() {
        libc::SCHED_OTHER => Policy::Other { nice },
        libc::SCHED_BATCH => Policy::Batch { nice },
        libc::SCHED_IDLE => Policy::Idle,
        libc::SCHED_FIFO => Policy::Fifo { prio },
        libc::SCHED_RR => Policy::Rr { prio },
        other => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("thread {tid} has scheduling policy {other}, which tardy cannot restore"),
            ));
        }
    };
    let resets_on_fork = told.flags & RESET_ON_FORK != 0;
    Ok(Attributes { policy, slice_ns: told.runtime_ns, resets_on_fork })
}

/// Gives the thread of this number a policy; 0 is the calling one.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, `ESRCH` where there is no such thread, `EINVAL` for a priority that
/// does not exist.
pub fn set(tid: u32, policy: Policy) -> io::Result<()> {
    set_attributes(tid, &Attributes::of(policy))
}

/// The same with all that is set with it.
///
/// # Errors
/// As [`set`].
pub fn set_attributes(tid: u32, attributes: &Attributes) -> io::Result<()> {
    let policy = attributes.policy;
    if !policy.is_possible() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let (number, nice, prio) = match policy {
        Policy::Other { nice } => (libc::SCHED_OTHER, nice, 0),
        Policy::Batch { nice } => (libc::SCHED_BATCH, nice, 0),
        Policy::Idle => (libc::SCHED_IDLE, 0, 0),
        Policy::Fifo { prio } => (libc::SCHED_FIFO, 0, prio),
        Policy::Rr { prio } => (libc::SCHED_RR, 0, prio),
    };
    let wanted = Raw {
        size: SIZE,
        policy: number.cast_unsigned(),
        flags: if attributes.resets_on_fork { RESET_ON_FORK } else { 0 },
        nice: nice.into(),
        priority: prio.into(),
        runtime_ns: attributes.slice_ns,
        ..Raw::default()
    };
    // SAFETY: the kernel reads as many bytes as the struct says that it has.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const wanted, 0u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::gettid;
    use std::sync::mpsc;

    #[test]
    fn another_thread_gets_a_policy_and_its_own_again() {
        let (tell, told) = mpsc::channel();
        let (end, wait) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            let _ = wait.recv();
        });
        let tid = told.recv().unwrap();
        let before = of(tid).unwrap();
        match set(tid, Policy::Fifo { prio: 2 }) {
            Ok(()) => {
                assert_eq!(of(tid).unwrap(), Policy::Fifo { prio: 2 });
                assert_eq!(of(0).unwrap(), before, "nobody else's is changed");
                set(tid, before).unwrap();
                assert_eq!(of(tid).unwrap(), before);
            }
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
                println!("skipped: SCHED_FIFO is not permitted here");
            }
        }
        // Without any permission: less of the CPU than before.
        set(tid, Policy::Batch { nice: 19 }).unwrap();
        assert_eq!(of(tid).unwrap(), Policy::Batch { nice: 19 });
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(of(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        let error = set(0, Policy::Fifo { prio: 0 }).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
