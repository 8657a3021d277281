//! Long sleeps from which Ctrl-C wakes.

use pyo3::prelude::*;
use std::time::Duration;
use tardy_timers::clock::now_ns;

/// The longest that a signal's Python handler waits for a sleep, ns.
const SLICE_NS: u64 = 100_000_000;

/// Sleeps until at most a slice is left before `deadline_ns`, coarsely, and lets Python's signal
/// handlers run meanwhile. What one raises ends it. Says how long it slept, ns.
pub(crate) fn approach(py: Python<'_>, deadline_ns: u64) -> PyResult<u64> {
    let mut napped_ns = 0;
    loop {
        let start_ns = now_ns();
        let ahead_ns = deadline_ns.saturating_sub(start_ns);
        if ahead_ns <= SLICE_NS {
            return Ok(napped_ns);
        }
        // Half a slice is left for the exact sleep at the end, however late this one is.
        let nap = Duration::from_nanos(SLICE_NS.min(ahead_ns - SLICE_NS / 2));
        py.detach(|| std::thread::sleep(nap));
        py.check_signals()?;
        napped_ns += now_ns() - start_ns;
    }
}
