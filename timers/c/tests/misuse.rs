//! What C may get wrong, and what it is told.

use std::ptr::{null, null_mut};
use tardy_timers_c::Error;
use tardy_timers_c::clock::tardy_now_ns;
use tardy_timers_c::error::tardy_error_text;
use tardy_timers_c::eventfd::*;
use tardy_timers_c::interval::*;
use tardy_timers_c::queue::*;
use tardy_timers_c::request::*;
use tardy_timers_c::service::*;
use tardy_timers_c::sleeper::*;

const NULL: i32 = Error::Null as i32;
const ARGUMENT: i32 = Error::Argument as i32;
const STALE: i32 = Error::Stale as i32;
const HOUR_NS: u64 = 3_600_000_000_000;

unsafe extern "C" fn never(_: *mut std::ffi::c_void) {
    std::process::abort();
}

/// A service without spinning, with room for `timers` at each level.
fn service(timers: usize) -> *mut Service {
    let options = ServiceOptions { timers, spin_ns: 0, ..tardy_service_options_default() };
    let mut service = null_mut();
    // SAFETY: both are there.
    assert_eq!(unsafe { tardy_service_start(&raw const options, &raw mut service) }, 0);
    service
}

fn timer() -> Timer {
    // SAFETY: all zeros are allowed, as in C.
    unsafe { std::mem::zeroed() }
}

#[test]
fn null_is_an_error_everywhere() {
    let request = tardy_request_at(0);
    let payload = Payload { number: 0 };
    // SAFETY: NULL is what is allowed everywhere.
    let codes = unsafe {
        [
            tardy_sleeper_new(0.5, null_mut()),
            tardy_sleeper_sleep_until(null_mut(), 0, null_mut()),
            tardy_sleeper_sleep_for(null_mut(), 0, null_mut()),
            tardy_interval_new(0, 1, 0.5, null_mut()),
            tardy_interval_tick(null_mut(), null_mut()),
            tardy_queue_new(QUEUE_PRECISE, 0, null_mut()),
            tardy_queue_insert(null_mut(), 0, 0, payload, null_mut()),
            tardy_queue_cancel(null_mut(), 0, null_mut()),
            tardy_queue_rearm(null_mut(), 0, 0, 0),
            tardy_queue_next_expiry(null_mut(), null_mut()),
            tardy_queue_pop_expired(null_mut(), 0, null_mut()),
            tardy_queue_len(null_mut(), null_mut()),
            tardy_eventfd_new(null_mut()),
            tardy_eventfd_fd(null()),
            tardy_eventfd_take(null(), null_mut()),
            tardy_service_start(null(), null_mut()),
            tardy_service_now(null(), null_mut()),
            tardy_service_arm(null(), null(), Some(never), null_mut(), null_mut()),
            tardy_service_arm(null(), &raw const request, Some(never), null_mut(), null_mut()),
            tardy_service_arm_eventfd(null(), &raw const request, null(), null_mut()),
            tardy_service_cancel(null(), null()),
            tardy_service_rearm(null(), null(), 0, 0),
            tardy_service_report(null(), 0, null_mut()),
        ]
    };
    for (index, code) in codes.into_iter().enumerate() {
        assert_eq!(code, NULL, "number {index}");
    }
    // SAFETY: as above.
    assert!(unsafe { tardy_service_note(null(), 0) }.is_null());
}

#[test]
fn null_is_freed_as_free_does() {
    // SAFETY: NULL is allowed.
    let codes = unsafe {
        [
            tardy_sleeper_free(null_mut()),
            tardy_interval_free(null_mut()),
            tardy_queue_free(null_mut()),
            tardy_eventfd_free(null_mut()),
            tardy_service_stop(null_mut()),
        ]
    };
    assert_eq!(codes, [0; 5]);
}

#[test]
fn wrong_numbers_are_refused() {
    let mut sleeper = null_mut();
    for precision in [-0.1, 1.0, 7.0, f64::NAN, f64::INFINITY] {
        // SAFETY: there is a place for it.
        assert_eq!(unsafe { tardy_sleeper_new(precision, &raw mut sleeper) }, ARGUMENT);
    }
    assert!(sleeper.is_null());
    let (mut interval, mut queue) = (null_mut(), null_mut());
    // SAFETY: as above.
    unsafe {
        assert_eq!(tardy_interval_new(0, 0, 0.5, &raw mut interval), ARGUMENT);
        assert_eq!(tardy_interval_new(0, 1, 1.5, &raw mut interval), ARGUMENT);
        assert_eq!(tardy_queue_new(4, 0, &raw mut queue), ARGUMENT);
        assert_eq!(tardy_queue_new(0, QUEUE_CAPACITY_MAX + 1, &raw mut queue), ARGUMENT);
    }
    let good = tardy_service_options_default();
    let bad = [
        ServiceOptions { timers: 0, ..good },
        ServiceOptions { timers: usize::MAX, ..good },
        ServiceOptions { clock: 2, ..good },
        ServiceOptions { priorities: [100, 0, 0, 0], ..good },
    ];
    let mut service = null_mut();
    for options in bad {
        // SAFETY: both are there.
        let code = unsafe { tardy_service_start(&raw const options, &raw mut service) };
        assert_eq!(code, ARGUMENT, "{options:?}");
    }
    assert!(service.is_null());
}

#[test]
fn a_sleeper_is_its_threads() {
    let mut sleeper = null_mut();
    // SAFETY: there is a place for it.
    assert_eq!(unsafe { tardy_sleeper_new(PRECISION_CPU, &raw mut sleeper) }, 0);
    let address = sleeper as usize;
    let codes = std::thread::spawn(move || {
        let sleeper = address as *mut Sleeper;
        // SAFETY: it lives, and the other thread waits.
        unsafe { [tardy_sleeper_sleep_for(sleeper, 1, null_mut()), tardy_sleeper_free(sleeper)] }
    });
    assert_eq!(codes.join().expect("no panic"), [Error::Thread as i32; 2]);
    let deadline_ns = tardy_now_ns() + 100_000;
    let mut slept = Slept::default();
    // SAFETY: it has not been freed; its use ends with free.
    unsafe {
        assert_eq!(tardy_sleeper_sleep_until(sleeper, deadline_ns, &raw mut slept), 0);
        assert!(tardy_now_ns() >= deadline_ns + slept.lateness_ns);
        assert_eq!(tardy_sleeper_free(sleeper), 0);
    }
}

#[test]
fn each_kind_of_queue_orders_and_forgets() {
    for kind in [QUEUE_PRECISE, QUEUE_LAZY, QUEUE_WHEEL, QUEUE_AUTO] {
        let mut queue = null_mut();
        let (mut first, mut second) = (0, 0);
        let mut fired = Fired { timer: 0, soft_ns: 0, slack_ns: 0, payload: Payload { number: 0 } };
        let (mut carried, mut next_ns, mut count) = (Payload { number: 0 }, 0, 9);
        // SAFETY: all places are there and the queue lives until the end.
        unsafe {
            assert_eq!(tardy_queue_new(kind, 4, &raw mut queue), 0);
            assert_eq!(tardy_queue_next_expiry(queue, &raw mut next_ns), 0);
            let payload = |number| Payload { number };
            assert_eq!(tardy_queue_insert(queue, 2_000_000, 0, payload(2), &raw mut second), 0);
            assert_eq!(tardy_queue_insert(queue, 1_000_000, 5, payload(1), &raw mut first), 0);
            assert_eq!(tardy_queue_next_expiry(queue, &raw mut next_ns), 1);
            assert!(next_ns <= 1_000_005, "{next_ns}");
            assert_eq!(tardy_queue_pop_expired(queue, 999_999, &raw mut fired), 0);
            assert_eq!(tardy_queue_pop_expired(queue, 1_000_000, &raw mut fired), 1);
            assert_eq!((fired.timer, fired.soft_ns, fired.slack_ns), (first, 1_000_000, 5));
            assert_eq!(fired.payload.number, 1);
            assert_eq!(tardy_queue_cancel(queue, first, null_mut()), STALE);
            assert_eq!(tardy_queue_rearm(queue, first, 1, 0), STALE);
            assert_eq!(tardy_queue_rearm(queue, u64::MAX, 1, 0), STALE);
            assert_eq!(tardy_queue_cancel(queue, second, &raw mut carried), 0);
            assert_eq!(carried.number, 2);
            assert_eq!(tardy_queue_len(queue, &raw mut count), 0);
            assert_eq!(count, 0);
            assert_eq!(tardy_queue_free(queue), 0);
        }
    }
}

#[test]
fn a_service_refuses_what_it_cannot_do() {
    let (service, other) = (service(1), service(1));
    let good = tardy_request_at(tardy_now_ns() + HOUR_NS);
    let arm = |request: Request, timer: *mut Timer| {
        // SAFETY: the service is stopped at the end; `never` needs no data.
        unsafe { tardy_service_arm(service, &raw const request, Some(never), null_mut(), timer) }
    };
    let (mut armed, zeros) = (timer(), timer());
    assert_eq!(arm(Request { level: 4, ..good }, null_mut()), ARGUMENT);
    assert_eq!(arm(Request { level: -2, ..good }, null_mut()), ARGUMENT);
    assert_eq!(arm(Request { kind: 2, ..good }, null_mut()), ARGUMENT);
    assert_eq!(arm(Request { level: 2, kind: TIMER_COARSE, ..good }, &raw mut armed), 0);
    assert_eq!(arm(Request { level: 2, ..good }, null_mut()), Error::Full as i32);
    let mut report = Report::default();
    // SAFETY: the services are stopped last, and all else is there.
    unsafe {
        let none = tardy_service_arm(service, &raw const good, None, null_mut(), null_mut());
        assert_eq!(none, NULL);
        assert_eq!(tardy_service_cancel(service, &raw const zeros), STALE);
        assert_eq!(tardy_service_cancel(other, &raw const armed), Error::Foreign as i32);
        assert_eq!(tardy_service_rearm(service, &raw const armed, u64::MAX, 0), 0);
        assert_eq!(tardy_service_cancel(service, &raw const armed), 0);
        assert_eq!(tardy_service_cancel(service, &raw const armed), STALE);
        assert_eq!(tardy_service_rearm(service, &raw const armed, 0, 0), STALE);
        assert_eq!(tardy_service_report(service, 4, &raw mut report), ARGUMENT);
        assert_eq!(tardy_service_report(service, 2, &raw mut report), 0);
        assert_eq!((report.fired, report.refused), (0, 1));
        assert_eq!([tardy_service_stop(service), tardy_service_stop(other)], [0, 0]);
    }
}

#[test]
fn stopping_disarms() {
    let service = service(4);
    let request = tardy_request_at(tardy_now_ns() + HOUR_NS);
    // SAFETY: `never` needs no data; the service is used until it is stopped.
    unsafe {
        let arm =
            tardy_service_arm(service, &raw const request, Some(never), null_mut(), null_mut());
        assert_eq!([arm, tardy_service_stop(service)], [0, 0]);
    }
}

#[test]
fn every_number_has_a_text() {
    for code in [i32::MIN, -11, -10, -1, 0, 1, i32::MAX] {
        // SAFETY: it is never NULL and lives as long as the program.
        let text = unsafe { std::ffi::CStr::from_ptr(tardy_error_text(code)) };
        assert!(!text.is_empty(), "{code}");
    }
}
