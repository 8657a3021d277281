//! The timer service in this process: what it promises to those who arm timers.

use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashSet;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tardy_timers::service::{
    ArmError, ChangeError, Client, Clock, EventFd, Firing, Request, Service, Sleep, SleepError,
    Slow, Target, Timer,
};
use tardy_timers::{Expiry, Kind, Level, Priority};

const MS: u64 = 1_000_000;
/// So far away that no test sees it.
const FAR_NS: u64 = u64::MAX / 4;

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

/// A timer of `level` that runs until it is told to end: what is armed meanwhile is due together.
fn gate(service: &Service, level: Level) -> Sender<()> {
    let (open, opened) = channel();
    let (tell, entered) = channel();
    let gate = move |_: &Firing| {
        tell.send(()).unwrap();
        opened.recv().unwrap();
    };
    service.call(Request::at(0).level(level).tag(99), gate).unwrap();
    entered.recv().unwrap();
    open
}

/// Fires into a channel.
struct Mailbox(Mutex<Sender<Firing>>);

impl Target for Mailbox {
    fn fire(&self, firing: &Firing) {
        self.0.lock().unwrap().send(*firing).unwrap();
    }
}

fn mailbox() -> (Arc<Mailbox>, Receiver<Firing>) {
    let (send, receive) = channel();
    (Arc::new(Mailbox(Mutex::new(send))), receive)
}

#[test]
fn each_fires_once_and_never_early() {
    let service = Service::builder().timers(1000).start().unwrap();
    let (mailbox, fired) = mailbox();
    let mut random = fastrand::Rng::with_seed(7);
    let now_ns = service.now_ns();
    for tag in 0..1000 {
        let soft_ns = now_ns + random.u64(0..20 * MS);
        let expiry = Expiry::with_slack(soft_ns, random.u64(0..MS));
        let kind = if random.bool() { Kind::Precise } else { Kind::Coarse };
        let request = Request::new(expiry).kind(kind).level(level(random.u8(0..4))).tag(tag);
        service.arm(request, Arc::clone(&mailbox)).unwrap();
    }
    let firings: Vec<Firing> = fired.iter().take(1000).collect();
    assert_eq!(firings.iter().map(|firing| firing.tag).collect::<HashSet<_>>().len(), 1000);
    for firing in firings {
        assert!(firing.now_ns >= firing.expiry.soft_ns(), "{firing:?} is early");
        assert_eq!(service.cancel(firing.timer), Err(ChangeError::TooLate));
    }
    let total: u64 = Level::all().map(|level| service.report(level).fired).sum();
    drop(service);
    assert_eq!(total, 1000, "what is seen is counted");
    assert_eq!(fired.try_iter().count(), 0, "one fired twice");
}

#[test]
fn a_level_fires_in_the_order_of_time() {
    let service = Service::start().unwrap();
    let (mailbox, fired) = mailbox();
    let open = gate(&service, level(1));
    for tag in [5_u64, 3, 9, 1, 7, 3] {
        let request = Request::at(tag).level(level(1)).tag(tag);
        service.arm(request, Arc::clone(&mailbox)).unwrap();
    }
    let moved = Request::at(4).level(level(1)).tag(4);
    let moved = service.arm(moved, Arc::clone(&mailbox)).unwrap();
    service.rearm(moved, Expiry::at(8)).unwrap();
    open.send(()).unwrap();
    let tags: Vec<u64> = fired.iter().take(7).map(|firing| firing.tag).collect();
    assert_eq!(tags, [1, 3, 3, 5, 7, 4, 9]);
}

#[test]
fn cancelled_never_fires_and_moved_fires_once() {
    let service = Service::start().unwrap();
    let (mailbox, fired) = mailbox();
    let now_ns = service.now_ns();
    let at = |time_ns| service.arm(Request::at(time_ns), Arc::clone(&mailbox)).unwrap();
    let [cancelled, earlier, later] = [now_ns + 2 * MS, FAR_NS, FAR_NS].map(at);
    // Where this was too slow, it has fired, and says so.
    let surely_not = service.cancel(cancelled).is_ok();
    assert_eq!(service.cancel(cancelled), Err(ChangeError::TooLate));
    assert_eq!(service.rearm(cancelled, Expiry::at(0)), Err(ChangeError::TooLate));
    service.rearm(earlier, Expiry::at(now_ns + 4 * MS)).unwrap();
    service.rearm(later, Expiry::at(now_ns + 5 * MS)).unwrap();
    let expected = if surely_not { vec![earlier, later] } else { vec![cancelled, earlier, later] };
    let timers: Vec<Timer> = fired.iter().take(expected.len()).map(|firing| firing.timer).collect();
    assert_eq!(timers, expected);
    let other = Service::start().unwrap();
    assert_eq!(other.cancel(later), Err(ChangeError::Foreign));
}

#[test]
fn threads_that_arm_move_and_cancel_get_what_they_are_told() {
    let service = Service::builder().timers(64).start().unwrap();
    let fired = Arc::new(AtomicU64::new(0));
    let expected: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|seed| {
                let (service, fired) = (&service, &fired);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut expected = 0;
                    for _ in 0..5000 {
                        let count = Arc::clone(fired);
                        let time_ns = service.now_ns() + random.u64(0..MS / 10);
                        let request = Request::at(time_ns).level(level(random.u8(0..2)));
                        let count = move |_: &Firing| {
                            count.fetch_add(1, Ordering::Relaxed);
                        };
                        let Ok(timer) = service.call(request, count) else { continue };
                        expected += 1;
                        if random.bool() {
                            let _ = service.rearm(timer, Expiry::at(time_ns + MS / 10));
                        }
                        if random.bool() && service.cancel(timer).is_ok() {
                            expected -= 1;
                        }
                    }
                    expected
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    while fired.load(Ordering::Relaxed) < expected {
        thread::yield_now();
    }
    drop(service);
    assert_eq!(fired.load(Ordering::Relaxed), expected);
}

#[test]
fn too_many_come_back() {
    let service = Service::builder().timers(2).start().unwrap();
    let (mailbox, fired) = mailbox();
    let first = service.arm(Request::at(FAR_NS), Arc::clone(&mailbox)).unwrap();
    service.arm(Request::at(FAR_NS), Arc::clone(&mailbox)).unwrap();
    let refused = service.arm(Request::at(0).tag(3), Arc::clone(&mailbox)).unwrap_err();
    assert!(matches!(refused, ArmError::Full(_)));
    assert_eq!(service.report(Level::LOWEST).refused, 1);
    service.arm(Request::at(0).level(level(1)), Arc::clone(&mailbox)).expect("another's is free");
    service.cancel(first).unwrap();
    service.arm(Request::at(0).tag(3), refused.into_delivery()).unwrap();
    let mut tags: Vec<u64> = fired.iter().take(2).map(|firing| firing.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 3]);
    assert!(Service::builder().timers(0).start().is_err());
}

#[test]
fn a_slow_callback_is_named_and_holds_up_its_own_level_alone() {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let hook = move |slow: &Slow| {
        tell.lock().unwrap().send(*slow).unwrap();
        panic!("this is on purpose: a hook that panics");
    };
    let service = Service::builder().slow_after(0).on_slow(hook).start().unwrap();
    let open = gate(&service, Level::HIGHEST);
    let running = service.report(Level::HIGHEST).running.unwrap();
    assert_eq!(running.1, 99);
    let (mailbox, fired) = mailbox();
    service.arm(Request::at(0).level(Level::HIGHEST).tag(1), Arc::clone(&mailbox)).unwrap();
    service.arm(Request::at(0).level(level(1)).tag(2), Arc::clone(&mailbox)).unwrap();
    assert_eq!(fired.recv().unwrap().tag, 2, "the other level goes on");
    open.send(()).unwrap();
    assert_eq!(fired.recv().unwrap().tag, 1);
    let slow = told.iter().find(|slow| slow.tag == 99).unwrap();
    assert_eq!(slow.level, Level::HIGHEST);
    let report = service.report(Level::HIGHEST);
    assert!(report.slow >= 1);
    assert!(report.longest.is_some_and(|(ns, _)| ns >= slow.ns));
    assert!(report.panicked >= 1);
}

#[test]
fn a_panic_ends_nothing() {
    let service = Service::start().unwrap();
    service.call(Request::at(0), |_| panic!("this is on purpose: a callback that panics")).unwrap();
    let (mailbox, fired) = mailbox();
    service.arm(Request::at(1).tag(5), mailbox).unwrap();
    assert_eq!(fired.recv().unwrap().tag, 5);
    let report = service.report(Level::LOWEST);
    assert_eq!((report.panicked, report.undelivered), (1, 0));
}

#[test]
fn a_callback_can_arm_the_next() {
    fn next(client: &Client, left: u64, done: Sender<u64>) {
        let again = client.clone();
        let soon = Request::at(client.now_ns() + MS / 20).level(level(2));
        let armed = client.call(soon, move |_| match left {
            0 => done.send(left).unwrap(),
            left => next(&again, left - 1, done),
        });
        armed.unwrap();
    }
    let service = Service::builder().timers(1).start().unwrap();
    let (done, told) = channel();
    next(&service, 20, done);
    assert_eq!(told.recv(), Ok(0), "its own slot is free when it runs");
}

#[test]
fn an_eventfd_counts() {
    let service = Service::start().unwrap();
    let event = EventFd::new().unwrap();
    assert_eq!(event.take().unwrap(), 0);
    for number in 0..3 {
        let request = Request::at(service.now_ns() + number * MS).level(level(number as u8));
        service.arm(request, event.clone()).unwrap();
    }
    let mut count = 0;
    while count < 3 {
        poll(&mut [PollFd::new(&event, PollFlags::IN)], None).unwrap();
        count += event.take().unwrap();
    }
    assert_eq!(count, 3);
}

#[test]
fn boot_time_is_another_clock() {
    let service = Service::builder().clock(Clock::Boottime).start().unwrap();
    let (mailbox, fired) = mailbox();
    service.arm(Request::at(FAR_NS), Arc::clone(&mailbox)).unwrap();
    let before_ns = Clock::Boottime.now_ns();
    for tag in 0..5 {
        let soon = Request::at(service.now_ns() + MS / 10).tag(tag);
        service.arm(soon, Arc::clone(&mailbox)).unwrap();
        let firing = fired.recv().unwrap();
        assert_eq!(firing.tag, tag);
        assert!(firing.now_ns > before_ns && firing.now_ns <= Clock::Boottime.now_ns());
    }
}

/// Wakes the thread that blocks.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll_once(sleep: &mut Sleep) -> Poll<Result<(), SleepError>> {
    Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_future_needs_no_runtime() {
    let service = Service::start().unwrap();
    let until_ns = service.now_ns() + MS;
    let mut sleep = service.sleep_until(until_ns);
    assert_eq!(block_on(&mut sleep), Ok(()));
    assert!(service.now_ns() >= until_ns);
    assert_eq!(poll_once(&mut sleep), Poll::Ready(Ok(())));
    sleep.reset(Expiry::at(FAR_NS));
    assert_eq!(poll_once(&mut sleep), Poll::Pending);
    sleep.reset(Expiry::at(until_ns));
    assert_eq!(block_on(sleep), Ok(()));
}

#[test]
fn a_future_cancels_when_it_is_dropped() {
    let service = Service::builder().timers(1).start().unwrap();
    let request = Request::at(FAR_NS);
    let mut first = service.sleep(request);
    assert_eq!(poll_once(&mut first), Poll::Pending);
    assert_eq!(poll_once(&mut service.sleep(request)), Poll::Ready(Err(SleepError::Full)));
    drop(first);
    assert_eq!(poll_once(&mut service.sleep(request)), Poll::Pending);
}

#[test]
fn futures_run_in_tokio_without_its_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let service = Service::start().unwrap();
    let now_ns = service.now_ns();
    let order = runtime.block_on(async {
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = [3, 1, 2]
            .into_iter()
            .map(|ms| {
                let (sleep, order) = (service.sleep_until(now_ns + ms * MS), Arc::clone(&order));
                tokio::spawn(async move {
                    sleep.await.unwrap();
                    order.lock().unwrap().push(ms);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    });
    assert_eq!(order.iter().sum::<u64>(), 6, "all of them are back: {order:?}");
    let lost = tokio_select_loses(&runtime, &service);
    assert_eq!(lost, "timeout");
}

fn tokio_select_loses(runtime: &tokio::runtime::Runtime, service: &Service) -> &'static str {
    runtime.block_on(async {
        tokio::select! {
            _ = service.sleep_until(FAR_NS) => "work",
            done = service.sleep(Request::at(service.now_ns() + MS).kind(Kind::Coarse)) => {
                done.unwrap();
                "timeout"
            }
        }
    })
}

#[test]
fn a_priority_is_inherited() {
    use thread_priority::unix::{
        RealtimeThreadSchedulePolicy::Fifo, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    use thread_priority::{ThreadPriority, ThreadPriorityValue};

    let service = Service::start().unwrap();
    let client = service.client();
    let fired_at = move |priority: u8| {
        thread::spawn(move || {
            let value = ThreadPriorityValue::try_from(priority).unwrap();
            let fifo = ThreadSchedulePolicy::Realtime(Fifo);
            let priority = ThreadPriority::Crossplatform(value);
            set_thread_priority_and_policy(thread_native_id(), priority, fifo).ok()?;
            let (mailbox, fired) = mailbox();
            client.arm(Request::at(0).priority(Priority::Inherit), mailbox).unwrap();
            fired.recv().ok().map(|firing| firing.level.number())
        })
        .join()
        .unwrap()
    };
    assert_eq!(service.level(Priority::Inherit), Level::LOWEST);
    match fired_at.clone()(40) {
        Some(level) => assert_eq!((level, fired_at(80)), (2, Some(3))),
        None => println!("skipped: SCHED_FIFO is not permitted here"),
    }
}

#[test]
fn what_a_thread_armed_outlives_it() {
    let service = Service::start().unwrap();
    let (mailbox, fired) = mailbox();
    let client = service.client();
    let (open, opened) = channel::<()>();
    let armer = thread::spawn(move || {
        let kept = client.arm(Request::at(FAR_NS).tag(1), Arc::clone(&mailbox)).unwrap();
        drop(opened);
        (kept, client.arm(Request::at(client.now_ns() + MS).tag(2), mailbox).unwrap())
    });
    let (kept, _) = armer.join().unwrap();
    assert!(open.send(()).is_err(), "it is gone");
    assert_eq!(fired.recv().unwrap().tag, 2);
    service.rearm(kept, Expiry::at(0)).unwrap();
    assert_eq!(fired.recv().unwrap().tag, 1);
}

/// Counts how it ends.
#[derive(Default)]
struct Ends {
    fired: AtomicU64,
    abandoned: AtomicU64,
}

impl Target for Ends {
    fn fire(&self, _: &Firing) {
        self.fired.fetch_add(1, Ordering::Relaxed);
    }

    fn abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn dropping_the_service_disarms_all() {
    let service = Service::start().unwrap();
    let ends = Arc::new(Ends::default());
    let held = Arc::new(());
    let mut timers = Vec::new();
    for level in Level::all() {
        timers.push(service.arm(Request::at(FAR_NS).level(level), Arc::clone(&ends)).unwrap());
        let held = Arc::clone(&held);
        service.call(Request::at(FAR_NS).level(level), move |_| drop(held)).unwrap();
    }
    let mut sleep = service.sleep_until(FAR_NS);
    assert_eq!(poll_once(&mut sleep), Poll::Pending);
    let sleeper = thread::spawn(move || block_on(sleep));
    let client = service.client();
    drop(service);
    assert_eq!(sleeper.join().unwrap(), Err(SleepError::Stopped));
    assert_eq!(
        (ends.fired.load(Ordering::Relaxed), ends.abandoned.load(Ordering::Relaxed)),
        (0, 4)
    );
    assert_eq!(Arc::strong_count(&held), 1, "the callbacks are dropped");
    assert_eq!(client.cancel(timers[0]), Err(ChangeError::TooLate));
    assert!(matches!(client.arm(Request::at(0), ends), Err(ArmError::Stopped(_))));
    assert_eq!(block_on(client.sleep_until(0)), Err(SleepError::Stopped));
}

#[test]
fn a_callback_may_drop_the_service() {
    let service = Arc::new(Mutex::new(Some(Service::start().unwrap())));
    let (tell, told) = channel();
    let taken = Arc::clone(&service);
    let end = move |_: &Firing| {
        let service = taken.lock().unwrap().take();
        drop(service);
        tell.send(()).unwrap();
    };
    let client = service.lock().unwrap().as_ref().unwrap().client();
    client.call(Request::at(0), end).unwrap();
    told.recv().unwrap();
    assert!(matches!(client.call(Request::at(0), |_| {}), Err(ArmError::Stopped(_))));
}
