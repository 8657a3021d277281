//! A period, kept.

use crate::error::{Error, answer, exclusive, give, take_back, tell};
use crate::sleeper::{own, precision};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tardy_timers::sleep;

/// Ticks at start + k * period, without drift. It contains a sleeper and so belongs to its thread.
pub struct Interval {
    interval: sleep::Interval,
    thread: ThreadId,
}

/// One tick of an interval.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// When it was due, ns.
    pub scheduled_ns: u64,
    /// How much later it came, ns.
    pub lateness_ns: u64,
    /// How many ticks between this and the next are left out because their time has passed too.
    pub missed: u64,
}

/// Makes an interval whose grid begins at `start_ns`, past or future; the first tick is due a period
/// later. `precision` as for tardy_sleeper_new.
///
/// Errors: NULL, ARGUMENT for a period of 0 or a wrong precision.
///
/// # Safety
/// `interval` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_interval_new(
    start_ns: u64,
    period_ns: u64,
    precision: f64,
    interval: *mut *mut Interval,
) -> i32 {
    answer(|| {
        if interval.is_null() {
            return Err(Error::Null);
        }
        let precision = self::precision(precision)?;
        let period = Duration::from_nanos(period_ns);
        let inner = sleep::Interval::starting_at(start_ns, period, precision)
            .map_err(|_zero| Error::Argument)?;
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { give(interval, Interval { interval: inner, thread: thread::current().id() }) };
        Ok(0)
    })
}

/// Waits for the next tick; returns at once where its time has passed. `tick` may be NULL.
///
/// Errors: NULL, THREAD where another thread made the interval.
///
/// # Safety
/// `interval` is NULL or from tardy_interval_new and not freed; `tick` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_interval_tick(interval: *mut Interval, tick: *mut Tick) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise; only its own thread uses it further.
        let this = unsafe { exclusive(interval) }?;
        own(this.thread)?;
        let sleep::Tick { scheduled_ns, lateness_ns, missed } = this.interval.tick();
        // SAFETY: the caller's promise.
        unsafe { tell(tick, Tick { scheduled_ns, lateness_ns, missed }) };
        Ok(0)
    })
}

/// Frees an interval and puts back the thread's timer slack. NULL is allowed and does nothing.
///
/// Errors: THREAD where another thread made it; it is not freed then.
///
/// # Safety
/// `interval` is NULL or from tardy_interval_new, and is not used after this has returned 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_interval_free(interval: *mut Interval) -> i32 {
    answer(|| {
        if interval.is_null() {
            return Ok(0);
        }
        // SAFETY: the caller's promise.
        own(unsafe { exclusive(interval) }?.thread)?;
        // SAFETY: the caller's promise; the reference above is gone.
        drop(unsafe { take_back(interval) });
        Ok(0)
    })
}
