//! File descriptors that timers make readable.

use pyo3::prelude::*;
use std::os::fd::{AsFd, AsRawFd};
use tardy_timers::service;

/// An eventfd(2) whose counter goes up by one with each timer that fires into it.
///
/// For select, poll, epoll and asyncio's add_reader. It is closed with the object.
#[pyclass(frozen, module = "tardy")]
pub(crate) struct EventFd(pub(crate) service::EventFd);

#[pymethods]
impl EventFd {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self(service::EventFd::new()?))
    }

    /// The file descriptor. It does not block.
    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    /// How many timers have fired into it since the last call; 0 where none has.
    fn take(&self) -> PyResult<u64> {
        Ok(self.0.take()?)
    }
}
