//! The scheduling policy of the calling thread.

use crate::Policy;
use rustix::io::Errno;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use std::io;
use std::thread::available_parallelism;
use std::time::Duration;
use thread_priority::unix::{
    DeadlineFlags, NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
};
use thread_priority::{Error, ThreadPriority, ThreadPriorityValue};

/// What `SCHED_DEADLINE` wants to know. Deadline and period are one and the same here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) runtime_ns: u64,
    pub(crate) period_ns: u64,
}

/// Gives the calling thread `policy`. `prio` counts for FIFO and RR alone, `budget` for deadline
/// alone.
///
/// # Errors
/// What the kernel said: `EPERM` without the permission, `EBUSY` for a deadline budget that no
/// longer fits, `EINVAL` for one outside `sched_deadline_period_{min,max}_us`.
pub(crate) fn set_current(policy: Policy, prio: u8, budget: Budget) -> io::Result<()> {
    use RealtimeThreadSchedulePolicy::{Deadline, RoundRobin};
    match policy {
        Policy::Fifo => set_fifo(prio),
        Policy::Rr => set_realtime(RoundRobin, prio),
        Policy::Deadline => {
            let period = Duration::from_nanos(budget.period_ns);
            let runtime = Duration::from_nanos(budget.runtime_ns);
            let flags = DeadlineFlags::default();
            let priority = ThreadPriority::Deadline { runtime, deadline: period, period, flags };
            // This one goes to sched_setattr, which takes a thread id, not a pthread: 0 is the
            // caller. It reports −1 and leaves the reason in errno.
            set_thread_priority_and_policy(0, priority, ThreadSchedulePolicy::Realtime(Deadline))
                .map_err(|error| match error {
                    Error::OS(_) => io::Error::last_os_error(),
                    other => io::Error::other(other),
                })
        }
        Policy::Other => set_other(),
    }
}

/// Gives the calling thread `SCHED_FIFO` at `prio`, 1–99.
///
/// # Errors
/// `EPERM` without the permission.
pub(crate) fn set_fifo(prio: u8) -> io::Result<()> {
    set_realtime(RealtimeThreadSchedulePolicy::Fifo, prio)
}

fn set_realtime(policy: RealtimeThreadSchedulePolicy, prio: u8) -> io::Result<()> {
    let value = ThreadPriorityValue::try_from(prio).map_err(io::Error::other)?;
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        ThreadSchedulePolicy::Realtime(policy),
    )
    .map_err(into_io)
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// `EINVAL` where there is no such CPU for it.
pub(crate) fn bind(cpu: u16) -> io::Result<()> {
    let mut set = CpuSet::new();
    if usize::from(cpu) >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL.into());
    }
    set.set(usize::from(cpu));
    sched_setaffinity(None, &set)?;
    Ok(())
}

/// How many CPUs this process may use.
pub(crate) fn cpus() -> u64 {
    available_parallelism().map_or(1, |cpus| cpus.get() as u64)
}

/// The kernel's number of the calling thread.
pub(crate) fn tid() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

/// Gives the calling thread `SCHED_OTHER`. It inherits the policy of the one that made it; only then
/// is there something to do.
///
/// # Errors
/// What the kernel said.
pub(crate) fn set_other() -> io::Result<()> {
    let other = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    if thread_schedule_policy().map_err(into_io)? == other {
        return Ok(());
    }
    // The library sets a nice value along with the policy, the policy first. It is put back, and
    // where that or its own change is refused, what counts is the policy.
    let nice = getpriority_process(None)?;
    let middle = ThreadPriorityValue::try_from(48).map_err(io::Error::other)?;
    let middle = ThreadPriority::Crossplatform(middle);
    let set = set_thread_priority_and_policy(thread_native_id(), middle, other);
    let _ = setpriority_process(None, nice);
    if thread_schedule_policy().map_err(into_io)? == other { Ok(()) } else { set.map_err(into_io) }
}

fn into_io(error: Error) -> io::Error {
    match error {
        Error::OS(errno) => io::Error::from_raw_os_error(errno),
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { runtime_ns: 100_000, period_ns: 1_000_000 };

    /// Each policy in a thread of its own, as the kernel tells it: (policy, priority) from
    /// `/proc/thread-self/stat`, fields 41 and 40 of `proc_pid_stat(5)`.
    fn taken(policy: Policy) -> io::Result<(u32, u32)> {
        let taken = std::thread::spawn(move || {
            set_current(policy, 3, BUDGET)?;
            let stat = std::fs::read_to_string("/proc/thread-self/stat")?;
            let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
            Ok((fields[41 - 3].parse().unwrap(), fields[40 - 3].parse().unwrap()))
        });
        taken.join().unwrap()
    }

    #[test]
    fn the_kernel_agrees_or_refuses() {
        for (policy, expected) in [
            (Policy::Other, (0, 0)),
            (Policy::Fifo, (1, 3)),
            (Policy::Rr, (2, 3)),
            (Policy::Deadline, (6, 0)),
        ] {
            match taken(policy) {
                Ok(told) => assert_eq!(told, expected, "{policy:?}"),
                Err(error) => {
                    // Without the permission, or where the deadline budget is spent.
                    assert_ne!(policy, Policy::Other);
                    assert!(matches!(error.raw_os_error(), Some(1 | 16)), "{policy:?}: {error}");
                    println!("{policy:?} skipped: {error}");
                }
            }
        }
    }

    #[test]
    fn back_to_other_keeps_the_nice_value() {
        let told = std::thread::spawn(|| {
            let nice = getpriority_process(None).unwrap();
            if set_current(Policy::Fifo, 3, BUDGET).is_err() {
                println!("skipped: SCHED_FIFO is not permitted here");
                return;
            }
            set_current(Policy::Other, 0, BUDGET).unwrap();
            let other = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
            assert_eq!(thread_schedule_policy().unwrap(), other);
            assert_eq!(getpriority_process(None).unwrap(), nice);
        });
        told.join().unwrap();
    }
}
