//! Sleeps, one by one.

use crate::error::{Error, answer, exclusive, give, take_back, tell};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tardy_timers::sleep;

/// No spinning: the kernel's own lateness, with the timer slack out of the way.
pub const PRECISION_CPU: f64 = 0.0;
/// Three sleeps of four end on time, for little more CPU time than no spinning.
pub const PRECISION_BALANCED: f64 = 0.75;
/// 99.5 of 100 sleeps end on time. For a thread that has a CPU to itself.
pub const PRECISION_EXACT: f64 = 0.995;

/// How a sleep went.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    /// How far the deadline was past when the sleep returned, ns.
    pub lateness_ns: u64,
    /// How long of it was spun, ns.
    pub spun_ns: u64,
    /// How long of it the kernel had, ns.
    pub native_ns: u64,
}

impl From<sleep::Slept> for Slept {
    fn from(slept: sleep::Slept) -> Self {
        let sleep::Slept { lateness_ns, spun_ns, native_ns } = slept;
        Self { lateness_ns, spun_ns, native_ns }
    }
}

/// Sleeps of one thread. While it lives, the thread's timer slack is 1 ns; threads that are started
/// meanwhile inherit that.
pub struct Sleeper {
    sleeper: sleep::Sleeper,
    thread: ThreadId,
}

/// A precision as C gives it: 0, or a quantile below 1.
pub(crate) fn precision(quantile: f64) -> Result<sleep::Precision, Error> {
    if quantile == PRECISION_CPU {
        return Ok(sleep::Precision::Cpu);
    }
    sleep::Precision::quantile(quantile).map_err(|_bad| Error::Argument)
}

/// Whether the calling thread is the one that made an object; its timer slack is the thread's.
pub(crate) fn own(thread: ThreadId) -> Result<(), Error> {
    if thread::current().id() == thread { Ok(()) } else { Err(Error::Thread) }
}

impl Sleeper {
    /// # Safety
    /// As [`exclusive`].
    unsafe fn of<'a>(pointer: *mut Self) -> Result<&'a mut sleep::Sleeper, Error> {
        // SAFETY: the caller's promise.
        let this = unsafe { exclusive(pointer) }?;
        own(this.thread)?;
        Ok(&mut this.sleeper)
    }
}

/// Makes a sleeper for the calling thread; `precision` is the share of sleeps that are to end on time,
/// 0 <= precision < 1: TARDY_PRECISION_CPU, TARDY_PRECISION_BALANCED, TARDY_PRECISION_EXACT or any
/// other.
///
/// Errors: NULL, ARGUMENT.
///
/// # Safety
/// `sleeper` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleeper_new(precision: f64, sleeper: *mut *mut Sleeper) -> i32 {
    answer(|| {
        if sleeper.is_null() {
            return Err(Error::Null);
        }
        let inner = sleep::Sleeper::new(self::precision(precision)?);
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { give(sleeper, Sleeper { sleeper: inner, thread: thread::current().id() }) };
        Ok(0)
    })
}

/// Sleeps until `deadline_ns`; returns at once where that is past. Never returns earlier, signals do
/// not shorten it. `slept` may be NULL.
///
/// Errors: NULL, THREAD where another thread made the sleeper.
///
/// # Safety
/// `sleeper` is NULL or from tardy_sleeper_new and not freed; `slept` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleeper_sleep_until(
    sleeper: *mut Sleeper,
    deadline_ns: u64,
    slept: *mut Slept,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise; only its own thread gets beyond this, so it is in use once.
        let how = unsafe { Sleeper::of(sleeper) }?.sleep_until(deadline_ns);
        // SAFETY: the caller's promise.
        unsafe { tell(slept, how.into()) };
        Ok(0)
    })
}

/// Sleeps for `duration_ns` from now, as tardy_sleeper_sleep_until does.
///
/// Errors: as tardy_sleeper_sleep_until.
///
/// # Safety
/// As tardy_sleeper_sleep_until.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleeper_sleep_for(
    sleeper: *mut Sleeper,
    duration_ns: u64,
    slept: *mut Slept,
) -> i32 {
    answer(|| {
        // SAFETY: as in tardy_sleeper_sleep_until.
        let how = unsafe { Sleeper::of(sleeper) }?.sleep_for(Duration::from_nanos(duration_ns));
        // SAFETY: the caller's promise.
        unsafe { tell(slept, how.into()) };
        Ok(0)
    })
}

/// Frees a sleeper and puts back the thread's timer slack. NULL is allowed and does nothing.
///
/// Errors: THREAD where another thread made it; it is not freed then.
///
/// # Safety
/// `sleeper` is NULL or from tardy_sleeper_new, and is not used after this has returned 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleeper_free(sleeper: *mut Sleeper) -> i32 {
    answer(|| {
        if sleeper.is_null() {
            return Ok(0);
        }
        // SAFETY: the caller's promise.
        unsafe { Sleeper::of(sleeper) }?;
        // SAFETY: the caller's promise; the reference above is gone.
        drop(unsafe { take_back(sleeper) });
        Ok(0)
    })
}

/// Sleeps until `deadline_ns` without a sleeper, with TARDY_PRECISION_BALANCED: four system calls
/// more, and the timer slack is as before when it returns. `slept` may be NULL.
///
/// # Safety
/// `slept` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleep_until(deadline_ns: u64, slept: *mut Slept) -> i32 {
    answer(|| {
        let how = sleep::sleep_until(deadline_ns);
        // SAFETY: the caller's promise.
        unsafe { tell(slept, how.into()) };
        Ok(0)
    })
}

/// Sleeps for `duration_ns` from now, as tardy_sleep_until does.
///
/// # Safety
/// `slept` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_sleep_for(duration_ns: u64, slept: *mut Slept) -> i32 {
    answer(|| {
        let how = sleep::sleep_for(Duration::from_nanos(duration_ns));
        // SAFETY: the caller's promise.
        unsafe { tell(slept, how.into()) };
        Ok(0)
    })
}
