//! `tardy-timers` for Python: the extension module `tardy._tardy`.
//!
//! What needs no speed is Python's, beside it in `python/tardy`: the iteration of intervals by asyncio,
//! and sleeps of asyncio tasks. Whoever sleeps or waits here has let the interpreter go.
//!
//! Start reading at `nap.rs`, then at `service.rs`.
#![forbid(unsafe_code)]
#![allow(clippy::doc_markdown, reason = "what stands at classes and functions is their docstring")]

mod eventfd;
mod interval;
mod nap;
mod number;
mod precision;
mod service;
mod sleeper;
mod timer;

use pyo3::prelude::*;

/// What is written in Rust of the package tardy. Import it from there.
#[pymodule]
#[pyo3(name = "_tardy")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::eventfd::EventFd;
    #[pymodule_export]
    use crate::interval::{Interval, Tick};
    #[pymodule_export]
    use crate::now_ns;
    #[pymodule_export]
    use crate::number::{deadline_to_ns, duration_to_ns};
    #[pymodule_export]
    use crate::service::{Report, TimerService};
    #[pymodule_export]
    use crate::sleeper::{Sleeper, Slept, sleep_for, sleep_until, sleep_until_ns};
    #[pymodule_export]
    use crate::timer::{ForkedError, FullError, StoppedError, Timer, TimerError};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let stop_all = wrap_pyfunction!(crate::service::stop_all, module)?;
        module.py().import("atexit")?.call_method1("register", (stop_all,))?;
        Ok(())
    }
}

/// The time now, in nanoseconds of CLOCK_MONOTONIC: time.monotonic_ns().
#[pyfunction]
fn now_ns() -> u64 {
    tardy_timers::clock::now_ns()
}
