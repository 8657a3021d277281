//! The two system calls for policies.

use crate::Policy;
use std::io;
use std::mem::size_of;

/// `struct sched_attr` of `<linux/sched/types.h>` as it was first: any kernel takes that, and tells no
/// more than the size that it is asked for.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SIZE: u32 = size_of::<Attributes>() as u32;

/// The policy of the thread of this number; 0 is the calling one.
///
/// # Errors
/// `ESRCH` where there is none; `Unsupported` where its policy is none of [`Policy`].
pub fn of(tid: u32) -> io::Result<Policy> {
    let mut told = Attributes::default();
    // SAFETY: the kernel writes at most the size that it is told, which is that of the struct.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut told, SIZE, 0u32) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let (prio, nice) = (told.priority as u8, told.nice as i8);
    match told.policy.cast_signed() {
        libc::SCHED_OTHER => Ok(Policy::Other { nice }),
        libc::SCHED_BATCH => Ok(Policy::Batch { nice }),
        libc::SCHED_IDLE => Ok(Policy::Idle),
        libc::SCHED_FIFO => Ok(Policy::Fifo { prio }),
        libc::SCHED_RR => Ok(Policy::Rr { prio }),
        other => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("thread {tid} has scheduling policy {other}, which tardy cannot restore"),
        )),
    }
}

/// Gives the thread of this number a policy; 0 is the calling one.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, `ESRCH` where there is no such thread, `EINVAL` for a priority that
/// does not exist.
pub fn set(tid: u32, policy: Policy) -> io::Result<()> {
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
    let wanted = Attributes {
        size: SIZE,
        policy: number.cast_unsigned(),
        nice: nice.into(),
        priority: prio.into(),
        ..Attributes::default()
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
