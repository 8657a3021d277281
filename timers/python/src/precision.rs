//! How exact a sleep is to be, as Python says it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use tardy_timers::sleep::Precision;

pub(crate) fn precision(given: &Bound<'_, PyAny>) -> PyResult<Precision> {
    if let Ok(name) = given.extract::<String>() {
        return match name.as_str() {
            "cpu" => Ok(Precision::Cpu),
            "balanced" => Ok(Precision::Balanced),
            "exact" => Ok(Precision::Exact),
            _ => Err(PyValueError::new_err(format!(
                "precision must be \"cpu\", \"balanced\", \"exact\" or a number between 0 and 1, \
                 not {name:?}"
            ))),
        };
    }
    let quantile: f64 = given.extract().map_err(|_other| {
        PyTypeError::new_err("precision must be a str or a float, such as \"balanced\" or 0.99")
    })?;
    Precision::quantile(quantile).map_err(|bad| PyValueError::new_err(bad.to_string()))
}
