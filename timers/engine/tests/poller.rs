//! A poller on the running kernel: it loses nothing, counts what it does and does sleep.
#![cfg(feature = "live")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use tardy_timers::clock::now_ns;
use tardy_timers::poller::{Poller, Target};
use tardy_timers::sleep::Precision;

/// Lets the sender end where this test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn every_item_is_drained_and_counted() {
    let ring = ArrayQueue::new(64);
    let (done, gone) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for item in 0..5_000_u64 {
                while ring.push(item).is_err() {
                    if gone.load(Ordering::Acquire) {
                        return;
                    }
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Release);
        });
        let _watching = SetOnDrop(&gone);
        let mut next = 0;
        let mut poller = Poller::new(Target::Mean(Duration::from_micros(20)), Precision::Balanced);
        poller.run(|| {
            let finished = done.load(Ordering::Acquire);
            match ring.pop() {
                Some(item) => {
                    assert_eq!(item, next);
                    next += 1;
                    Some(1)
                }
                None if finished => None,
                None => Some(0),
            }
        });
        assert_eq!(next, 5_000);
        let statistics = poller.statistics();
        assert!(statistics.items <= 5_000);
        assert!(statistics.empty_polls <= statistics.polls);
    });
}

#[test]
fn a_vacation_is_within_its_bounds_and_never_cut_short() {
    let (min, max) = (Duration::from_micros(30), Duration::from_micros(200));
    let target = Target::Longest(Duration::from_secs(10));
    let mut poller = Poller::new(target, Precision::Cpu).bounded(min, max).unwrap();
    for _ in 0..20 {
        let begin_ns = now_ns();
        let vacation = poller.vacation(3);
        assert_eq!(vacation.planned_ns, 200_000);
        assert!(now_ns() - begin_ns >= vacation.planned_ns + vacation.lateness_ns);
    }
    let statistics = poller.statistics();
    assert_eq!((statistics.polls, statistics.items, statistics.backlog_max), (20, 60, 3));
    assert!(statistics.vacation_mean_ns() >= 200_000);
    assert!(Poller::new(target, Precision::Cpu).bounded(max, min).is_err());
}
