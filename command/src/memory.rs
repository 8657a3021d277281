//! Files of strangers take a bounded share of memory.
//!
//! Each table has a bound of its own; this one is for all of them together. A thread looks at what the process has in
//! memory. Where that is more than the budget, whoever reads the file learns it with the next batch and ends with an
//! error; should nobody read for a while, the process is ended with the same error.

use crate::failure::Failure;
use crate::output::{one_line, say};
use clap::Args;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tardy_model::Batch;
use tardy_model::event::TaskName;

/// Without a budget of the user's: a share of the machine's memory, and never more than this.
const SHARE: u64 = 4;
const BYTES_MAX: u64 = 2 << 30;

/// A budget that leaves room for the program itself.
const BYTES_MIN: u64 = 64 << 20;

/// A table that doubles between two looks has this part of the budget to do so.
const ROOM: u64 = 4;

/// How often the process is looked at: at most some hundred MB come in between.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where nobody has taken the error after this, the process is ended.
const TAKEN_WITHIN: Duration = Duration::from_millis(500);

/// How much memory reading may take.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MemoryFlags {
    /// The memory that reading and explaining may use, such as 500M or 4G [default: a quarter of the machine's,
    /// at most 2G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

fn size(text: &str) -> Result<u64, String> {
    let forms = || "write a number of bytes with K, M or G, such as 500M; at least 64M".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].trim_end_matches(['B', 'i']) {
        "K" | "k" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(forms()),
    };
    let number: u64 = digits.parse().map_err(|_| forms())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes >= BYTES_MIN).ok_or_else(forms)
}

/// What the process may have; 0 while nothing is read.
static BUDGET: AtomicU64 = AtomicU64::new(0);

/// The budget that is exceeded; 0 while it is not.
static EXCEEDED: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicBool = AtomicBool::new(false);

/// What files have brought so far, by which an error says what there is too much of.
static EVENTS: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU64 = AtomicU64::new(0);
static TIMERS: AtomicU64 = AtomicU64::new(0);
static NAMES: AtomicU64 = AtomicU64::new(0);

impl MemoryFlags {
    /// Looks at the process from now on.
    pub(crate) fn watch(&self, path: &Path) {
        begin(path, self.memory.unwrap_or_else(usual));
    }
}

/// The same while folders are listed, before anything asks for more or less.
pub(crate) fn watch_list(folder: &Path) {
    if BUDGET.load(Ordering::Relaxed) == 0 {
        begin(folder, usual());
    }
}

fn begin(path: &Path, budget: u64) {
    static WATCHED: OnceLock<()> = OnceLock::new();
    BUDGET.store(budget, Ordering::Relaxed);
    *what() = one_line(&path.display().to_string());
    WATCHED.get_or_init(|| {
        // Without it the bounds of the tables are left.
        let _ = std::thread::Builder::new().name("tardy-memory".to_owned()).spawn(look);
    });
}

fn look() {
    let budget = || BUDGET.load(Ordering::Relaxed);
    while resident() <= budget() - budget() / ROOM {
        std::thread::sleep(LOOK_EVERY);
    }
    EXCEEDED.store(budget(), Ordering::Relaxed);
    let exceeded = Instant::now();
    while exceeded.elapsed() < TAKEN_WITHIN && !TAKEN.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
    }
    if !TAKEN.load(Ordering::Relaxed) {
        say!("tardy: {} {}", what(), words(budget()));
        std::process::exit(1);
    }
}

/// What is being read.
fn what() -> MutexGuard<'static, String> {
    static WHAT: Mutex<String> = Mutex::new(String::new());
    WHAT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a batch that was read.
///
/// # Errors
/// Where the budget is exceeded.
pub(crate) fn take(batch: &Batch, path: &Path) -> Result<(), Failure> {
    let told = batch.events.iter().filter(|event| event.tag() == TaskName::TAG);
    for (counter, number) in [
        (&EVENTS, batch.events.len()),
        (&THREADS, told.count()),
        (&TIMERS, batch.timers.len()),
        (&NAMES, batch.names.len()),
    ] {
        counter.fetch_add(number as u64, Ordering::Relaxed);
    }
    match EXCEEDED.load(Ordering::Relaxed) {
        0 => Ok(()),
        budget => {
            TAKEN.store(true, Ordering::Relaxed);
            Err(Failure::new(format!("{} {}", path.display(), words(budget))))
        }
    }
}

fn words(budget: u64) -> String {
    let [events, threads, timers, names] =
        [&EVENTS, &THREADS, &TIMERS, &NAMES].map(|counter| counter.load(Ordering::Relaxed));
    let most = [
        (threads, "names of threads"),
        (timers, "timers"),
        (names, "names of functions and programs"),
    ];
    let (number, what) = most.into_iter().max().unwrap_or_default();
    if events == 0 {
        return format!(
            "needs more than {} MB of memory before there are events: what lies there is too much, or made to be",
            budget >> 20
        );
    }
    format!(
        "needs more than {} MB of memory: {events} events so far, with {number} {what}; explain \
         fewer threads (--pid, --comm), allow more memory (--memory), or cut the trace",
        budget >> 20
    )
}

/// The budget where the user has none.
fn usual() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok());
    let bytes = kib.map_or(BYTES_MAX, |kib| (kib << 10) / SHARE);
    bytes.clamp(BYTES_MIN, BYTES_MAX)
}

/// Bytes of the process in memory that no file backs.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = text.split(' ').skip(1).map_while(|number| number.parse::<u64>().ok());
    let (all, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    all.saturating_sub(shared) * rustix::param::page_size() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_with_a_unit_and_have_a_least() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("65536K"), Ok(64 << 20));
        for wrong in ["", "M", "500", "63M", "-1G", "99999999999999G", "1T", "1.5G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn there_is_a_usual_budget_and_this_process_is_within_it() {
        assert!((BYTES_MIN..=BYTES_MAX).contains(&usual()));
        assert!((1..BYTES_MAX).contains(&resident()));
    }
}
