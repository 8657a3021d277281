//! Timer queues: no clock, no threads, no system calls.

use crate::error::{Error, answer, exclusive, give, take_back, tell};
use std::ffi::c_void;
use tardy_timers::queue::{Auto, LazyRearm, Precise, Queue as _, Wheel};
use tardy_timers::{Expiry, Handle, queue};

/// Timers that fire.
pub const QUEUE_PRECISE: u32 = 0;
/// The same, where programming a device is dear.
pub const QUEUE_LAZY: u32 = 1;
/// Timers that are moved or cancelled before they fire.
pub const QUEUE_WHEEL: u32 = 2;
/// Whatever it turns out to be.
pub const QUEUE_AUTO: u32 = 3;

/// The most timers that tardy_queue_new makes room for in advance. A queue may grow beyond, to
/// 4,294,967,279 timers; where there is no memory for that, the program is aborted.
pub const QUEUE_CAPACITY_MAX: usize = 1 << 24;

/// What a timer carries: a number or a pointer, whichever was put in. The library does not look at it.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Payload {
    /// As a number.
    pub number: u64,
    /// As a pointer.
    pub pointer: *mut c_void,
}

/// A timer that fired.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Fired {
    /// The name it had; stale now.
    pub timer: u64,
    /// The earliest time it could fire, ns.
    pub soft_ns: u64,
    /// How much later it was allowed to fire, ns.
    pub slack_ns: u64,
    /// What it carries.
    pub payload: Payload,
}

/// A set of armed timers, ordered by hard expiry. Times are nanoseconds of any one clock.
#[expect(clippy::large_enum_variant, reason = "there are few, each in a box of its own")]
pub enum Queue {
    /// `TARDY_QUEUE_PRECISE`.
    Precise(Precise<Payload>),
    /// `TARDY_QUEUE_LAZY`.
    Lazy(LazyRearm<Payload>),
    /// `TARDY_QUEUE_WHEEL`.
    Wheel(Wheel<Payload>),
    /// `TARDY_QUEUE_AUTO`.
    Auto(Auto<Payload>),
}

macro_rules! each {
    ($queue:expr, $inner:ident => $call:expr) => {
        match $queue {
            Queue::Precise($inner) => $call,
            Queue::Lazy($inner) => $call,
            Queue::Wheel($inner) => $call,
            Queue::Auto($inner) => $call,
        }
    };
}

/// Makes a queue of a kind (TARDY_QUEUE_…) with room for `capacity` timers; it allocates nothing until
/// there are more.
///
/// Errors: NULL, ARGUMENT for an unknown kind or a capacity above TARDY_QUEUE_CAPACITY_MAX.
///
/// # Safety
/// `queue` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_new(
    kind: u32,
    capacity: usize,
    queue: *mut *mut Queue,
) -> i32 {
    answer(|| {
        if queue.is_null() {
            return Err(Error::Null);
        }
        if capacity > QUEUE_CAPACITY_MAX {
            return Err(Error::Argument);
        }
        let new = match kind {
            QUEUE_PRECISE => Queue::Precise(Precise::with_capacity(capacity)),
            QUEUE_LAZY => Queue::Lazy(LazyRearm::with_capacity(capacity)),
            QUEUE_WHEEL => Queue::Wheel(Wheel::with_capacity(capacity)),
            QUEUE_AUTO => Queue::Auto(Auto::with_capacity(capacity)),
            _ => return Err(Error::Argument),
        };
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { give(queue, new) };
        Ok(0)
    })
}

/// Arms a timer that may fire at `soft_ns` and should have fired `slack_ns` later. `timer` gets its
/// name, for tardy_queue_cancel and tardy_queue_rearm, and may be NULL. Names are never used again.
///
/// Errors: NULL, FULL.
///
/// # Safety
/// `queue` is NULL or from tardy_queue_new and not freed, and no other thread uses it now; `timer` is
/// NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_insert(
    queue: *mut Queue,
    soft_ns: u64,
    slack_ns: u64,
    payload: Payload,
    timer: *mut u64,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        let expiry = Expiry::with_slack(soft_ns, slack_ns);
        let handle = each!(queue, inner => inner.insert(expiry, payload))
            .map_err(|queue::Full(_)| Error::Full)?;
        // SAFETY: the caller's promise.
        unsafe { tell(timer, handle.to_bits()) };
        Ok(0)
    })
}

/// Disarms a timer. `payload` gets what it carried, and may be NULL. Any number is allowed as a timer.
///
/// Errors: NULL, STALE.
///
/// # Safety
/// `queue` as for tardy_queue_insert; `payload` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_cancel(
    queue: *mut Queue,
    timer: u64,
    payload: *mut Payload,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        let carried = each!(queue, inner => inner.cancel(Handle::from_bits(timer)))
            .map_err(|_stale| Error::Stale)?;
        // SAFETY: the caller's promise.
        unsafe { tell(payload, carried) };
        Ok(0)
    })
}

/// Moves an armed timer to another time. Any number is allowed as a timer.
///
/// Errors: NULL, STALE.
///
/// # Safety
/// `queue` as for tardy_queue_insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_rearm(
    queue: *mut Queue,
    timer: u64,
    soft_ns: u64,
    slack_ns: u64,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        let expiry = Expiry::with_slack(soft_ns, slack_ns);
        each!(queue, inner => inner.rearm(Handle::from_bits(timer), expiry))
            .map_err(|_stale| Error::Stale)?;
        Ok(0)
    })
}

/// When to look next, in `next_ns`; no timer's hard expiry is earlier. Returns 1, or 0 where nothing
/// is armed, and `next_ns` is left alone.
///
/// Errors: NULL.
///
/// # Safety
/// `queue` as for tardy_queue_insert; `next_ns` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_next_expiry(queue: *mut Queue, next_ns: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        if next_ns.is_null() {
            return Err(Error::Null);
        }
        let Some(ns) = each!(queue, inner => inner.next_expiry_ns()) else { return Ok(0) };
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { next_ns.write(ns) };
        Ok(1)
    })
}

/// Removes the first timer, if it is due at `now_ns`, into `fired`. Returns 1, or 0 where none is due,
/// and `fired` is left alone. Called until 0 it yields all that are due, in order.
///
/// Errors: NULL.
///
/// # Safety
/// `queue` as for tardy_queue_insert; `fired` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_pop_expired(
    queue: *mut Queue,
    now_ns: u64,
    fired: *mut Fired,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        if fired.is_null() {
            return Err(Error::Null);
        }
        let Some(timer) = each!(queue, inner => inner.pop_expired(now_ns)) else { return Ok(0) };
        let queue::Fired { handle, expiry, payload } = timer;
        let (soft_ns, slack_ns) = (expiry.soft_ns(), expiry.slack_ns());
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { fired.write(Fired { timer: handle.to_bits(), soft_ns, slack_ns, payload }) };
        Ok(1)
    })
}

/// How many timers are armed, in `count`.
///
/// Errors: NULL.
///
/// # Safety
/// `queue` as for tardy_queue_insert; `count` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_len(queue: *mut Queue, count: *mut usize) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = unsafe { exclusive(queue) }?;
        if count.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { count.write(each!(queue, inner => inner.len())) };
        Ok(0)
    })
}

/// Frees a queue. What its timers carry is the caller's. NULL is allowed and does nothing.
///
/// # Safety
/// `queue` is NULL or from tardy_queue_new, and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_queue_free(queue: *mut Queue) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take_back(queue) });
        Ok(0)
    })
}
