//! A period, kept.

use crate::nap::approach;
use crate::number::{duration_ns, ns};
use crate::sleeper::{chosen, own};
use fragile::Sticky;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::time::Duration;
use tardy_timers::clock::now_ns;
use tardy_timers::sleep::{self, Overrun, Precision};

/// One tick of an Interval.
///
/// scheduled_ns: when it was due, nanoseconds of time.monotonic_ns().
/// lateness_ns: how much later it came.
/// missed: how many ticks between this and the next are left out because their time has passed too.
#[pyclass(frozen, eq, get_all, module = "tardy")]
#[derive(PartialEq, Eq)]
pub(crate) struct Tick {
    scheduled_ns: u64,
    lateness_ns: u64,
    missed: u64,
}

#[pymethods]
impl Tick {
    fn __repr__(&self) -> String {
        let Self { scheduled_ns, lateness_ns, missed } = self;
        format!("Tick(scheduled_ns={scheduled_ns}, lateness_ns={lateness_ns}, missed={missed})")
    }
}

/// What tardy.Interval is made of: all but its asynchronous half.
#[pyclass(frozen, subclass, module = "tardy._tardy")]
pub(crate) struct Interval {
    grid: Sticky<RefCell<Grid>>,
    period_ns: u64,
}

/// The interval and what it does not tell: when it ticks next.
struct Grid {
    interval: sleep::Interval,
    next_ns: u64,
}

#[pymethods]
impl Interval {
    #[new]
    #[pyo3(signature = (period = None, *, period_ns = None, precision = None, start_ns = None, behind_max = 0))]
    fn new(
        period: Option<f64>,
        period_ns: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = chosen)] precision: Option<Precision>,
        start_ns: Option<&Bound<'_, PyAny>>,
        behind_max: u32,
    ) -> PyResult<Self> {
        let period_ns = match (period, period_ns) {
            (Some(seconds), None) => duration_ns("period", seconds)?,
            (None, Some(period_ns)) => ns("period_ns", period_ns)?,
            _ => return Err(PyValueError::new_err("give one of period and period_ns")),
        };
        let start_ns = start_ns.map_or_else(|| Ok(now_ns()), |start| ns("start_ns", start))?;
        let period = Duration::from_nanos(period_ns);
        let interval =
            sleep::Interval::starting_at(start_ns, period, precision.unwrap_or_default())
                .map_err(|zero| PyValueError::new_err(zero.to_string()))?;
        let overrun = match behind_max {
            0 => Overrun::Skip,
            behind_max => Overrun::CatchUp { behind_max },
        };
        let next_ns = start_ns.saturating_add(period_ns);
        let grid = Grid { interval: interval.with_overrun(overrun), next_ns };
        Ok(Self { grid: Sticky::new(RefCell::new(grid)), period_ns })
    }

    /// Waits for the next tick; returns at once where its time has passed.
    fn tick(&self, py: Python<'_>) -> PyResult<Tick> {
        let scheduled_ns = self.next_ns()?;
        approach(py, scheduled_ns)?;
        let period_ns = self.period_ns;
        py.detach(|| {
            own(&self.grid, |grid| {
                let sleep::Tick { scheduled_ns, lateness_ns, missed } = grid.interval.tick();
                let step_ns = period_ns.saturating_mul(missed.saturating_add(1));
                grid.next_ns = scheduled_ns.saturating_add(step_ns);
                Tick { scheduled_ns, lateness_ns, missed }
            })
        })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Tick> {
        self.tick(py)
    }

    /// When the next tick is due, nanoseconds of time.monotonic_ns().
    #[getter]
    fn next_ns(&self) -> PyResult<u64> {
        own(&self.grid, |grid| grid.next_ns)
    }

    /// The period, nanoseconds.
    #[getter]
    fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Ticks left out since the interval was made.
    #[getter]
    fn missed_total(&self) -> PyResult<u64> {
        own(&self.grid, |grid| grid.interval.missed_total())
    }
}
