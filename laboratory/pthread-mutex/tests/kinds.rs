//! Does each kind of mutex do what its protocol says, on this C library and kernel?

use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use tardy_pthread_mutex::{Kind, Mutex, MutexError, Protocol};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

const CEILING: u8 = 20;

fn kinds() -> impl Iterator<Item = Kind> {
    let protocols = [Protocol::None, Protocol::Inherit, Protocol::Protect { ceiling: CEILING }];
    protocols.into_iter().flat_map(|protocol| [false, true].map(|robust| Kind { protocol, robust }))
}

/// A mutex of that kind, or why not.
fn made(kind: Kind) -> Option<Mutex> {
    match Mutex::new(kind) {
        Ok(mutex) => Some(mutex),
        Err(MutexError::Unsupported { what, source }) => {
            println!("skipped: {what}: {source}");
            None
        }
        Err(error) => panic!("{kind:?}: {error}"),
    }
}

/// Makes the calling thread a real-time one, where that is allowed.
fn take_fifo(prio: u8) -> bool {
    let value = ThreadPriorityValue::try_from(prio).expect("1–99");
    let fifo = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let prio = ThreadPriority::Crossplatform(value);
    let taken = set_thread_priority_and_policy(thread_native_id(), prio, fifo).is_ok();
    if !taken {
        println!("skipped: SCHED_FIFO is not permitted here");
    }
    taken
}

/// The priority that the kernel gives a thread of this process now: −1 minus the real-time priority
/// (`proc_pid_stat(5)`, field 18), with what was lent to it.
fn kernel_prio(tid: i32) -> i64 {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).expect("a thread");
    let after = stat.rsplit(')').next().expect("fields");
    after.split_whitespace().nth(18 - 3).expect("a priority").parse().expect("a number")
}

/// In a thread of its own, which may change its priority without changing the test's.
fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().expect("it does not panic"))
}

#[test]
fn only_one_thread_at_a_time_holds_it() {
    const ROUNDS: u64 = 20_000;
    for kind in kinds() {
        let Some(mutex) = made(kind) else { continue };
        let (count, inside) = (AtomicU64::new(0), AtomicBool::new(false));
        let work = || {
            if matches!(kind.protocol, Protocol::Protect { .. }) && !take_fifo(1) {
                return;
            }
            for _ in 0..ROUNDS {
                let guard = mutex.lock().expect("it can be locked");
                assert!(!inside.swap(true, SeqCst), "{kind:?}: two are inside");
                count.store(count.load(SeqCst) + 1, SeqCst);
                inside.store(false, SeqCst);
                drop(guard);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
        let counted = count.load(SeqCst);
        assert!(counted == 2 * ROUNDS || (counted == 0 && kind.protocol != Protocol::None));
    }
}

#[test]
fn one_that_is_held_is_not_had_by_trying() {
    for kind in kinds() {
        let Some(mutex) = made(kind) else { continue };
        aside(|| {
            if matches!(kind.protocol, Protocol::Protect { .. }) && !take_fifo(1) {
                return;
            }
            let guard = mutex.lock().expect("it can be locked");
            assert!(mutex.try_lock().expect("it can be tried").is_none(), "{kind:?}");
            drop(guard);
            assert!(mutex.try_lock().expect("it can be tried").is_some(), "{kind:?}");
        });
    }
}

#[test]
fn a_robust_one_tells_that_its_owner_died_and_goes_on() {
    for kind in kinds().filter(|kind| kind.robust) {
        let Some(mutex) = made(kind) else { continue };
        let is_protect = matches!(kind.protocol, Protocol::Protect { .. });
        let ended = aside(|| {
            if is_protect && !take_fifo(1) {
                return false;
            }
            std::mem::forget(mutex.lock().expect("it can be locked"));
            true
        });
        if !ended {
            continue;
        }
        aside(|| {
            if is_protect && !take_fifo(1) {
                return;
            }
            let guard = mutex.lock().expect("it can be locked");
            assert!(guard.previous_owner_died(), "{kind:?}");
            drop(guard);
            let guard = mutex.lock().expect("it is usable again");
            assert!(!guard.previous_owner_died(), "{kind:?}");
        });
    }
}

/// What is left behind must be memory that nobody else gets: this thread's list of robust mutexes still
/// holds it, and is walked when it ends.
#[test]
fn one_that_is_held_for_ever_may_be_dropped() {
    for kind in kinds() {
        let Some(mutex) = made(kind) else { continue };
        aside(|| {
            if matches!(kind.protocol, Protocol::Protect { .. }) && !take_fifo(1) {
                return;
            }
            std::mem::forget(mutex.lock().expect("it can be locked"));
            drop(mutex);
        });
    }
}

#[test]
fn the_holder_has_the_priority_that_the_protocol_says() {
    // Alone, and while a thread of SCHED_FIFO 10 waits.
    for (protocol, alone, waited_for) in [
        (Protocol::None, 20, 20),
        (Protocol::Inherit, 20, -1 - 10),
        (Protocol::Protect { ceiling: CEILING }, -1 - i64::from(CEILING), -1 - i64::from(CEILING)),
    ] {
        let Some(mutex) = made(Kind { protocol, robust: false }) else { continue };
        let told = aside(|| {
            let (waits, waiting) = channel();
            let of_holder = gettid().as_raw_nonzero().get();
            if matches!(protocol, Protocol::Protect { .. }) && !take_fifo(1) {
                return None;
            }
            let guard = mutex.lock().expect("it can be locked");
            let told_alone = kernel_prio(of_holder);
            std::thread::scope(|scope| {
                let mutex = &mutex;
                scope.spawn(move || {
                    let can = take_fifo(10);
                    waits.send(can.then(gettid)).expect("the holder listens");
                    if can {
                        drop(mutex.lock().expect("it can be locked"));
                    }
                });
                let waiter = waiting.recv().expect("the waiter tells")?;
                let mut told = None;
                // Until it sleeps in its call: asleep before it, it is not, as it only takes the lock.
                while told.is_none() {
                    let path = format!("/proc/self/task/{}/stat", waiter.as_raw_nonzero());
                    let stat = std::fs::read_to_string(path).expect("a thread");
                    if stat.rsplit(')').next().expect("fields").starts_with(" S") {
                        told = Some((told_alone, kernel_prio(of_holder)));
                    }
                    std::thread::yield_now();
                }
                drop(guard);
                told
            })
        });
        if let Some(told) = told {
            let other = |prio: i64| if prio >= 0 { 20 } else { prio };
            assert_eq!((other(told.0), other(told.1)), (alone, waited_for), "{protocol:?}");
        }
    }
}

#[test]
fn a_ceiling_that_is_no_priority_is_refused() {
    let kind = Kind { protocol: Protocol::Protect { ceiling: 200 }, robust: false };
    let error = Mutex::new(kind).expect_err("there is no priority 200").to_string();
    assert!(error.contains("does not offer") && error.contains("ceiling"), "{error}");
}
