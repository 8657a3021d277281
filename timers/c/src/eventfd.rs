//! File descriptors that timers make readable.

use crate::error::{Error, answer, give, shared, take_back};
use std::os::fd::{AsFd, AsRawFd};
use tardy_timers::service;

/// An eventfd(2) whose counter goes up by one with each timer that fires into it.
pub struct EventFd(pub(crate) service::EventFd);

/// Makes one. It does not block and is closed on exec.
///
/// Errors: NULL, SYSTEM where there are no more file descriptors.
///
/// # Safety
/// `eventfd` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_eventfd_new(eventfd: *mut *mut EventFd) -> i32 {
    answer(|| {
        if eventfd.is_null() {
            return Err(Error::Null);
        }
        let new = service::EventFd::new().map_err(|_refused| Error::System)?;
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { give(eventfd, EventFd(new)) };
        Ok(0)
    })
}

/// The file descriptor, for poll and epoll: readable when a timer has fired. It must not be closed;
/// tardy_eventfd_free does that.
///
/// Errors: NULL.
///
/// # Safety
/// `eventfd` is NULL or from tardy_eventfd_new and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_eventfd_fd(eventfd: *const EventFd) -> i32 {
    // SAFETY: the caller's promise.
    answer(|| Ok(unsafe { shared(eventfd) }?.0.as_fd().as_raw_fd()))
}

/// How many timers have fired into it since the last call, in `count`; 0 where none has.
///
/// Errors: NULL, SYSTEM.
///
/// # Safety
/// `eventfd` is NULL or from tardy_eventfd_new and not freed; `count` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_eventfd_take(eventfd: *const EventFd, count: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let this = unsafe { shared(eventfd) }?;
        if count.is_null() {
            return Err(Error::Null);
        }
        let fired = this.0.take().map_err(|_refused| Error::System)?;
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { count.write(fired) };
        Ok(0)
    })
}

/// Frees it. Timers that are armed with it keep the descriptor open until they have fired or are
/// cancelled. NULL is allowed and does nothing.
///
/// # Safety
/// `eventfd` is NULL or from tardy_eventfd_new, and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_eventfd_free(eventfd: *mut EventFd) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take_back(eventfd) });
        Ok(0)
    })
}
