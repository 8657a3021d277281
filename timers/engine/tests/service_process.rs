//! The timer service and its process: threads, forks. One test at a time, as it counts threads.
//!
//! `fork` is `unsafe`, because little may be done in the child of a process that has threads. What the
//! child does here is what the test is about: it calls the service, which must not wait for threads
//! that are not there.

use std::fs;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use tardy_timers::service::{ArmError, ChangeError, Note, Request, Service, SleepError};
use tardy_timers::{Expiry, Level};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Names and `/proc/PID/stat` lines of the services' threads.
fn threads() -> Vec<(String, String)> {
    let mut threads: Vec<_> = fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| {
            let task = task.unwrap().path();
            let name = fs::read_to_string(task.join("comm")).ok()?;
            let stat = fs::read_to_string(task.join("stat")).ok()?;
            Some((name.trim().to_owned(), stat))
        })
        .filter(|(name, _)| name.starts_with("tardy-timers/"))
        .collect();
    threads.sort();
    threads
}

/// Returns when the services' threads are gone. A thread that was joined may be listed for a moment
/// longer: the kernel says that it has ended before it strikes it off.
fn wait_for_their_end() {
    for _ in 0..10_000 {
        if threads().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("left behind: {:?}", threads());
}

#[test]
fn four_threads_run_as_noted_and_none_is_left() {
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    wait_for_their_end();
    let service = Service::builder().priorities([0, 11, 12, 13]).start().unwrap();
    let threads_now = threads();
    let names: Vec<_> = threads_now.iter().map(|thread| thread.0.as_str()).collect();
    assert_eq!(names, ["tardy-timers/0", "tardy-timers/1", "tardy-timers/2", "tardy-timers/3"]);
    for note in service.notes() {
        println!("{note}");
        match note {
            Note::Fifo { level, priority } => {
                let stat = &threads_now[level.number() as usize].1;
                // Fields 40 and 41 of proc_pid_stat(5): the priority, and 1 for SCHED_FIFO.
                let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
                assert_eq!((fields[37], fields[38]), (priority.to_string().as_str(), "1"));
                assert_eq!(*priority, 10 + level.number());
            }
            Note::AsStarter { level } => assert_eq!(*level, Level::LOWEST),
            Note::NotFifo { level, .. } => assert_ne!(*level, Level::LOWEST),
            Note::Slack { reason, .. } => println!("skipped: {reason}"),
        }
    }
    assert!(service.notes().len() >= Level::COUNT);
    service.call(Request::at(u64::MAX), |_| {}).unwrap();
    drop(service);
    wait_for_their_end();
}

#[test]
fn a_child_process_is_told_that_it_has_no_service() {
    let _guard = ONE_AT_A_TIME.lock().unwrap();
    let service = Service::start().unwrap();
    let (tell, told) = channel();
    let timer = service.call(Request::at(u64::MAX), move |_| tell.send(()).unwrap()).unwrap();
    let mut sleep = service.sleep_until(u64::MAX);
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(std::pin::Pin::new(&mut sleep).poll(&mut context), Poll::Pending);

    // SAFETY: the child uses no lock that another thread may have held, except the allocator's, which
    // the C library puts in order, and ends without running destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no handler is set; a child that waits for ever is killed.
        unsafe { libc::alarm(60) };
        let polled = std::pin::Pin::new(&mut sleep).poll(&mut context);
        let told = [
            matches!(service.call(Request::at(0), |_| {}), Err(ArmError::Forked(_))),
            service.cancel(timer) == Err(ChangeError::Forked),
            service.rearm(timer, Expiry::at(0)) == Err(ChangeError::Forked),
            polled == Poll::Ready(Err(SleepError::Forked)),
        ];
        drop(sleep);
        drop(service);
        let (tell, fired) = channel();
        let own = Service::start().unwrap();
        own.call(Request::at(0), move |_| tell.send(()).unwrap()).unwrap();
        let fired = fired.recv().is_ok();
        drop(own);
        let wrong = told.iter().filter(|told| !**told).count() + usize::from(!fired);
        // SAFETY: it does not return.
        unsafe { libc::_exit(wrong as i32) }
    }
    assert!(child > 0, "{}", std::io::Error::last_os_error());
    let child = rustix::process::Pid::from_raw(child).unwrap();
    let options = rustix::process::WaitOptions::empty();
    let (_, status) = rustix::process::waitpid(Some(child), options).unwrap().unwrap();
    assert_eq!(status.exit_status(), Some(0), "how many answers were wrong: {status:?}");

    service.rearm(timer, Expiry::at(0)).unwrap();
    told.recv().expect("the parent's timers are as they were");
}
