//! Moves a timer of the kernel's own, as drivers move theirs, and asks the kernel how often that programmed
//! the clock-event device.
//!
//! System calls cancel their timers before they arm them again, which programs the device once more. A
//! plain `hrtimer_start()` is to be had in the kernel `policies` alone, in
//! `/sys/kernel/timer_policy/rearm_move`; its counters stand beside. The question of "Re: [PATCH] hrtimer:
//! Update `softirq_expires_next` correctly after `__hrtimer_get_next_event()`" (Thomas Gleixner, 21 April
//! 2021).

use crate::clock::{now_ns, sleep_until};
use std::fs::{File, OpenOptions, read_to_string};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use tardy_stats::Latencies;
use thiserror::Error;

const MOVE: &str = "/sys/kernel/timer_policy/rearm_move";
const COUNTERS: &str = "/sys/kernel/timer_policy/rearm_counters";

/// How long after a pause's expiry the timer must have been expired: ten ticks of the slowest kernel.
const DELIVERED_AFTER_NS: u64 = 100_000_000;

/// How the timer is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long after the last move it expires.
    pub timeout_ns: u64,
    /// From one move to the next.
    pub every_ns: u64,
    /// How long it is moved before a pause in which it expires.
    pub pause_after_ns: u64,
    /// How long in all, without the pauses.
    pub duration: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// The time that a move took, with the write to a file that it is made by.
    pub call: Latencies,
    /// What the kernel counted over the moves, pauses left out.
    pub counted: Counters,
    /// Expiries in the pauses, and between moves that came too late.
    pub expiries: Expiries,
    /// The most that a pause's were late by, together where it had several.
    pub late_max_ns: u64,
    /// Pauses; the timer expires in each.
    pub pauses: u64,
    /// Pauses in which it did not.
    pub lost: u64,
}

/// What the kernel says of the timer's expiries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiries {
    /// How many.
    pub count: u64,
    /// How late they were in all.
    pub late_sum_ns: u64,
    /// How many came before their time.
    pub too_early: u64,
}

/// What the kernel counts, of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timers started, armed before or not.
    pub starts: u64,
    /// Programmings of the device by starts, cancels and the softirq.
    pub programs: u64,
    /// Timer interrupts.
    pub interrupts: u64,
    /// Interrupts in which nothing expired.
    pub early: u64,
}

/// Why it could not be moved.
#[derive(Debug, Error)]
pub enum KernelTimerError {
    /// The kernel has not the file, or it may not be opened.
    #[error("{path}: {source}; `--vm --kernel policies` has it, for root")]
    File {
        /// Which.
        path: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// What a file holds is not understood.
    #[error(
        "{path} holds {text:?}, which is not understood; was the kernel built by another tardy?"
    )]
    Text {
        /// Which.
        path: &'static str,
        /// What it holds.
        text: String,
    },
}

fn of_file(path: &'static str) -> impl FnOnce(std::io::Error) -> KernelTimerError {
    move |source| KernelTimerError::File { path, source }
}

/// Whether this kernel has such a timer.
pub fn is_there() -> bool {
    Path::new(MOVE).exists()
}

/// Moves it until the time is over, or `is_over` says so, and leaves it cancelled.
///
/// # Errors
/// Where this kernel has no such timer, or it is not permitted.
pub fn measure(plan: &Plan, is_over: &dyn Fn() -> bool) -> Result<Moved, KernelTimerError> {
    let timer = OpenOptions::new().write(true).open(MOVE).map_err(of_file(MOVE))?;
    let _counting = Counting::begin()?;
    let at_once = (plan.pause_after_ns / plan.every_ns.max(1)).max(1);
    let mut moved = Moved::default();
    let first = expired()?;
    let mut left_ns = u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX);
    while left_ns > 0 && !is_over() {
        let begun_ns = now_ns();
        let before = counters()?;
        let expired_before = expired()?;
        move_on(&timer, plan, at_once, &mut moved.call)?;
        moved.counted = moved.counted + (counters()? - before);
        left_ns = left_ns.saturating_sub(now_ns() - begun_ns);
        let _ = sleep_until(now_ns() + plan.timeout_ns + DELIVERED_AFTER_NS / 10);
        moved.paused(expired()? - expired_before);
    }
    write(&timer, "0")?;
    moved.expiries = expired()? - first;
    Ok(moved)
}

fn move_on(
    timer: &File,
    plan: &Plan,
    moves: u64,
    call: &mut Latencies,
) -> Result<(), KernelTimerError> {
    let timeout = plan.timeout_ns.to_string();
    let mut next_ns = now_ns();
    for _ in 0..moves {
        while now_ns() < next_ns {
            std::hint::spin_loop();
        }
        let before_ns = now_ns();
        write(timer, &timeout)?;
        let after_ns = now_ns();
        call.record(after_ns - before_ns);
        // A move that is missed is left out: to catch up would be another load.
        next_ns = (next_ns + plan.every_ns).max(after_ns);
    }
    Ok(())
}

fn write(timer: &File, ns: &str) -> Result<(), KernelTimerError> {
    timer.write_all_at(ns.as_bytes(), 0).map_err(of_file(MOVE))
}

/// Since the kernel booted.
fn expired() -> Result<Expiries, KernelTimerError> {
    let text = read_to_string(MOVE).map_err(of_file(MOVE))?;
    Expiries::parse(&text).ok_or(KernelTimerError::Text { path: MOVE, text })
}

impl Expiries {
    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        match numbers[..] {
            [_moves, count, late_sum_ns, _late_max_ns, too_early] => {
                Some(Self { count, late_sum_ns, too_early })
            }
            _ => None,
        }
    }
}

impl std::ops::Sub for Expiries {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_sub(other.count),
            late_sum_ns: self.late_sum_ns.saturating_sub(other.late_sum_ns),
            too_early: self.too_early.saturating_sub(other.too_early),
        }
    }
}

impl Moved {
    /// Moves and a pause are over, in which these expiries were.
    fn paused(&mut self, expired: Expiries) {
        self.pauses += 1;
        self.lost += u64::from(expired.count == 0);
        self.late_max_ns = self.late_max_ns.max(expired.late_sum_ns);
    }
}

/// The kernel counts while this is there.
struct Counting;

impl Counting {
    fn begin() -> Result<Self, KernelTimerError> {
        std::fs::write(COUNTERS, "1").map_err(of_file(COUNTERS))?;
        Ok(Self)
    }
}

/// As they are now.
fn counters() -> Result<Counters, KernelTimerError> {
    let text = read_to_string(COUNTERS).map_err(of_file(COUNTERS))?;
    Counters::parse(&text).ok_or(KernelTimerError::Text { path: COUNTERS, text })
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = std::fs::write(COUNTERS, "0");
    }
}

impl Counters {
    /// Of a table with a line of names and a line per CPU.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next()?.split_whitespace().collect();
        let place = |name| names.iter().position(|found| *found == name);
        let places = [place("starts")?, place("programs")?, place("interrupts")?, place("early")?];
        let mut all = Self::default();
        for line in lines {
            let numbers: Vec<u64> =
                line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
            let at = |number: usize| numbers.get(places[number]).copied();
            let of_cpu =
                Self { starts: at(0)?, programs: at(1)?, interrupts: at(2)?, early: at(3)? };
            all = all + of_cpu;
        }
        Some(all)
    }

    fn each(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            starts: with(self.starts, other.starts),
            programs: with(self.programs, other.programs),
            interrupts: with(self.interrupts, other.interrupts),
            early: with(self.early, other.early),
        }
    }
}

impl std::ops::Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }
}

impl std::ops::Sub for Counters {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_cpus_are_summed_whatever_stands_between_them() {
        let text = "cpu starts programs interrupts reprograms early expired\n\
                    0 3004 2 627 620 580 47\n1 10 1 3 3 1 2\n";
        let counters = Counters { starts: 3014, programs: 3, interrupts: 630, early: 581 };
        assert_eq!(Counters::parse(text), Some(counters));
        assert_eq!((counters + counters) - counters, counters);
        assert_eq!(Counters::default() - counters, Counters::default());
        for damaged in ["", "cpu starts\n0 1\n", &text[..70], &text.replace("3004", "x")] {
            assert_eq!(Counters::parse(damaged), None, "{damaged}");
        }
    }

    #[test]
    fn what_has_expired_is_five_numbers_and_a_pause_without_any_has_lost_the_timer() {
        let expired = |text| Expiries::parse(text).expect("five numbers");
        let (before, after) =
            (expired("90 3 21000 9000 0\n"), expired("180 5 4021000 3990000 1\n"));
        assert_eq!(after - before, Expiries { count: 2, late_sum_ns: 4_000_000, too_early: 1 });
        for damaged in ["", "1 2 3 4", "1 2 3 4 5 6", "1 2 x 4 5"] {
            assert_eq!(Expiries::parse(damaged), None, "{damaged}");
        }
        let mut moved = Moved::default();
        moved.paused(after - before);
        moved.paused(before - before);
        assert_eq!((moved.pauses, moved.lost, moved.late_max_ns), (2, 1, 4_000_000));
    }

    #[test]
    fn where_the_kernel_has_no_such_timer_that_is_said() {
        if is_there() {
            println!("skipped: this kernel has it");
            return;
        }
        let plan = Plan {
            timeout_ns: 300_000,
            every_ns: 20_000,
            pause_after_ns: 2_000_000,
            duration: Duration::from_millis(1),
        };
        let error = measure(&plan, &|| false).unwrap_err().to_string();
        assert!(error.contains("rearm_move") && error.contains("--kernel policies"), "{error}");
    }
}
