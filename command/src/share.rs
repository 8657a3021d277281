//! A share of the CPUs for work that somebody waits for, on a machine where hundreds of threads want them.
//!
//! Explaining a recording takes a second. Beside the load that it was made under, 400 threads that are ready to run, it
//! takes minutes, as each of them gets the same share. Where there are so many, tardy's own threads take more while the
//! user waits for them. What measures, and what is measured, never does.

use crate::manners;
use crate::output;
use crate::session;
use rustix::process::getpriority_process;
use std::sync::Once;
use std::time::{Duration, Instant};

/// Threads that are ready to run, for each CPU: with fewer nothing is changed, as the share is large enough.
const RIVALS_MIN: usize = 8;

/// That it was taken is said once, and only where it was for so long that others may have missed it.
static SAID: Once = Once::new();
const WORTH_SAYING: Duration = Duration::from_secs(2);

/// More than the usual share of the CPUs, until this is dropped: for the thread that asked for it, and for those that it
/// starts meanwhile.
#[must_use = "it ends when it is dropped"]
pub(crate) struct Share {
    since: Instant,
    ready_threads: usize,
}

impl Share {
    /// Takes it where the machine is busy. Who was made nice, or less so, on purpose stays as nice.
    pub(crate) fn claim() -> Option<Self> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ready = ready_threads(&std::fs::read_to_string("/proc/loadavg").ok()?)?;
        if ready < RIVALS_MIN * cpus || getpriority_process(None) != Ok(0) {
            return None;
        }
        session::be_nice(session::NICE);
        if getpriority_process(None) != Ok(session::NICE) {
            return None;
        }
        Some(Self { since: Instant::now(), ready_threads: ready })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        session::be_nice(0);
        let took = self.since.elapsed();
        if took < WORTH_SAYING || manners::is_quiet() {
            return;
        }
        SAID.call_once(|| {
            output::say!(
                "{} threads were ready to run, so tardy did its own work at nice {} for {:.0} s (nice -n 1 tardy … \
                 prevents that)",
                self.ready_threads,
                session::NICE,
                took.as_secs_f64()
            );
        });
    }
}

/// How many threads are ready to run, tardy's own too, by `/proc/loadavg`: `0.20 0.18 0.12 1/80 11206`.
fn ready_threads(loadavg: &str) -> Option<usize> {
    let (ready, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    ready.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_are_ready_to_run_are_counted_by_the_kernel() {
        assert_eq!(ready_threads("54.69 99.24 52.63 211/514 31205\n"), Some(211));
        assert_eq!(ready_threads("0.20 0.18 0.12\n"), None);
        assert_eq!(ready_threads("0.20 0.18 0.12 1 31205\n"), None);
    }
}
