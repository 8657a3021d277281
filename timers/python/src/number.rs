//! Times as Python gives them.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

const SECOND_NS: f64 = 1e9;

/// The first number that is too large for nanoseconds in 64 bits: 2^64.
const END_NS: f64 = 18_446_744_073_709_551_616.0;

/// A number of nanoseconds: an `int` from 0 to 2^64 - 1.
pub(crate) fn ns(name: &str, number: &Bound<'_, PyAny>) -> PyResult<u64> {
    number.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(number.py()) {
            PyValueError::new_err(format!("{name} must be from 0 to 2**64 - 1, not {number}"))
        } else {
            error
        }
    })
}

/// A duration in seconds, to the next nanosecond.
pub(crate) fn duration_ns(name: &str, seconds: f64) -> PyResult<u64> {
    checked(name, seconds, (seconds * SECOND_NS).round())
}

/// A time in seconds of `time.monotonic()`, as the first nanosecond at which that clock has reached it.
pub(crate) fn deadline_ns(name: &str, seconds: f64) -> PyResult<u64> {
    let product = seconds * SECOND_NS;
    let ns = product.ceil();
    // The product is rounded and may be a little too small; what `mul_add` leaves has the right sign.
    let short = seconds.mul_add(SECOND_NS, -ns) > 0.0;
    checked(name, seconds, if short { ns + 1.0 } else { ns })
}

fn checked(name: &str, seconds: f64, ns: f64) -> PyResult<u64> {
    // NaN is outside too.
    if seconds >= 0.0 && ns < END_NS {
        return Ok(ns as u64);
    }
    let seconds = seconds.to_string();
    Err(PyValueError::new_err(format!("{name} must be from 0 to 1.8e10 seconds, not {seconds}")))
}

/// Nanoseconds of time.monotonic_ns() for seconds of time.monotonic().
#[pyfunction(name = "deadline_ns")]
pub(crate) fn deadline_to_ns(deadline: f64) -> PyResult<u64> {
    deadline_ns("deadline", deadline)
}

/// Nanoseconds for seconds.
#[pyfunction(name = "duration_ns")]
pub(crate) fn duration_to_ns(seconds: f64) -> PyResult<u64> {
    duration_ns("seconds", seconds)
}

/// A time that is given either as nanoseconds of a clock or in seconds from now.
pub(crate) fn either(
    at_ns: Option<&Bound<'_, PyAny>>,
    after: Option<f64>,
    now_ns: impl FnOnce() -> u64,
) -> PyResult<u64> {
    match (at_ns, after) {
        (Some(at_ns), None) => ns("at_ns", at_ns),
        (None, Some(after)) => Ok(now_ns().saturating_add(duration_ns("after", after)?)),
        _ => Err(PyValueError::new_err("give one of at_ns and after")),
    }
}
