//! A thread by its number, and not a later one of the same.

use procfs::process::Process;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use std::io;
use tardy_changes::CpuList;

/// A thread of any process, or of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// When it began, in ticks since boot: tells it from a later one of its number.
    pub start: u64,
    /// What it is called, for people. It may call itself something else later.
    pub name: String,
}

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

    /// `audio (29014)`.
    pub fn words(&self) -> String {
        format!("{} ({})", self.name, self.tid)
    }

    fn pid(&self) -> io::Result<Pid> {
        Pid::from_raw(self.tid.cast_signed())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no thread 0"))
    }

    pub(super) fn affinity(&self) -> io::Result<CpuList> {
        let set = sched_getaffinity(Some(self.pid()?))?;
        let cpus: Vec<String> = (0..CpuSet::MAX_CPU)
            .filter(|cpu| set.is_set(*cpu))
            .map(|cpu| cpu.to_string())
            .collect();
        CpuList::parse(&cpus.join(",")).ok_or_else(|| io::Error::other("the kernel gives no CPUs"))
    }

    pub(super) fn set_affinity(&self, cpus: &CpuList) -> io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU) {
            set.set(cpu as usize);
        }
        Ok(sched_setaffinity(Some(self.pid()?), &set)?)
    }
}
