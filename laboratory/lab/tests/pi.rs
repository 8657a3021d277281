//! Does a measurement of a lock do what its plan says, and end whatever happens to its threads?

use rustix::thread::sched_getaffinity;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tardy_lab::pi::{Ended, LockProtocol, PiError, PiMeasurement, Plan, Running, start};
use tardy_pthread_mutex::MutexError;

/// One measurement at a time: two would take two CPUs from everybody else.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Few rounds, and an end if they cannot be had. A hypervisor may stop a CPU for seconds.
fn short() -> Plan {
    Plan { rounds: Some(20_000), stall_max: Duration::from_secs(30), ..Plan::default() }
}

/// A measurement that runs, or why this system does not allow it.
fn started(plan: &Plan, asked: impl Fn() -> bool + Send + 'static) -> Option<Running> {
    match start(plan, asked) {
        Ok(running) => Some(running),
        Err(
            error @ (PiError::Priority { .. } | PiError::Mutex(MutexError::Unsupported { .. })),
        ) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn measured(plan: &Plan) -> Option<PiMeasurement> {
    Some(started(plan, || false)?.finish().expect("it can be measured"))
}

const OURS: [&str; 4] = ["pi-high", "pi-busy", "pi-low", "pi-watchdog"];

fn threads() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let name = |path: std::path::PathBuf| std::fs::read_to_string(path.join("comm")).ok();
    let mut names: Vec<_> = threads.filter_map(|entry| name(entry.path())).collect();
    names.retain(|name| OURS.contains(&name.trim()));
    names
}

/// The kernel still lists a thread for a moment after it could be joined.
#[track_caller]
fn assert_no_thread_stays() {
    let until = Instant::now() + Duration::from_secs(10);
    while !threads().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(threads(), Vec::<String>::new());
}

#[test]
fn each_protocol_runs_all_its_rounds_and_nothing_stays() {
    let _alone = alone();
    let before = sched_getaffinity(None).unwrap();
    for protocol in [LockProtocol::None, LockProtocol::Inherit, LockProtocol::Protect] {
        for robust in [false, true] {
            let plan = Plan { protocol, robust, histogram_us: Some(50), ..short() };
            let Some(m) = measured(&plan) else { continue };
            assert_eq!(m.ended, Ended::Rounds, "{protocol:?}: {:?}", m.notes);
            assert_eq!((m.to_lock.count(), m.jitter.count()), (20_000, 20_000));
            assert!(m.slow_calls <= 20_000 && m.owners_died == 0);
            let worst = m.worst.unwrap();
            assert_eq!(worst.jitter_ns, m.jitter.max_ns());
            assert!(worst.to_lock_ns <= m.to_lock.max_ns());
            assert!((m.began_ns..m.ended_ns).contains(&worst.start_ns));
            for histogram in m.histograms.as_ref().unwrap() {
                assert_eq!(histogram.count(), 20_000);
            }
            // A round holds both loads, and a load waits by its own clock.
            let rounds_ns = u128::from(m.ended_ns - m.began_ns);
            let waits_ns = u128::from(m.locked.wait_ns + m.free.wait_ns);
            assert!(rounds_ns >= 20_000 * waits_ns);
        }
    }
    assert_no_thread_stays();
    let after = sched_getaffinity(None).unwrap();
    assert!(before == after, "the affinity of the process changed");
}

#[test]
fn a_duration_ends_it_and_a_user_may_sooner() {
    let _alone = alone();
    let plan = Plan { rounds: None, duration: Some(Duration::from_millis(300)), ..short() };
    let Some(m) = measured(&plan) else { return };
    assert_eq!(m.ended, Ended::Duration, "{:?}", m.notes);
    assert!(m.jitter.count() > 0 && m.ended_ns - m.began_ns >= 300_000_000);
    let plan = Plan { duration: Some(Duration::from_secs(600)), ..plan };
    let Some(running) = started(&plan, || false) else { return };
    assert!(!running.wait(Duration::from_millis(200)));
    running.stop();
    let m = running.finish().unwrap();
    assert_eq!(m.ended, Ended::Stopped);
    assert!(m.jitter.count() > 0, "what was measured is kept");
    let begun = Instant::now();
    let asked = move || begun.elapsed() > Duration::from_millis(200);
    let Some(running) = started(&plan, asked) else { return };
    assert_eq!(running.finish().unwrap().ended, Ended::Stopped);
}

#[test]
fn the_watchdog_ends_one_whose_high_never_gets_the_lock() {
    let _alone = alone();
    for protocol in [LockProtocol::None, LockProtocol::Inherit, LockProtocol::Protect] {
        let plan = Plan {
            protocol,
            rounds: None,
            stall_max: Duration::from_millis(500),
            low_keeps_the_lock_after: Some(0),
            ..Plan::default()
        };
        let Some(m) = measured(&plan) else { continue };
        assert_eq!(m.ended, Ended::Stalled, "{:?}", m.notes);
        assert!(m.notes.iter().any(|note| note.starts_with("The watchdog ended the measurement")));
    }
    assert_no_thread_stays();
}

#[test]
fn one_that_is_dropped_ends() {
    let _alone = alone();
    let plan = Plan { rounds: None, ..short() };
    drop(started(&plan, || false));
    assert_no_thread_stays();
}

#[test]
fn a_cpu_that_is_not_there_is_refused_by_name_and_nothing_stays() {
    let _alone = alone();
    let plan = Plan { cpu: Some(1_000), ..short() };
    match start(&plan, || false) {
        Err(error @ PiError::Cpu { .. }) => assert!(error.to_string().contains("CPU 1000")),
        Err(error @ PiError::Priority { .. }) => println!("skipped: {error}"),
        other => panic!("{:?}", other.map(|_| "it runs").err()),
    }
    assert_no_thread_stays();
}

/// All on one CPU: High would never wait, and Low never run, if nothing but priorities counted.
#[test]
fn one_cpu_for_all_ends_and_says_what_that_means() {
    let _alone = alone();
    let before = sched_getaffinity(None).unwrap();
    let mut one = rustix::thread::CpuSet::new();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| before.is_set(cpu)).unwrap();
    one.set(cpu);
    // Of this thread alone; the threads of the measurement inherit it.
    rustix::thread::sched_setaffinity(None, &one).unwrap();
    let stall_max = Duration::from_secs(3);
    for protocol in [LockProtocol::Inherit, LockProtocol::None] {
        let Some(m) = measured(&Plan { protocol, stall_max, ..short() }) else { continue };
        assert!(matches!(m.ended, Ended::Rounds | Ended::Stalled), "{:?}", m.ended);
        assert!(m.notes.iter().any(|note| note.starts_with("All threads share one CPU")));
    }
    rustix::thread::sched_setaffinity(None, &before).unwrap();
}
