//! What all functions answer, and why none of them unwinds.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What went wrong. Functions return 0 or more where nothing did.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A pointer is NULL that must not be.
    Null = -1,
    /// A number is outside of what the function takes.
    Argument = -2,
    /// The timer has fired, is being fired at this moment, or was cancelled.
    Stale = -3,
    /// No room for another timer.
    Full = -4,
    /// A sleeper or interval of another thread.
    Thread = -5,
    /// The service has ended.
    Stopped = -6,
    /// This process was forked from the one that has the service.
    Forked = -7,
    /// The timer is another service's.
    Foreign = -8,
    /// The system refused a thread or a file descriptor.
    System = -9,
    /// A defect of this library; the object must not be used any more, only freed.
    Panic = -10,
}

impl Error {
    const ALL: [Self; 10] = [
        Self::Null,
        Self::Argument,
        Self::Stale,
        Self::Full,
        Self::Thread,
        Self::Stopped,
        Self::Forked,
        Self::Foreign,
        Self::System,
        Self::Panic,
    ];

    const fn text(self) -> &'static std::ffi::CStr {
        match self {
            Self::Null => c"a pointer is NULL that must not be",
            Self::Argument => c"a number is outside of what the function takes",
            Self::Stale => c"the timer has fired or was cancelled",
            Self::Full => c"there is no room for another timer",
            Self::Thread => c"a sleeper or interval belongs to the thread that made it",
            Self::Stopped => c"the timer service has ended",
            Self::Forked => c"this process was forked from the one that has the timer service",
            Self::Foreign => c"the timer belongs to another service",
            Self::System => c"the system refused a thread or a file descriptor",
            Self::Panic => c"a defect of libtardy_timers; its own words are on standard error",
        }
    }
}

/// What a code means, in English. Never NULL; lives as long as the program. Any number is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_error_text(code: i32) -> *const c_char {
    let known = Error::ALL.into_iter().find(|error| *error as i32 == code);
    let text = match known {
        Some(error) => error.text(),
        None if code >= 0 => c"no error",
        None => c"a code that this version of libtardy_timers does not know",
    };
    text.as_ptr()
}

/// Runs `body` and makes a number of its answer. What it was working on when it panicked may be
/// half-changed, hence the rule at [`Error::Panic`].
pub(crate) fn answer(body: impl FnOnce() -> Result<i32, Error>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(number)) => number,
        Ok(Err(error)) => error as i32,
        Err(panic) => {
            // A payload may panic when it is dropped. It is leaked: this happens at most a few times.
            std::mem::forget(panic);
            Error::Panic as i32
        }
    }
}

/// The object behind a pointer from C.
///
/// # Safety
/// NULL, or one that this library gave out and that is not freed while the reference lives.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Error::Null)
}

/// The same, to change it.
///
/// # Safety
/// As [`shared`], and nobody else uses the object while the reference lives.
pub(crate) unsafe fn exclusive<'a, T>(pointer: *mut T) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Error::Null)
}

/// Hands a new object to C.
///
/// # Safety
/// `place` is not NULL, and valid for a write.
pub(crate) unsafe fn give<T>(place: *mut *mut T, object: T) {
    // SAFETY: the caller's promise.
    unsafe { place.write(Box::into_raw(Box::new(object))) }
}

/// Takes an object back from C, to be dropped; `None` for NULL.
///
/// # Safety
/// NULL, or what [`give`] gave, once, and used by nobody any more.
pub(crate) unsafe fn take_back<T>(object: *mut T) -> Option<Box<T>> {
    // SAFETY: `give` made it of a box, and the caller promises that it has not been taken back yet.
    (!object.is_null()).then(|| unsafe { Box::from_raw(object) })
}

/// Writes an answer where C wants to have one.
///
/// # Safety
/// NULL, or valid for a write.
pub(crate) unsafe fn tell<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { place.write(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_number() {
        assert_eq!(answer(|| panic!("not into C")), Error::Panic as i32);
        assert_eq!(answer(|| Ok(7)), 7);
        assert_eq!(answer(|| Err(Error::Null)), -1);
    }

    #[test]
    fn every_error_has_its_own_text_and_number() {
        for (index, error) in Error::ALL.into_iter().enumerate() {
            assert_eq!(error as i32, -(index as i32) - 1);
            let same = Error::ALL.into_iter().filter(|other| other.text() == error.text());
            assert_eq!(same.count(), 1);
        }
    }
}
