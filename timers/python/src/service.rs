//! A timer service: four levels of priority, a thread each.

use crate::eventfd::EventFd;
use crate::number::either;
use crate::timer::{Timer, arm_error};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tardy_timers::service::{
    Client, Clock, Delivery, Request, SLOW_NS_DEFAULT, SPIN_NS_DEFAULT, Service, StartError,
    TIMERS_DEFAULT,
};
use tardy_timers::{Expiry, Kind, Level, Priority, service};

/// Calls functions, and makes file descriptors readable, at given times.
///
/// timers: how many can be armed at a time at each level; one more raises FullError.
/// priorities: the SCHED_FIFO priorities of the levels' threads, level 0 first; 0: that of the thread
/// which starts the service. Where one is refused the service works without it, and notes says so.
/// spin_ns: the most that a thread spins before a precise timer.
/// slow_ns: from which duration on a callback is counted as slow.
/// clock: "monotonic" stands still while the system is suspended, "boottime" goes on.
///
/// It runs until stop(), until the end of a with statement, or until the interpreter exits.
#[pyclass(frozen, module = "tardy")]
pub(crate) struct TimerService {
    client: Client,
    notes: Vec<String>,
    running: Arc<Running>,
}

/// The service, until it is stopped.
struct Running(Mutex<Option<Service>>);

// Python shows literals as defaults, and only those.
const _: () =
    assert!(TIMERS_DEFAULT == 4096 && SPIN_NS_DEFAULT == 50_000 && SLOW_NS_DEFAULT == 100_000);

/// What a level has done so far; see the stubs for each number.
#[pyclass(frozen, get_all, module = "tardy")]
pub(crate) struct Report {
    fired: u64,
    refused: u64,
    slow: u64,
    longest_ns: u64,
    longest_tag: u64,
    undelivered: u64,
    woken: u64,
}

#[pymethods]
impl TimerService {
    #[new]
    #[pyo3(signature = (
        *, timers = 4096, priorities = [50, 51, 52, 53], spin_ns = 50_000, slow_ns = 100_000,
        clock = "monotonic",
    ))]
    fn new(
        py: Python<'_>,
        timers: usize,
        priorities: [u8; Level::COUNT],
        spin_ns: u64,
        slow_ns: u64,
        clock: &str,
    ) -> PyResult<Self> {
        let clock = match clock {
            "monotonic" => Clock::Monotonic,
            "boottime" => Clock::Boottime,
            other => {
                let text = format!("clock must be \"monotonic\" or \"boottime\", not {other:?}");
                return Err(PyValueError::new_err(text));
            }
        };
        if let Some(priority) = priorities.iter().find(|priority| **priority > 99) {
            let text = format!("priorities must be from 0 to 99, not {priority}");
            return Err(PyValueError::new_err(text));
        }
        let builder = Service::builder().timers(timers).clock(clock).priorities(priorities);
        let builder = builder.spin_at_most(spin_ns).slow_after(slow_ns);
        let started = py.detach(|| builder.start()).map_err(|error| match error {
            StartError::Capacity { .. } => PyValueError::new_err(error.to_string()),
            StartError::Thread { ref source, .. } => {
                PyOSError::new_err(format!("{error}: {source}"))
            }
            StartError::Fork(_) => PyOSError::new_err(error.to_string()),
        })?;
        let client = started.client();
        let notes = started.notes().iter().map(ToString::to_string).collect();
        let running = Arc::new(Running(Mutex::new(Some(started))));
        let mut all = locked(&ALL);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&running));
        Ok(Self { client, notes, running })
    }

    /// Calls callback() once, in the thread of its level, whose other timers wait for it.
    ///
    /// at_ns or after: nanoseconds on the service's clock, or seconds from now.
    /// level: 0 to 3, the most urgent, or None: that of the calling thread's priority.
    /// precise: False is for timeouts that are nearly always moved or cancelled.
    /// slack_ns: how much later it may fire. tag: a number that reports name it by.
    ///
    /// What the callback raises goes to sys.unraisablehook. It needs the interpreter, and so waits for
    /// threads that keep it; an EventFd does not (arm_fd).
    #[pyo3(
        signature = (
            callback, *, at_ns = None, after = None, level = Some(0), precise = true, slack_ns = 0,
            tag = 0,
        ),
        text_signature = "($self, callback, *, at_ns=None, after=None, level=0, precise=True, slack_ns=0, \
                          tag=0)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn arm(
        &self,
        callback: &Bound<'_, PyAny>,
        at_ns: Option<&Bound<'_, PyAny>>,
        after: Option<f64>,
        level: Option<u8>,
        precise: bool,
        slack_ns: u64,
        tag: u64,
    ) -> PyResult<Timer> {
        if !callback.is_callable() {
            return Err(PyTypeError::new_err("callback must be callable"));
        }
        let soft_ns = either(at_ns, after, || self.client.now_ns())?;
        let request = request(Expiry::with_slack(soft_ns, slack_ns), level, precise)?.tag(tag);
        let callback = callback.clone().unbind();
        self.deliver(request, Delivery::call(move |_| call(callback)))
    }

    /// Adds one to an EventFd, else as arm.
    #[pyo3(
        signature = (
            eventfd, *, at_ns = None, after = None, level = Some(0), precise = true, slack_ns = 0,
            tag = 0,
        ),
        text_signature = "($self, eventfd, *, at_ns=None, after=None, level=0, precise=True, slack_ns=0, \
                          tag=0)"
    )]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn arm_fd(
        &self,
        eventfd: &EventFd,
        at_ns: Option<&Bound<'_, PyAny>>,
        after: Option<f64>,
        level: Option<u8>,
        precise: bool,
        slack_ns: u64,
        tag: u64,
    ) -> PyResult<Timer> {
        let soft_ns = either(at_ns, after, || self.client.now_ns())?;
        let request = request(Expiry::with_slack(soft_ns, slack_ns), level, precise)?.tag(tag);
        self.deliver(request, eventfd.0.clone().into())
    }

    /// Stops it: nothing fires any more. Callbacks that run come to their end and are waited for,
    /// except where one of them stops the service. A second time it does nothing.
    fn stop(&self, py: Python<'_>) {
        self.running.stop(py);
    }

    /// What a level, 0 to 3, has done so far.
    fn report(&self, level: u8) -> PyResult<Report> {
        let service::Report { fired, refused, slow, longest, undelivered, woken, .. } =
            self.client.report(self::level(level)?);
        let (longest_ns, longest_tag) = longest.unwrap_or_default();
        Ok(Report { fired, refused, slow, longest_ns, longest_tag, undelivered, woken })
    }

    /// The time on the service's clock, nanoseconds.
    fn now_ns(&self) -> u64 {
        self.client.now_ns()
    }

    /// What the threads were given and what they were refused, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.stop(py);
    }
}

impl TimerService {
    fn deliver(&self, request: Request, delivery: Delivery) -> PyResult<Timer> {
        let timer = self.client.arm(request, delivery).map_err(|error| arm_error(&error))?;
        Ok(Timer { client: self.client.clone(), timer })
    }
}

impl Running {
    /// Its threads may be waiting for the interpreter, so who waits for them has to let go of it.
    fn stop(&self, py: Python<'_>) {
        let service = locked(&self.0).take();
        py.detach(|| drop(service));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where there is no interpreter any more, no thread waits for it either.
        Python::try_attach(|py| self.stop(py));
    }
}

/// All that may be running.
static ALL: Mutex<Vec<Weak<Running>>> = Mutex::new(Vec::new());

/// Stops all services, while there still is an interpreter that callbacks may wait for.
#[pyfunction]
pub(crate) fn stop_all(py: Python<'_>) {
    let all: Vec<_> = locked(&ALL).drain(..).collect();
    for running in all.iter().filter_map(Weak::upgrade) {
        running.stop(py);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn request(expiry: Expiry, level: Option<u8>, precise: bool) -> PyResult<Request> {
    let priority = match level {
        Some(number) => Priority::Level(self::level(number)?),
        None => Priority::Inherit,
    };
    let kind = if precise { Kind::Precise } else { Kind::Coarse };
    Ok(Request::new(expiry).priority(priority).kind(kind))
}

fn level(number: u8) -> PyResult<Level> {
    let text = || format!("level must be from 0 to 3, not {number}");
    Level::new(number).ok_or_else(|| PyValueError::new_err(text()))
}

fn call(callback: Py<PyAny>) {
    // Not while the interpreter is coming to its end.
    Python::try_attach(move |py| {
        let callback = callback.into_bound(py);
        if let Err(error) = callback.call0() {
            error.write_unraisable(py, Some(&callback));
        }
    });
}
