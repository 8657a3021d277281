//! What to measure of a lock, and why that cannot be done.

use rustix::thread::{CpuSet, sched_getaffinity};
use std::io;
use std::time::Duration;
use tardy_pthread_mutex::{MutexError, Protocol};
use tardy_stats::HISTOGRAM_MAX_US;
use thiserror::Error;

/// Busy time with the lock, and without it, where nothing else is said: that of the thread "`ARMv7`
/// futex latency spike" (linux-rt-users, 2015).
pub const LOAD_NS: u64 = 1_001;

/// The longest load. Five of each are measured twice before the start, so this bounds how long that
/// takes to 2 s; and a holder that was asked to end may take one more.
pub const LOAD_MAX_NS: u64 = 100_000_000;

/// Rounds where nothing else is said: two to ten seconds of the default loads.
pub const ROUNDS: u64 = 1_000_000;

/// Rounds that are run and thrown away before those that count, as in the thread.
pub const TRAINING_ROUNDS: u64 = 50;

/// The priority of the thread High. Busy's is one below it, the watchdog's one above.
pub const PRIO: u8 = 59;

/// A measurement without a duration ends after this long, whatever it has.
pub const TIME_MAX: Duration = Duration::from_secs(600);

/// A round that takes longer ends the measurement: High does not get the lock, and Busy keeps a CPU
/// from everybody else meanwhile.
pub const STALL_MAX: Duration = Duration::from_secs(5);

/// What a mutex does to its holder's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LockProtocol {
    /// `PTHREAD_PRIO_NONE`.
    None,
    /// `PTHREAD_PRIO_INHERIT`.
    #[default]
    Inherit,
    /// `PTHREAD_PRIO_PROTECT`, with High's priority for a ceiling.
    Protect,
}

impl LockProtocol {
    /// The name on command lines and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Inherit => "inherit",
            Self::Protect => "protect",
        }
    }

    pub(super) fn with_ceiling(self, ceiling: u8) -> Protocol {
        match self {
            Self::None => Protocol::None,
            Self::Inherit => Protocol::Inherit,
            Self::Protect => Protocol::Protect { ceiling },
        }
    }
}

/// A measurement of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the mutex does to its holder's priority.
    pub protocol: LockProtocol,
    /// Whether it is a robust one.
    pub robust: bool,
    /// The CPU that High and Busy share; `None` for the last one that the process may use.
    pub cpu: Option<u16>,
    /// High's priority under `SCHED_FIFO`, 2–98.
    pub prio: u8,
    /// Busy time with the lock, of High and Low, 1–[`LOAD_MAX_NS`].
    pub locked_ns: u64,
    /// Busy time without it.
    pub free_ns: u64,
    /// Rounds before those that count.
    pub training_rounds: u64,
    /// Rounds that count; `None` for as many as the duration holds.
    pub rounds: Option<u64>,
    /// How long, at most; `None` for until all rounds are done, or [`TIME_MAX`] has passed.
    pub duration: Option<Duration>,
    /// Whether the loads are shortened until their real length is what was asked for; otherwise a load
    /// ends at the first reading of the clock past its length, as in the thread's program.
    pub calibrated: bool,
    /// Exact bins for 0 to this many µs besides the distributions, at most [`HISTOGRAM_MAX_US`].
    pub histogram_us: Option<usize>,
    /// Keep CPUs out of idle states that take longer than this to leave, in µs; `None` leaves them
    /// alone.
    pub dma_latency_us: Option<i32>,
    /// Whether memory is to be locked.
    pub lock_memory: bool,
    /// A round that takes longer than this ends the measurement.
    pub stall_max: Duration,
    /// For tests of the watchdog: after so many rounds Low takes the lock and keeps it until it is
    /// told to end.
    #[doc(hidden)]
    pub low_keeps_the_lock_after: Option<u64>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            protocol: LockProtocol::Inherit,
            robust: false,
            cpu: None,
            prio: PRIO,
            locked_ns: LOAD_NS,
            free_ns: LOAD_NS,
            training_rounds: TRAINING_ROUNDS,
            rounds: Some(ROUNDS),
            duration: None,
            calibrated: true,
            histogram_us: None,
            dma_latency_us: Some(0),
            lock_memory: true,
            stall_max: STALL_MAX,
            low_keeps_the_lock_after: None,
        }
    }
}

/// Why a lock could not be measured.
#[derive(Debug, Error)]
pub enum PiError {
    /// The plan asks for what there is not.
    #[error("{what} is {value}; it must be {least} to {most}")]
    OutOfRange {
        /// Which part of the plan.
        what: &'static str,
        /// What it is.
        value: u64,
        /// The least allowed.
        least: u64,
        /// The most allowed.
        most: u64,
    },
    /// The affinity of the process could not be read.
    #[error("the CPUs that this process may use could not be read ({0})")]
    Affinity(io::Error),
    /// There is no such CPU for this process.
    #[error(
        "High and Busy could not be bound to CPU {cpu} ({source}); `taskset -p $$` shows the CPUs that there are"
    )]
    Cpu {
        /// Which.
        cpu: u16,
        /// What the kernel said.
        source: io::Error,
    },
    /// Real-time priorities are not permitted.
    #[error(
        "SCHED_FIFO {prio} was refused ({source}), and without real-time priorities there is \
         nothing to measure: no priority to inherit, and Busy and High would only take turns; it \
         needs CAP_SYS_NICE or `ulimit -r {needed}`"
    )]
    Priority {
        /// What was asked for.
        prio: u8,
        /// The highest that any of the threads needs.
        needed: u8,
        /// What the kernel said.
        source: io::Error,
    },
    /// The mutex could not be made or locked.
    #[error(transparent)]
    Mutex(#[from] MutexError),
    /// What the kernel counts for a thread could not be read.
    #[error("the thread's context switches could not be read with getrusage ({0})")]
    Usage(io::Error),
    /// A thread could not be made.
    #[error("the thread {name} could not be made: {source}")]
    Spawn {
        /// Which.
        name: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread ended without a result.
    #[error("a measuring thread ended without a result: this is a bug in tardy, please report it")]
    Gone,
}

impl Plan {
    pub(super) fn check(&self) -> Result<(), PiError> {
        let within = |what, value, least, most| {
            let fits = (least..=most).contains(&value);
            if fits { Ok(()) } else { Err(PiError::OutOfRange { what, value, least, most }) }
        };
        within("High's priority", u64::from(self.prio), 2, 98)?;
        within("the time with the lock in ns", self.locked_ns, 1, LOAD_MAX_NS)?;
        within("the time without the lock in ns", self.free_ns, 1, LOAD_MAX_NS)?;
        if let Some(rounds) = self.rounds {
            within("the number of rounds", rounds, 1, u64::MAX)?;
        }
        if let Some(bins) = self.histogram_us {
            within("the histogram's length in µs", bins as u64, 1, HISTOGRAM_MAX_US as u64)?;
        }
        Ok(())
    }

    /// The priority of the thread that ends a measurement whose High does not come to run.
    pub(super) fn watchdog_prio(&self) -> u8 {
        self.prio + 1
    }

    /// How long all of it may take: beyond a duration one stall more, as the last round may be one.
    pub(super) fn time_max(&self) -> Duration {
        self.duration.map_or(TIME_MAX, |duration| duration.saturating_add(self.stall_max))
    }
}

/// The CPUs that this process may use, least first.
pub(super) fn usable_cpus() -> Result<Vec<u16>, PiError> {
    let set = sched_getaffinity(None).map_err(|error| PiError::Affinity(error.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u16).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_its_range() {
        let none = Plan::default();
        for (plan, said) in [
            (Plan { prio: 1, ..none.clone() }, "priority is 1; it must be 2 to 98"),
            (Plan { prio: 99, ..none.clone() }, "priority is 99"),
            (Plan { locked_ns: 0, ..none.clone() }, "with the lock in ns is 0; it must be 1 to"),
            (Plan { free_ns: LOAD_MAX_NS + 1, ..none.clone() }, "without the lock in ns"),
            (Plan { rounds: Some(0), ..none.clone() }, "rounds is 0"),
            (Plan { histogram_us: Some(1_000_001), ..none.clone() }, "histogram"),
        ] {
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        none.check().unwrap();
    }

    #[test]
    fn every_measurement_has_an_end() {
        let until = Plan { duration: Some(Duration::from_secs(20)), ..Plan::default() };
        assert_eq!(until.time_max(), Duration::from_secs(25));
        assert_eq!(Plan::default().time_max(), TIME_MAX);
        let long = Plan { duration: Some(Duration::MAX), ..Plan::default() };
        assert_eq!(long.time_max(), Duration::MAX);
    }
}
