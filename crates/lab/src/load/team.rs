//! Threads of one load in this process: made together, stopped together.

use super::LoadError;
use crate::Policy;
use crate::sched::{Budget, set_current};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

/// What its threads call needs little; where memory is locked, a stack is memory.
const STACK_BYTES: usize = 128 << 10;

/// How threads are scheduled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rank {
    /// Under `SCHED_FIFO` at this priority instead of `SCHED_OTHER`.
    pub(super) fifo_prio: Option<u8>,
    /// Another nice value than the one inherited.
    pub(super) nice: Option<i32>,
}

impl Rank {
    /// Takes the rank for the calling thread. Without FIFO too there is something to do: a thread
    /// inherits the policy of the one that made it.
    fn take(self, load: &str) -> Result<(), LoadError> {
        let policy = if self.fifo_prio.is_some() { Policy::Fifo } else { Policy::Other };
        let prio = self.fifo_prio.unwrap_or_default();
        set_current(policy, prio, Budget::default()).map_err(|source| LoadError::Policy {
            load: load.to_owned(),
            prio,
            source,
        })?;
        let Some(nice) = self.nice else { return Ok(()) };
        // Linux takes this for the calling thread alone.
        setpriority_process(None, nice).map_err(|errno| LoadError::Nice {
            load: load.to_owned(),
            nice,
            source: errno.into(),
        })
    }
}

/// A counter with a cache line to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Count(AtomicU64);

impl Count {
    /// Adds to it. Only one thread does.
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed) + more, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What a thread of the team knows.
pub(super) struct Member<const COUNTS: usize> {
    /// From 0.
    pub(super) index: u64,
    stop: Arc<AtomicBool>,
    /// What it has done.
    pub(super) counts: Arc<[Count; COUNTS]>,
}

impl<const COUNTS: usize> Member<COUNTS> {
    /// Whether to end.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Ends the whole team.
    pub(super) fn end_all(&self) {
        self.stop.store(true, Relaxed);
    }
}

/// Threads that run until this is dropped.
pub(super) struct Team<const COUNTS: usize> {
    tids: Vec<u32>,
    stop: Arc<AtomicBool>,
    threads: Vec<(Arc<[Count; COUNTS]>, JoinHandle<()>)>,
}

impl<const COUNTS: usize> Team<COUNTS> {
    /// `count` threads named `name-00`, `name-01`, …, that all do `work`; returns once each of them
    /// has its policy and begins.
    pub(super) fn start(
        load: &dyn Display,
        name: &str,
        count: u64,
        rank: Rank,
        work: impl Fn(&Member<COUNTS>) + Clone + Send + 'static,
    ) -> Result<Self, LoadError> {
        let load = load.to_string();
        let mut team = Self { tids: vec![], stop: Arc::default(), threads: vec![] };
        let (ready_sender, ready) = channel();
        for index in 0..count {
            let counts = Arc::new(std::array::from_fn(|_| Count::default()));
            let member =
                Member { index, stop: Arc::clone(&team.stop), counts: Arc::clone(&counts) };
            let (load_of_thread, ready, work) = (load.clone(), ready_sender.clone(), work.clone());
            let run = move || {
                let taken = rank.take(&load_of_thread);
                let is_refused = taken.is_err();
                let tid = gettid().as_raw_nonzero().get() as u32;
                if ready.send(taken.map(|()| tid)).is_err() || is_refused {
                    return;
                }
                // The one who started this waits until all of these are closed.
                drop(ready);
                work(&member);
            };
            let join = std::thread::Builder::new()
                .name(format!("{name}-{index:02}"))
                .stack_size(STACK_BYTES)
                .spawn(run)
                .map_err(|source: io::Error| LoadError::Spawn {
                    load: load.clone(),
                    index: index as usize,
                    count: count as usize,
                    source,
                })?;
            team.threads.push((counts, join));
        }
        drop(ready_sender);
        for taken in ready {
            team.tids.push(taken?);
        }
        team.tids.sort_unstable();
        Ok(team)
    }

    pub(super) fn tids(&self) -> Vec<u32> {
        self.tids.clone()
    }

    /// Whether any of them has not ended.
    #[cfg(test)]
    pub(super) fn is_working(&self) -> bool {
        self.threads.iter().any(|(_, join)| !join.is_finished())
    }

    /// Waits until all of them have ended by themselves.
    pub(super) fn wait(mut self) {
        for (_, join) in self.threads.drain(..) {
            let _ = join.join();
        }
    }

    /// What all of them have done so far, by counter.
    pub(super) fn sums(&self) -> [u64; COUNTS] {
        std::array::from_fn(|which| {
            self.threads.iter().map(|(counts, _)| counts[which].get()).sum()
        })
    }
}

impl<const COUNTS: usize> Drop for Team<COUNTS> {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for (_, join) in self.threads.drain(..) {
            // A thread of a load has nothing to report; that it ended is what matters.
            let _ = join.join();
        }
    }
}
