//! A thread by its number, and not a later one of the same.

use procfs::process::Process;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io;
use tardy_changes::CpuList;

/// A thread of any process, or of the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// When it began, in ticks since boot: tells it from a later one of its number.
    pub start: u64,
    /// What it is called, for people. It may call itself something else later.
    pub name: String,
}

/// A thread that has another name by now is the same.
impl PartialEq for Thread {
    fn eq(&self, other: &Self) -> bool {
        (self.tid, self.start) == (other.tid, other.start)
    }
}

impl Eq for Thread {}

impl Thread {
    /// The thread of this number; `None` where there is none.
    pub fn of(tid: u32) -> Option<Self> {
        let stat = Process::new(tid.cast_signed()).and_then(|process| process.stat()).ok()?;
        Some(Self { tid, start: stat.starttime, name: stat.comm })
    }

    /// Whether it still is.
    pub fn is_there(&self) -> bool {
        Self::of(self.tid).is_some_and(|now| now.start == self.start)
    }

    /// Whether it began after a time of `CLOCK_MONOTONIC`, as far as ticks tell. Who began before the system was last
    /// suspended and after a time before that counts as one that did not.
    pub fn began_after(&self, monotonic_ns: u64) -> bool {
        let ns = |clock| {
            let now = clock_gettime(clock);
            now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
        };
        let suspended_ns = ns(ClockId::Boottime).saturating_sub(ns(ClockId::Monotonic));
        let tick_ns = 1_000_000_000 / procfs::ticks_per_second().max(1);
        self.start > monotonic_ns.saturating_add(suspended_ns) / tick_ns
    }

    /// `audio (29014)`.
    pub fn words(&self) -> String {
        format!("{} ({})", self.name, self.tid)
    }

    pub(super) fn pid(&self) -> io::Result<Pid> {
        Pid::from_raw(self.tid.cast_signed())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no thread 0"))
    }

    /// What it may run on, CPUs that are offline among it: `sched_getaffinity(2)` leaves those out, and who puts that back
    /// takes them away for good.
    pub(super) fn affinity(&self) -> io::Result<CpuList> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.tid))?;
        let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let cpus = list.and_then(CpuList::parse).filter(|cpus| !cpus.is_empty());
        cpus.ok_or_else(|| io::Error::other("the kernel gives no CPUs"))
    }

    pub(super) fn set_affinity(&self, cpus: &CpuList) -> io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        Ok(sched_setaffinity(Some(self.pid()?), &set)?)
    }
}

/// The threads of a process; none where it is not one. At most so many.
pub(crate) fn threads_of(process: u32, threads_max: usize) -> Vec<Thread> {
    let Ok(process) = Process::new(process.cast_signed()) else { return Vec::new() };
    let tasks = process.tasks().into_iter().flatten();
    tasks.filter_map(|task| Thread::of(task.ok()?.tid.cast_unsigned())).take(threads_max).collect()
}

/// The process of a thread.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    let status = Process::new(tid.cast_signed()).ok()?.status().ok()?;
    Some(status.tgid.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_began_later_is_told_from_who_was_there() {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        let own = Thread::of(std::process::id()).unwrap();
        assert!(!own.began_after(now_ns) && !own.began_after(u64::MAX));
        assert!(own.began_after(0));
        // The shortest that ticks tell apart.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let later = Thread::of(child.id()).unwrap();
        let _ = child.kill();
        let _ = child.wait();
        assert!(later.began_after(now_ns));
    }
}
