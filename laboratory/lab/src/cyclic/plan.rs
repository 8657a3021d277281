//! What to measure, and whether that can be done.

use crate::sched::Budget;
use crate::{BoundBroken, Policy};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::time::Duration;
use tardy_stats::HISTOGRAM_MAX_US;
use tardy_thread_policy::TIMER_LEVEL_MAX;
use thiserror::Error;

/// The most measuring threads.
pub const THREADS_MAX: usize = 1024;

/// The shortest interval. cyclictest's own least is 1 µs.
pub const INTERVAL_MIN_NS: u64 = 1_000;

/// The longest interval, distance included: one hour, which is also how long an ending may take.
pub const INTERVAL_MAX_NS: u64 = 3_600_000_000_000;

/// What to measure. [`Plan::default`] is `cyclictest -t -a -m -p 80 -i 1000 -d 0`, without end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the threads are called, before their number; the kernel keeps 15 bytes of both.
    pub name: &'static str,
    /// How many threads; `None` for one per CPU of [`Plan::affinity`]. At most [`THREADS_MAX`].
    pub threads: Option<usize>,
    /// The policy of the threads. Where the system does not permit it they run under
    /// `SCHED_OTHER`, and the measurement's notes say so. `SCHED_DEADLINE` gets a runtime of 60 % of
    /// the interval, less where more threads than CPUs must share 80 % (cyclicdeadline's numbers),
    /// and deadline and period equal to the interval; the kernel takes intervals of 100 µs to 4 s
    /// by default.
    pub policy: Policy,
    /// Their real-time priority, 1–99; not read where the policy has none.
    pub prio: u8,
    /// How much lower each thread's priority is than that of the thread before, as cyclictest without
    /// `-S`; the last one's is at least 1. 0 here, so that all threads have one priority.
    pub prio_step: u8,
    /// From one expiry to the next.
    pub interval_ns: u64,
    /// How much longer each thread's interval is than that of the thread before, as cyclictest's
    /// `-d`. 0 here, so that all threads have one interval; cyclictest has 500 µs unless `-h` or
    /// `-S` is given.
    pub distance_ns: u64,
    /// How the threads' expiries lie against each other.
    pub phase: Phase,
    /// How long; `None` for until stopped.
    pub duration: Option<Duration>,
    /// How many times each thread; `None` for until stopped.
    pub loops: Option<u64>,
    /// The CPUs that the threads are bound to.
    pub affinity: Affinity,
    /// A latency above this ends the whole measurement.
    pub break_over_ns: Option<u64>,
    /// Whether to lock the memory of the process meanwhile.
    pub lock_memory: bool,
    /// The timer slack that the threads ask for; `None` leaves it as inherited. The kernel has none
    /// for real-time policies, and 50 µs by default for `SCHED_OTHER`.
    pub timer_slack_ns: Option<u64>,
    /// The levels at which the threads' timers expire, 0–3, by their places; a thread behind the last keeps what it
    /// has. Only the kernel `policies` has levels; where there are none, the measurement's notes say so.
    pub timer_levels: Vec<u8>,
    /// The bound on the idle states' exit latency meanwhile; `None` leaves the idle states alone.
    pub dma_latency_us: Option<i32>,
    /// Exact bins for 0 to this many µs besides the distribution, for a histogram file. At most
    /// [`HISTOGRAM_MAX_US`]; 16 bytes a bin and thread.
    pub histogram_us: Option<usize>,
    /// Whether each return is marked for a recorder: 1.5 MiB a thread, see
    /// [`tardy_model::mark_ring`].
    pub marks: bool,
}

/// How the threads' expiries lie against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// Spread evenly over the interval, so that the threads disturb each other least. cyclictest
    /// leaves this to how long it takes to make a thread, that is to chance.
    #[default]
    Spread,
    /// Thread n starts `n × offset_ns` after a common time, as cyclictest's `-A`.
    Aligned {
        /// From one thread's first expiry to the next one's.
        offset_ns: u64,
    },
}

/// Which CPUs the threads are bound to.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Affinity {
    /// Thread n to the nth CPU that the process may use, and around again.
    #[default]
    EachCpu,
    /// Thread n to the nth of these, and around again.
    Cpus(Vec<u16>),
    /// All threads to the first CPU that the process may use.
    FirstCpu,
    /// Not bound.
    Unbound,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: "cyclic-",
            threads: None,
            policy: Policy::Fifo,
            prio: 80,
            prio_step: 0,
            interval_ns: 1_000_000,
            distance_ns: 0,
            phase: Phase::Spread,
            duration: None,
            loops: None,
            affinity: Affinity::EachCpu,
            break_over_ns: None,
            lock_memory: true,
            timer_slack_ns: None,
            timer_levels: Vec::new(),
            dma_latency_us: Some(0),
            histogram_us: None,
            marks: false,
        }
    }
}

/// Why a measurement could not begin.
#[derive(Debug, Error)]
pub enum CyclicError {
    /// The plan asks for what there is not.
    #[error("{what} is {value}; it must be {allowed}")]
    OutOfRange {
        /// Which part of the plan.
        what: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        allowed: String,
    },
    /// The list of CPUs is empty.
    #[error("the list of CPUs is empty: name at least one, or leave it out for one thread per CPU")]
    NoCpus,
    /// `SCHED_DEADLINE` with chosen CPUs.
    #[error(
        "SCHED_DEADLINE threads cannot be bound to single CPUs (the kernel refuses it outside an \
         exclusive cpuset): leave the list of CPUs out"
    )]
    DeadlineBound,
    /// A thread could not be bound.
    #[error("could not bind a thread to CPU {cpu}: {source}; is it online, and in this cpuset?")]
    Cpu {
        /// The CPU.
        cpu: u16,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The CPUs that the process may use could not be read.
    #[error("could not read which CPUs this process may use (sched_getaffinity): {0}")]
    Affinity(std::io::Error),
    /// A thread could not be made.
    #[error(
        "could not make measuring thread {index}: {source}; `ulimit -u` and \
         /proc/sys/kernel/threads-max bound how many there may be"
    )]
    Spawn {
        /// Which.
        index: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A thread was gone before it could begin.
    #[error("a measuring thread ended before the start: this is a bug in tardy, please report it")]
    Gone,
}

/// What one thread is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadPlan {
    pub(super) name: String,
    pub(super) prio: u8,
    pub(super) cpu: Option<u16>,
    pub(super) interval_ns: u64,
    /// Its first expiry, after the common start.
    pub(super) first_ns: u64,
    pub(super) timer_level: Option<u8>,
    pub(super) budget: Budget,
}

/// What the threads share, as far as the plan says.
#[derive(Debug, Default)]
pub(super) struct Ending {
    pub(super) stop: std::sync::atomic::AtomicBool,
    pub(super) broken: std::sync::OnceLock<BoundBroken>,
}

impl Plan {
    /// Checks the plan and works out each thread's part, on a system where the process may use
    /// `usable` CPUs.
    pub(super) fn threads(&self, usable: &[u16]) -> Result<Vec<ThreadPlan>, CyclicError> {
        let cpus: &[u16] = match &self.affinity {
            Affinity::Cpus(_) | Affinity::FirstCpu if self.policy == Policy::Deadline => {
                return Err(CyclicError::DeadlineBound);
            }
            Affinity::Cpus(cpus) if cpus.is_empty() => return Err(CyclicError::NoCpus),
            Affinity::Cpus(cpus) => cpus,
            Affinity::FirstCpu => usable.get(..1).unwrap_or_default(),
            Affinity::EachCpu | Affinity::Unbound => usable,
        };
        let count = self.threads.unwrap_or(cpus.len());
        self.check(count)?;
        let is_bound = self.affinity != Affinity::Unbound && self.policy != Policy::Deadline;
        // cyclicdeadline's default, and its bound where threads outnumber CPUs.
        let runtime_percent = 60.min(80 * usable.len() / count) as u64;
        let threads = (0..count).map(|index| {
            let interval_ns = self.interval_ns + index as u64 * self.distance_ns;
            // Checked where the policy has one, and not read elsewhere.
            let lower = u8::try_from(index * usize::from(self.prio_step)).unwrap_or(u8::MAX);
            let offset_ns = match self.phase {
                Phase::Spread => self.interval_ns / count as u64 * index as u64,
                Phase::Aligned { offset_ns } => offset_ns * index as u64,
            };
            ThreadPlan {
                name: format!("{}{index}", self.name),
                prio: self.prio.saturating_sub(lower),
                cpu: is_bound.then(|| cpus[index % cpus.len()]),
                interval_ns,
                first_ns: offset_ns + interval_ns,
                timer_level: self.timer_levels.get(index).copied(),
                budget: Budget {
                    runtime_ns: interval_ns * runtime_percent / 100,
                    period_ns: interval_ns,
                },
            }
        });
        Ok(threads.collect())
    }

    fn check(&self, count: usize) -> Result<(), CyclicError> {
        let within = |what, value, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(CyclicError::OutOfRange { what, value, allowed: format!("{low} to {high}") })
        };
        within("the number of threads", count as u64, 1, THREADS_MAX as u64)?;
        within("the interval in ns", self.interval_ns, INTERVAL_MIN_NS, INTERVAL_MAX_NS)?;
        let room_ns = (INTERVAL_MAX_NS - self.interval_ns) / count as u64;
        within("the distance in ns", self.distance_ns, 0, room_ns)?;
        if let Phase::Aligned { offset_ns } = self.phase {
            within("the offset in ns", offset_ns, 0, INTERVAL_MAX_NS / count as u64)?;
        }
        if matches!(self.policy, Policy::Fifo | Policy::Rr) {
            within("the real-time priority", u64::from(self.prio), 1, 99)?;
            if self.prio_step > 0 {
                let most = u64::from(self.prio - 1) / u64::from(self.prio_step) + 1;
                within("the number of threads whose priorities step down", count as u64, 1, most)?;
            }
        }
        for level in &self.timer_levels {
            within("the timer level", u64::from(*level), 0, TIMER_LEVEL_MAX.into())?;
        }
        if let Some(loops) = self.loops {
            within("the number of loops", loops, 1, u64::MAX)?;
        }
        if let Some(bins) = self.histogram_us {
            within("the histogram's length in µs", bins as u64, 1, HISTOGRAM_MAX_US as u64)?;
        }
        if let Some(us) = self.dma_latency_us {
            let value = u64::from(us.unsigned_abs());
            if us < 0 {
                let allowed = "0 or more".to_owned();
                return Err(CyclicError::OutOfRange {
                    what: "minus the idle bound",
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }
}

/// The CPUs that this process may use, least first; never empty.
pub(super) fn usable_cpus() -> Result<Vec<u16>, CyclicError> {
    let set = sched_getaffinity(None).map_err(|error| CyclicError::Affinity(error.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u16).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus_and_first_ns(plan: &Plan) -> Vec<(Option<u16>, u64)> {
        let threads = plan.threads(&[2, 5]).unwrap();
        threads.iter().map(|thread| (thread.cpu, thread.first_ns)).collect()
    }

    #[test]
    fn threads_go_around_the_cpus_and_spread_over_the_interval() {
        let plan = Plan { interval_ns: 3_000_000, ..Plan::default() };
        assert_eq!(cpus_and_first_ns(&plan), [(Some(2), 3_000_000), (Some(5), 4_500_000)]);
        let plan = Plan { threads: Some(3), ..plan };
        let three = [(Some(2), 3_000_000), (Some(5), 4_000_000), (Some(2), 5_000_000)];
        assert_eq!(cpus_and_first_ns(&plan), three);
        let plan = Plan { affinity: Affinity::Cpus(vec![7]), threads: None, ..plan };
        assert_eq!(cpus_and_first_ns(&plan), [(Some(7), 3_000_000)]);
        let phase = Phase::Aligned { offset_ns: 10 };
        let plan = Plan { affinity: Affinity::Unbound, phase, distance_ns: 500, ..plan };
        assert_eq!(cpus_and_first_ns(&plan), [(None, 3_000_000), (None, 3_000_510)]);
    }

    #[test]
    fn each_next_thread_has_a_longer_interval_and_a_lower_priority() {
        let plan = Plan {
            name: "T",
            threads: Some(3),
            prio: 3,
            prio_step: 1,
            interval_ns: 1_000_000,
            distance_ns: 1_000_000,
            ..Plan::default()
        };
        let threads = plan.threads(&[0]).unwrap();
        let told: Vec<_> =
            threads.iter().map(|thread| (&*thread.name, thread.prio, thread.interval_ns)).collect();
        assert_eq!(told, [("T0", 3, 1_000_000), ("T1", 2, 2_000_000), ("T2", 1, 3_000_000)]);
        let plan = Plan { threads: Some(THREADS_MAX), prio_step: 255, ..plan };
        assert!(plan.threads(&[0]).is_err());
        let plan = Plan { policy: Policy::Other, ..plan };
        assert_eq!(plan.threads(&[0]).unwrap().len(), THREADS_MAX, "there it is not read");
    }

    #[test]
    fn deadline_is_never_bound_and_leaves_room() {
        let plan = Plan { policy: Policy::Deadline, threads: Some(4), ..Plan::default() };
        let threads = plan.threads(&[0, 1]).unwrap();
        let budget = Budget { runtime_ns: 400_000, period_ns: 1_000_000 };
        assert!(threads.iter().all(|thread| thread.cpu.is_none() && thread.budget == budget));
        let plan = Plan { affinity: Affinity::Cpus(vec![0]), ..plan };
        assert!(matches!(plan.threads(&[0, 1]), Err(CyclicError::DeadlineBound)));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_range() {
        let none = Plan::default();
        for (plan, said) in [
            (Plan { threads: Some(0), ..none.clone() }, "number of threads is 0; it must be 1 to"),
            (Plan { threads: Some(usize::MAX), ..none.clone() }, "number of threads"),
            (Plan { interval_ns: 0, ..none.clone() }, "interval in ns is 0"),
            (Plan { interval_ns: u64::MAX, ..none.clone() }, "interval in ns"),
            (Plan { distance_ns: u64::MAX, ..none.clone() }, "distance in ns"),
            (Plan { phase: Phase::Aligned { offset_ns: u64::MAX }, ..none.clone() }, "offset"),
            (Plan { prio: 0, ..none.clone() }, "priority is 0; it must be 1 to 99"),
            (Plan { prio: 100, policy: Policy::Rr, ..none.clone() }, "priority is 100"),
            (Plan { prio: 2, prio_step: 2, ..none.clone() }, "step down is 2; it must be 1 to 1"),
            (
                Plan { timer_levels: vec![3, 4], ..none.clone() },
                "timer level is 4; it must be 0 to 3",
            ),
            (Plan { loops: Some(0), ..none.clone() }, "loops is 0"),
            (Plan { histogram_us: Some(1_000_001), ..none.clone() }, "histogram"),
            (Plan { dma_latency_us: Some(-1), ..none.clone() }, "idle bound is 1"),
            (Plan { affinity: Affinity::Cpus(vec![]), ..none.clone() }, "list of CPUs is empty"),
        ] {
            let error = plan.threads(&[0, 1]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(Plan { prio: 0, policy: Policy::Other, ..none }.threads(&[0]).is_ok());
    }
}
