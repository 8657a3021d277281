//! A timer service: four levels of priority, a thread each.

use crate::error::{Error, answer, give, shared, take_back, tell};
use crate::eventfd::EventFd;
use crate::request::{Request, Timer};
use std::ffi::{CString, c_char, c_void};
use std::ptr;
use tardy_timers::service::{
    ArmError, Builder, ChangeError, Clock, Delivery, SLOW_NS_DEFAULT, SPIN_NS_DEFAULT, StartError,
    TIMERS_DEFAULT,
};
use tardy_timers::{Expiry, Level, service};

/// `CLOCK_MONOTONIC`: it stands still while the system is suspended.
pub const CLOCK_MONOTONIC: u32 = 0;
/// `CLOCK_BOOTTIME`: it goes on.
pub const CLOCK_BOOTTIME: u32 = 1;

/// How a service is to be. tardy_service_options_default makes one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ServiceOptions {
    /// How many timers can be armed at a time at each level, about 200 bytes each; one more is
    /// refused.
    pub timers: usize,
    /// From which duration on a callback is reported as slow, ns.
    pub slow_ns: u64,
    /// The most that a thread spins before a precise timer, ns; 0: not at all.
    pub spin_ns: u64,
    /// `TARDY_CLOCK_MONOTONIC` or `TARDY_CLOCK_BOOTTIME`.
    pub clock: u32,
    /// The `SCHED_FIFO` priorities of the levels' threads, level 0 first; 0: that of the thread which
    /// starts the service. Where one is refused the service works without it and a note says so.
    pub priorities: [u8; 4],
}

/// What a level has done so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Timers fired, counted before what they do begins: who sees its effect sees it counted.
    pub fired: u64,
    /// Timers refused because there was no room.
    pub refused: u64,
    /// Callbacks that were slow.
    pub slow: u64,
    /// The longest callback, ns; 0 where there was none.
    pub longest_ns: u64,
    /// The tag of its timer.
    pub longest_tag: u64,
    /// Timers whose eventfd could not be written to.
    pub undelivered: u64,
    /// How often somebody woke the level's thread with a system call.
    pub woken: u64,
}

/// What a timer calls, in the thread of its level: the level's other timers wait for it. It may use
/// the service, even stop it. It must return; a longjmp or a C++ exception out of it is undefined.
pub type Callback = Option<unsafe extern "C" fn(data: *mut c_void)>;

/// A timer service. All functions but tardy_service_stop may be called by any thread at any time.
pub struct Service {
    service: service::Service,
    notes: Vec<CString>,
}

/// What a callback is given.
struct Data(*mut c_void);

// SAFETY: who arms promises that another thread may have the pointer (tardy_service_arm).
unsafe impl Send for Data {}

impl Data {
    // By value, so that a closure which calls it takes all of `Data` and not the bare pointer in it.
    fn into_pointer(self) -> *mut c_void {
        self.0
    }
}

// What the header says of them, below.
const _: () =
    assert!(TIMERS_DEFAULT == 4096 && SPIN_NS_DEFAULT == 50_000 && SLOW_NS_DEFAULT == 100_000);

/// 4096 timers a level, CLOCK_MONOTONIC, SCHED_FIFO 50 to 53, slow from 100 us on, spins 50 us at most.
#[unsafe(no_mangle)]
pub extern "C" fn tardy_service_options_default() -> ServiceOptions {
    ServiceOptions {
        timers: TIMERS_DEFAULT,
        slow_ns: SLOW_NS_DEFAULT,
        spin_ns: SPIN_NS_DEFAULT,
        clock: CLOCK_MONOTONIC,
        priorities: [50, 51, 52, 53],
    }
}

/// Starts a service; NULL options are the default ones. Needs no rights: without them its threads run
/// at the priority of the calling one.
///
/// Errors: NULL, ARGUMENT, SYSTEM.
///
/// # Safety
/// `options` is NULL or may be read; `service` is NULL or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_start(
    options: *const ServiceOptions,
    service: *mut *mut Service,
) -> i32 {
    answer(|| {
        if service.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: the caller's promise.
        let asked = unsafe { options.as_ref() }.copied();
        let started = builder(asked.unwrap_or_else(|| tardy_service_options_default()))?.start();
        let started = started.map_err(|error| match error {
            StartError::Capacity { .. } => Error::Argument,
            StartError::Thread { .. } | StartError::Fork(_) => Error::System,
        })?;
        let notes = started.notes().iter();
        let notes = notes.filter_map(|note| CString::new(note.to_string()).ok()).collect();
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { give(service, Service { service: started, notes }) };
        Ok(0)
    })
}

fn builder(options: ServiceOptions) -> Result<Builder, Error> {
    let clock = match options.clock {
        CLOCK_MONOTONIC => Clock::Monotonic,
        CLOCK_BOOTTIME => Clock::Boottime,
        _ => return Err(Error::Argument),
    };
    if options.priorities.iter().any(|priority| *priority > 99) {
        return Err(Error::Argument);
    }
    let builder = service::Service::builder().timers(options.timers).clock(clock);
    let builder = builder.slow_after(options.slow_ns).spin_at_most(options.spin_ns);
    Ok(builder.priorities(options.priorities))
}

/// The time on the service's clock, ns, in `now_ns`.
///
/// Errors: NULL.
///
/// # Safety
/// `service` is NULL or from tardy_service_start and not stopped; `now_ns` is NULL or may be written
/// to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_now(service: *const Service, now_ns: *mut u64) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let this = unsafe { shared(service) }?;
        if now_ns.is_null() {
            return Err(Error::Null);
        }
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { now_ns.write(this.service.now_ns()) };
        Ok(0)
    })
}

/// What the threads were given and what they were refused, a sentence each; NULL beyond the last, and
/// for a NULL service. It lives as long as the service.
///
/// # Safety
/// `service` is NULL or from tardy_service_start and not stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_note(
    service: *const Service,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let note = unsafe { service.as_ref() }.and_then(|this| this.notes.get(index));
    note.map_or(ptr::null(), |note| note.as_ptr())
}

/// Arms a timer that calls `callback` with `data`, once. `timer` gets its name and may be NULL. A
/// timer whose time has passed fires at once, perhaps before this returns.
///
/// Errors: NULL, ARGUMENT, FULL, FORKED.
///
/// # Safety
/// `service` is NULL or from tardy_service_start and not stopped; `request` is NULL or may be read;
/// `timer` is NULL or may be written to. `callback` may be called by another thread, and what `data`
/// points to lives until it has returned, or the timer was cancelled, or the service is stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_arm(
    service: *const Service,
    request: *const Request,
    callback: Callback,
    data: *mut c_void,
    timer: *mut Timer,
) -> i32 {
    let data = Data(data);
    answer(|| {
        let callback = callback.ok_or(Error::Null)?;
        // SAFETY: the caller's promise: the function may be called by this thread, and its data are
        // there. The timer fires at most once, and not after it was cancelled or the service ended.
        let call = move |_: &service::Firing| unsafe { callback(data.into_pointer()) };
        // SAFETY: the caller's promise.
        unsafe { arm(service, request, Delivery::call(call), timer) }
    })
}

/// Arms a timer that adds one to an eventfd; else as tardy_service_arm.
///
/// Errors: as tardy_service_arm.
///
/// # Safety
/// `service`, `request` and `timer` as for tardy_service_arm; `eventfd` is NULL or from
/// tardy_eventfd_new and not freed. It may be freed while the timer is armed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_arm_eventfd(
    service: *const Service,
    request: *const Request,
    eventfd: *const EventFd,
    timer: *mut Timer,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let eventfd = unsafe { shared(eventfd) }?.0.clone();
        // SAFETY: the caller's promise.
        unsafe { arm(service, request, eventfd.into(), timer) }
    })
}

/// # Safety
/// As `tardy_service_arm`.
unsafe fn arm(
    service: *const Service,
    request: *const Request,
    delivery: Delivery,
    timer: *mut Timer,
) -> Result<i32, Error> {
    // SAFETY: the caller's promise.
    let (this, request) = unsafe { (shared(service)?, shared(request)?) };
    let armed = this.service.arm(request.checked()?, delivery).map_err(|error| match error {
        ArmError::Full(_) => Error::Full,
        ArmError::Stopped(_) => Error::Stopped,
        ArmError::Forked(_) => Error::Forked,
    })?;
    // SAFETY: the caller's promise.
    unsafe { tell(timer, armed.into()) };
    Ok(0)
}

/// Cancels a timer: after 0 it surely does not fire.
///
/// Errors: NULL, FOREIGN, FORKED, STALE: it has fired, was cancelled, or is being fired, and what it
/// calls may be running still.
///
/// # Safety
/// `service` is NULL or from tardy_service_start and not stopped; `timer` is NULL, or points to what
/// tardy_service_arm or tardy_service_arm_eventfd wrote, a copy of that, or zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_cancel(service: *const Service, timer: *const Timer) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let (this, timer) = unsafe { (shared(service)?, shared(timer)?.inner()?) };
        this.service.cancel(timer).map_err(change)?;
        Ok(0)
    })
}

/// Moves a timer to another time; all else about it stays.
///
/// Errors: as tardy_service_cancel.
///
/// # Safety
/// As tardy_service_cancel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_rearm(
    service: *const Service,
    timer: *const Timer,
    soft_ns: u64,
    slack_ns: u64,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let (this, timer) = unsafe { (shared(service)?, shared(timer)?.inner()?) };
        this.service.rearm(timer, Expiry::with_slack(soft_ns, slack_ns)).map_err(change)?;
        Ok(0)
    })
}

fn change(error: ChangeError) -> Error {
    match error {
        ChangeError::TooLate => Error::Stale,
        ChangeError::Foreign => Error::Foreign,
        ChangeError::Forked => Error::Forked,
    }
}

/// What level 0 to 3 has done so far, in `report`.
///
/// Errors: NULL, ARGUMENT.
///
/// # Safety
/// `service` is NULL or from tardy_service_start and not stopped; `report` is NULL or may be written
/// to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_report(
    service: *const Service,
    level: i32,
    report: *mut Report,
) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        let this = unsafe { shared(service) }?;
        if report.is_null() {
            return Err(Error::Null);
        }
        let level = u8::try_from(level).ok().and_then(Level::new).ok_or(Error::Argument)?;
        let known = this.service.report(level);
        let (longest_ns, longest_tag) = known.longest.unwrap_or_default();
        let service::Report { fired, refused, slow, undelivered, woken, .. } = known;
        let told = Report { fired, refused, slow, longest_ns, longest_tag, undelivered, woken };
        // SAFETY: not NULL, and the caller promises the rest.
        unsafe { report.write(told) };
        Ok(0)
    })
}

/// Stops a service and frees it: nothing fires any more, callbacks that run come to their end and are
/// waited for, except where it is one of them that stops the service. NULL is allowed and does nothing.
///
/// # Safety
/// `service` is NULL or from tardy_service_start; no other thread uses it now, and nobody after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tardy_service_stop(service: *mut Service) -> i32 {
    answer(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { take_back(service) });
        Ok(0)
    })
}
