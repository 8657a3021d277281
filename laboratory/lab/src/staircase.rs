//! Cyclic threads of rising period and falling priority on one CPU, and how far each strays from its
//! timeline.
//!
//! The experiment of "High resolution timers and BH processing on -RT" (Thomas Gleixner, linux-kernel,
//! 28 January 2005): threads T0, T1, … with periods of 1 ms, 2 ms, … and priorities of 60, 59, …, on a
//! machine of one CPU under a load average of about 4. It is the loop of [`cyclic`] with this plan.
//!
//! Thread k has the ideal timeline *start* + *n* · (k + 1) · *period*, n = 1, 2, …, the same start for
//! all, which nothing shifts. The thread waits for a point of it, and its *deviation* is the time from
//! that point to its return. Where it is back only after the next points have passed, they are counted
//! as missed, its deviation stands against the point that it was woken for, in full (so it may be
//! longer than a period), and it waits for the first point that is yet to come. So points of the
//! timeline = samples + missed.
//!
//! ```
//! use std::time::Duration;
//! use tardy_lab::cyclic::{Plan, prepare};
//! use tardy_lab::staircase::Staircase;
//!
//! let plan = Plan { duration: Some(Duration::from_millis(20)), ..Staircase::default().plan() };
//! for thread in prepare(&plan)?.start().finish().threads {
//!     let (deviations, missed) = (&thread.latencies, thread.overruns);
//!     println!("[{}] {} ns, missed {missed}", thread.name, deviations.max_ns());
//! }
//! # Ok::<(), tardy_lab::cyclic::CyclicError>(())
//! ```

use crate::cyclic::{Affinity, Phase, Plan};

/// The steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staircase {
    /// How many threads.
    pub threads: usize,
    /// The period of the first; thread k has k + 1 times as much.
    pub period_ns: u64,
    /// The priority of the first under `SCHED_FIFO`; each next one's is lower by 1.
    pub prio: u8,
    /// The CPU of all threads; `None` for the first one that the process may use. The mail's machine
    /// had one.
    pub cpu: Option<u16>,
    /// The levels of their timers, see [`Plan::timer_levels`]; empty for none.
    pub timer_levels: Vec<u8>,
}

/// That of the mail.
impl Default for Staircase {
    fn default() -> Self {
        Self {
            threads: REPORTED_THREADS,
            period_ns: 1_000_000,
            prio: 60,
            cpu: None,
            timer_levels: Vec::new(),
        }
    }
}

impl Staircase {
    /// What [`cyclic`](crate::cyclic) is to measure, without end. The distance between periods is what
    /// makes the steps; all timelines begin at one time, so that every point of a longer one that is a
    /// multiple of a shorter one's period is shared with it.
    pub fn plan(&self) -> Plan {
        Plan {
            name: "T",
            threads: Some(self.threads),
            prio: self.prio,
            prio_step: 1,
            interval_ns: self.period_ns,
            distance_ns: self.period_ns,
            timer_levels: self.timer_levels.clone(),
            phase: Phase::Aligned { offset_ns: 0 },
            affinity: self.cpu.map_or(Affinity::FirstCpu, |cpu| Affinity::Cpus(vec![cpu])),
            ..Plan::default()
        }
    }
}

/// How many threads the mail has.
pub const REPORTED_THREADS: usize = 5;

/// What the mail reports for one set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Where timers were expired.
    pub set_up: &'static str,
    /// The largest deviation of T0 … T4, µs.
    pub max_us: [u64; REPORTED_THREADS],
}

/// The mail's three set-ups: a 333 MHz Celeron, about 60 min each, so about 3.6 million returns of T0
/// and 720,000 of T4. Other hardware, another kernel: for reference, not for comparison.
pub const REPORTED: [Reported; 3] = [
    Reported { set_up: "all timers in ksoftirqd", max_us: [2123, 2556, 2882, 2993, 2888] },
    Reported { set_up: "own timer thread, prio 70", max_us: [423, 372, 756, 802, 1208] },
    Reported { set_up: "RT timers in IRQ thread, prio 90", max_us: [84, 114, 120, 117, 158] },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::prepare;

    #[test]
    fn periods_rise_priorities_fall_and_all_are_on_one_cpu() {
        let prepared = match prepare(&Staircase::default().plan()) {
            Ok(prepared) => prepared,
            Err(error) => panic!("{error}"),
        };
        let refused = prepared.notes().iter().any(|note| note.contains("SCHED_FIFO was refused"));
        for (k, thread) in prepared.threads().iter().enumerate() {
            assert_eq!(thread.name, format!("T{k}"));
            assert_eq!(thread.interval_ns, (k as u64 + 1) * 1_000_000);
            assert_eq!(thread.prio, if refused { 0 } else { 60 - k as u8 });
            assert_eq!(thread.cpu, prepared.threads()[0].cpu);
            assert!(thread.cpu.is_some());
        }
        assert_eq!(prepared.threads().len(), 5);
    }

    #[test]
    fn no_more_steps_than_priorities() {
        let plan = Staircase { threads: 61, ..Staircase::default() }.plan();
        let error = prepare(&plan).err().expect("there is no priority 0").to_string();
        assert!(error.contains("step down is 61; it must be 1 to 60"), "{error}");
    }
}
