//! Many threads that sleep for short random times: timers expire all over, often several in one
//! interrupt.
//!
//! The load of "latency induced by hrtimer stacking" (Gratian Crisan, linux-rt-users, 4 January
//! 2017): each thread sleeps for a uniformly random 0–1 ms of `CLOCK_MONOTONIC`, relative, and again.
//! Five to seven threads were enough there to show in a real-time thread's latency.

use super::crew::{Crew, Post, Rank};
use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad};
use crate::clock::sleep_for;
use std::fmt;

/// The most threads of one storm.
pub const STORM_THREADS_MAX: u64 = 10_000;

/// How many threads where no number is given.
const THREADS: u64 = 40;

/// The longest sleep.
const SLEEP_MAX_NS: u64 = 1_000_000;

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
        let threads = arguments.count("threads", THREADS, STORM_THREADS_MAX)?;
        let mut storm = Self { threads, fifo_prio: None, seed: 0 };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("fifo", value) => storm.fifo_prio = Some(arguments.fifo_prio(value)?),
                ("seed", Some(value)) => storm.seed = arguments.seed(value)?,
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
        let posts = (0..self.threads).map(|index| {
            let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(index));
            Post::new(format!("storm-{index:02}"), &["sleeps"], move |duty| {
                duty.begin();
                while duty.goes_on() {
                    sleep_for(random.u64(0..=SLEEP_MAX_NS));
                    duty.did(1);
                }
                Ok(())
            })
        });
        Ok(Box::new(Crew::start(self, Rank::of(self.fifo_prio), posts)?))
    }
}
