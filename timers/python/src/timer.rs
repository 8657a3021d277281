//! A timer that is armed, and what can go wrong with it.

use crate::number::either;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tardy_timers::Expiry;
use tardy_timers::service::{self, ArmError, ChangeError, Client};

create_exception!(tardy, TimerError, PyRuntimeError, "A timer was not armed or changed.");
create_exception!(tardy, FullError, TimerError, "All timers of the level are in use.");
create_exception!(tardy, StoppedError, TimerError, "The timer service has ended.");
create_exception!(
    tardy,
    ForkedError,
    TimerError,
    "This process was forked from the one that has the timer service."
);

pub(crate) fn arm_error(error: &ArmError) -> PyErr {
    let text = error.to_string();
    match error {
        ArmError::Full(_) => FullError::new_err(text),
        ArmError::Stopped(_) => StoppedError::new_err(text),
        ArmError::Forked(_) => ForkedError::new_err(text),
    }
}

/// Names one timer of a TimerService, which makes them.
#[pyclass(frozen, module = "tardy")]
pub(crate) struct Timer {
    pub(crate) client: Client,
    pub(crate) timer: service::Timer,
}

#[pymethods]
impl Timer {
    /// Cancels it. True: it surely does not fire. False: it has fired, was cancelled, or is being fired.
    fn cancel(&self) -> PyResult<bool> {
        in_time(self.client.cancel(self.timer))
    }

    /// Moves it to another time; all else about it stays. False as for cancel.
    #[pyo3(signature = (*, at_ns = None, after = None, slack_ns = 0))]
    fn rearm(
        &self,
        at_ns: Option<&Bound<'_, PyAny>>,
        after: Option<f64>,
        slack_ns: u64,
    ) -> PyResult<bool> {
        let soft_ns = either(at_ns, after, || self.client.now_ns())?;
        in_time(self.client.rearm(self.timer, Expiry::with_slack(soft_ns, slack_ns)))
    }

    /// At which level it fires, 0 to 3.
    #[getter]
    fn level(&self) -> u8 {
        self.timer.level().number()
    }
}

fn in_time(changed: Result<(), ChangeError>) -> PyResult<bool> {
    match changed {
        Ok(()) => Ok(true),
        Err(ChangeError::TooLate) => Ok(false),
        Err(error @ ChangeError::Foreign) => Err(TimerError::new_err(error.to_string())),
        Err(error @ ChangeError::Forked) => Err(ForkedError::new_err(error.to_string())),
    }
}
