//! Sleeps, one by one.

use crate::nap::approach;
use crate::number::{deadline_ns, duration_ns, ns};
use crate::precision::precision;
use fragile::Sticky;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use tardy_timers::clock::now_ns;
use tardy_timers::sleep;

/// How a sleep went.
///
/// lateness_ns: how far the deadline was past when the sleep returned.
/// spun_ns: how long of it was spun.
/// native_ns: how long of it the kernel had.
#[pyclass(frozen, eq, get_all, module = "tardy")]
#[derive(PartialEq, Eq)]
pub(crate) struct Slept {
    lateness_ns: u64,
    spun_ns: u64,
    native_ns: u64,
}

#[pymethods]
impl Slept {
    fn __repr__(&self) -> String {
        let Self { lateness_ns, spun_ns, native_ns } = self;
        format!("Slept(lateness_ns={lateness_ns}, spun_ns={spun_ns}, native_ns={native_ns})")
    }
}

/// The sleep itself: coarsely at first, then `exactly`.
fn sleep_by(
    py: Python<'_>,
    deadline_ns: u64,
    exactly: impl FnOnce() -> PyResult<sleep::Slept> + Send,
) -> PyResult<Slept> {
    let napped_ns = approach(py, deadline_ns)?;
    let sleep::Slept { lateness_ns, spun_ns, native_ns } = py.detach(exactly)?;
    Ok(Slept { lateness_ns, spun_ns, native_ns: napped_ns + native_ns })
}

/// Sleeps until deadline_ns, nanoseconds of time.monotonic_ns(); never returns earlier.
///
/// Returns at once where that is past. Other threads run meanwhile; Ctrl-C ends it within 0.1 s.
/// As precise as Sleeper("balanced"); a Sleeper saves a thread that sleeps often some system calls.
#[pyfunction]
pub(crate) fn sleep_until_ns(deadline_ns: &Bound<'_, PyAny>) -> PyResult<Slept> {
    let py = deadline_ns.py();
    let deadline_ns = ns("deadline_ns", deadline_ns)?;
    sleep_by(py, deadline_ns, move || Ok(sleep::sleep_until(deadline_ns)))
}

/// Sleeps until deadline, seconds of time.monotonic(); else as sleep_until_ns.
///
/// A float holds seconds to the nanosecond for three months of uptime; sleep_until_ns does for ever.
#[pyfunction]
pub(crate) fn sleep_until(py: Python<'_>, deadline: f64) -> PyResult<Slept> {
    let deadline_ns = deadline_ns("deadline", deadline)?;
    sleep_by(py, deadline_ns, move || Ok(sleep::sleep_until(deadline_ns)))
}

/// Sleeps for a number of seconds from now; else as sleep_until_ns.
#[pyfunction(name = "sleep")]
pub(crate) fn sleep_for(py: Python<'_>, seconds: f64) -> PyResult<Slept> {
    let deadline_ns = now_ns().saturating_add(duration_ns("seconds", seconds)?);
    sleep_by(py, deadline_ns, move || Ok(sleep::sleep_until(deadline_ns)))
}

/// Sleeps of one thread, each of which ends at its time or a little later, never earlier.
///
/// precision: "cpu" (no spinning), "balanced" (three sleeps of four end on time), "exact" (995 of 1000
/// do) or the share that is to, above 0 and below 1.
///
/// It learns from every sleep how late its thread wakes up here, and has the kernel wake it so much
/// earlier; the rest is spun. It belongs to the thread that made it, whose timer slack it holds at
/// 1 ns for as long as it lives; another's use of it raises RuntimeError.
#[pyclass(frozen, module = "tardy")]
pub(crate) struct Sleeper(Sticky<RefCell<sleep::Sleeper>>);

#[pymethods]
impl Sleeper {
    #[new]
    #[pyo3(signature = (precision = None))]
    fn new(#[pyo3(from_py_with = chosen)] precision: Option<sleep::Precision>) -> Self {
        Self(Sticky::new(RefCell::new(sleep::Sleeper::new(precision.unwrap_or_default()))))
    }

    /// Sleeps until deadline_ns, nanoseconds of time.monotonic_ns().
    fn sleep_until_ns(&self, deadline_ns: &Bound<'_, PyAny>) -> PyResult<Slept> {
        let py = deadline_ns.py();
        self.until(py, ns("deadline_ns", deadline_ns)?)
    }

    /// Sleeps until deadline, seconds of time.monotonic().
    fn sleep_until(&self, py: Python<'_>, deadline: f64) -> PyResult<Slept> {
        self.until(py, deadline_ns("deadline", deadline)?)
    }

    /// Sleeps for a number of seconds from now.
    fn sleep(&self, py: Python<'_>, seconds: f64) -> PyResult<Slept> {
        self.until(py, now_ns().saturating_add(duration_ns("seconds", seconds)?))
    }
}

impl Sleeper {
    fn until(&self, py: Python<'_>, deadline_ns: u64) -> PyResult<Slept> {
        own(&self.0, |_| ())?;
        sleep_by(py, deadline_ns, || own(&self.0, |sleeper| sleeper.sleep_until(deadline_ns)))
    }
}

/// A precision that was given; `None` where none was.
pub(crate) fn chosen(given: &Bound<'_, PyAny>) -> PyResult<Option<sleep::Precision>> {
    if given.is_none() { Ok(None) } else { precision(given).map(Some) }
}

/// Uses what belongs to a thread, on that thread.
pub(crate) fn own<T, R>(
    object: &Sticky<RefCell<T>>,
    task: impl FnOnce(&mut T) -> R,
) -> PyResult<R> {
    let result = object.try_with(|cell| match cell.try_borrow_mut() {
        Ok(mut inner) => Ok(task(&mut inner)),
        Err(_used) => Err(PyRuntimeError::new_err("it is sleeping already")),
    });
    result.unwrap_or_else(|_foreign| {
        Err(PyRuntimeError::new_err("it belongs to the thread that made it; give each its own"))
    })
}
