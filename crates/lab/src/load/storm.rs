//! Many threads that sleep for short random times: timers expire all over, often several in one
//! interrupt.
//!
//! The load of "latency induced by hrtimer stacking" (Gratian Crisan, linux-rt-users, 4 January
//! 2017): each thread sleeps for a uniformly random 0–1 ms of `CLOCK_MONOTONIC`, relative, and again.
//! Five to seven threads were enough there to show in a real-time thread's latency.

use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad, Work};
use crate::Policy;
use crate::clock::sleep_for;
use crate::sched::{Budget, set_current};
use rustix::thread::gettid;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The most threads of one storm.
pub const STORM_THREADS_MAX: u64 = 10_000;

/// How many threads where no number is given.
const THREADS: u64 = 40;

/// The longest sleep.
const SLEEP_MAX_NS: u64 = 1_000_000;

/// A thread calls nothing but sleep; where memory is locked, its stack is memory.
const STACK_BYTES: usize = 64 << 10;

const USAGE: &str = "storm[:N][,fifo[=PRIO]][,seed=S]";

pub(super) const KIND: Kind = Kind {
    name: "storm",
    usage: USAGE,
    summary: "N threads (40) that each sleep for random 0–1 ms, again and again; `fifo` runs them \
              under SCHED_FIFO (priority 1), `seed` (0) chooses the random numbers",
    parse: |arguments| Storm::parse(arguments).map(|storm| Box::new(storm) as Box<dyn Load>),
};

/// Threads that sleep for random times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storm {
    /// How many; at most [`STORM_THREADS_MAX`].
    pub threads: u64,
    /// Under `SCHED_FIFO` at this priority, 1–99, instead of the default policy.
    pub fifo_prio: Option<u8>,
    /// Thread n draws its sleeps from a generator seeded with `seed + n`.
    pub seed: u64,
}

impl Storm {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let mut storm = Self { threads: THREADS, fifo_prio: None, seed: 0 };
        if let Some(count) = arguments.count {
            storm.threads =
                arguments.number("the number of threads", count, 1, STORM_THREADS_MAX)?;
        }
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("fifo", value) => {
                    let prio = value.unwrap_or("1");
                    storm.fifo_prio = Some(arguments.number("fifo", prio, 1, 99)? as u8);
                }
                ("seed", Some(value)) => {
                    storm.seed = arguments.number("seed", value, 0, u64::MAX)?;
                }
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        Ok(storm)
    }
}

impl fmt::Display for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "storm:{}", self.threads)?;
        if let Some(prio) = self.fifo_prio {
            write!(f, ",fifo={prio}")?;
        }
        if self.seed != 0 {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

impl Load for Storm {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let mut running = RunningStorm { tids: vec![], stop: Arc::default(), threads: vec![] };
        let (ready_sender, ready) = channel();
        for index in 0..self.threads {
            let sleeper = Sleeper {
                fifo_prio: self.fifo_prio,
                random: fastrand::Rng::with_seed(self.seed.wrapping_add(index)),
                stop: Arc::clone(&running.stop),
                sleeps: Arc::default(),
            };
            let sleeps = Arc::clone(&sleeper.sleeps);
            let ready = ready_sender.clone();
            let join = std::thread::Builder::new()
                .name(format!("storm-{index:02}"))
                .stack_size(STACK_BYTES)
                .spawn(move || sleeper.run(ready))
                .map_err(|source| LoadError::Spawn {
                    load: self.to_string(),
                    index: index as usize,
                    count: self.threads as usize,
                    source,
                })?;
            running.threads.push((sleeps, join));
        }
        drop(ready_sender);
        for taken in ready {
            let tid = taken.map_err(|source| LoadError::Policy {
                load: self.to_string(),
                prio: self.fifo_prio.unwrap_or_default(),
                source,
            })?;
            running.tids.push(tid);
        }
        running.tids.sort_unstable();
        Ok(Box::new(running))
    }
}

/// A counter with a cache line to itself.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

struct Sleeper {
    fifo_prio: Option<u8>,
    random: fastrand::Rng,
    stop: Arc<AtomicBool>,
    sleeps: Arc<Count>,
}

impl Sleeper {
    fn run(mut self, ready: Sender<std::io::Result<u32>>) {
        // Without `fifo` too: a thread inherits the policy of the one that made it.
        let policy = if self.fifo_prio.is_some() { Policy::Fifo } else { Policy::Other };
        let no_budget = Budget { runtime_ns: 0, period_ns: 0 };
        let taken = set_current(policy, self.fifo_prio.unwrap_or_default(), no_budget);
        let is_refused = taken.is_err();
        let tid = gettid().as_raw_nonzero().get() as u32;
        if ready.send(taken.map(|()| tid)).is_err() || is_refused {
            return;
        }
        // The one who started this waits until all of these are closed.
        drop(ready);
        let mut sleeps = 0;
        while !self.stop.load(Relaxed) {
            sleep_for(self.random.u64(0..=SLEEP_MAX_NS));
            sleeps += 1;
            self.sleeps.0.store(sleeps, Relaxed);
        }
    }
}

struct RunningStorm {
    tids: Vec<u32>,
    stop: Arc<AtomicBool>,
    threads: Vec<(Arc<Count>, JoinHandle<()>)>,
}

impl RunningLoad for RunningStorm {
    fn tids(&self) -> Vec<u32> {
        self.tids.clone()
    }

    fn work(&self) -> Vec<Work> {
        let count = self.threads.iter().map(|(sleeps, _)| sleeps.0.load(Relaxed)).sum();
        vec![Work { unit: "sleeps", count }]
    }
}

impl Drop for RunningStorm {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        for (_, join) in self.threads.drain(..) {
            // A sleeper has nothing to report; that it ended is what matters.
            let _ = join.join();
        }
    }
}
