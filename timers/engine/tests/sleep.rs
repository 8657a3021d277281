//! Sleeps on the running kernel: never early, whatever they learnt; the thread left as it was.
#![cfg(feature = "live")]

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::thread::{current_timer_slack, set_current_timer_slack};
use tardy_timers::clock::now_ns;
use tardy_timers::sleep::{Interval, Overrun, Precision, Sleeper, sleep_for, sleep_until};

const PRECISIONS: [Precision; 3] = [Precision::Cpu, Precision::Balanced, Precision::Exact];

#[test]
fn never_early() {
    for precision in PRECISIONS {
        let mut sleeper = Sleeper::new(precision);
        for sleep_ns in [1, 500, 1_500, 26_000, 50_000, 300_000, 2_000_000].repeat(20) {
            let deadline_ns = now_ns() + sleep_ns;
            let slept = sleeper.sleep_until(deadline_ns);
            assert!(now_ns() >= deadline_ns + slept.lateness_ns, "{precision:?} {sleep_ns}");
            assert!(precision != Precision::Cpu || slept.spun_ns == 0);
        }
        let start = Instant::now();
        sleeper.sleep_for(Duration::from_micros(300));
        sleep_for(Duration::from_micros(300));
        assert!(start.elapsed() >= Duration::from_micros(600));
    }
}

#[test]
fn a_deadline_in_the_past_returns_at_once() {
    for precision in PRECISIONS {
        let slept = Sleeper::new(precision).sleep_until(now_ns() - 1_000_000);
        assert!(slept.lateness_ns >= 1_000_000);
        assert_eq!((slept.spun_ns, slept.native_ns), (0, 0));
    }
}

#[test]
fn the_threads_slack_is_its_own_again() {
    std::thread::spawn(|| {
        set_current_timer_slack(NonZeroU64::new(61_000)).expect("a slack can be set");
        if current_timer_slack() != Ok(61_000) {
            println!("skipped: this thread cannot have a timer slack");
            return;
        }
        sleep_until(now_ns() + 1_000);
        assert_eq!(current_timer_slack(), Ok(61_000));
        {
            let first = Sleeper::new(Precision::Exact);
            let _interval = Interval::new(Duration::from_millis(1), Precision::Cpu);
            drop(first);
            sleep_until(now_ns() + 1_000);
            assert_eq!(current_timer_slack(), Ok(1));
        }
        assert_eq!(current_timer_slack(), Ok(61_000));
    })
    .join()
    .expect("the slack is restored");
}

#[test]
fn an_interval_keeps_its_grid_and_counts_what_it_misses() {
    let period = Duration::from_millis(1);
    let start_ns = now_ns();
    let mut interval = Interval::starting_at(start_ns, period, Precision::Balanced).unwrap();
    let mut delivered = 0;
    for round in 0..20 {
        let tick = interval.tick();
        delivered += 1;
        assert!(now_ns() >= tick.scheduled_ns + tick.lateness_ns);
        assert_eq!((tick.scheduled_ns - start_ns) % 1_000_000, 0);
        let points = (tick.scheduled_ns - start_ns) / 1_000_000;
        assert_eq!(points, delivered + interval.missed_total() - tick.missed);
        if round == 10 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert!(interval.missed_total() >= 3);
}

#[test]
fn an_interval_that_catches_up_delivers_every_tick() {
    let overrun = Overrun::CatchUp { behind_max: u32::MAX };
    let mut interval =
        Interval::new(Duration::from_millis(1), Precision::Cpu).unwrap().with_overrun(overrun);
    let first_ns = interval.tick().scheduled_ns;
    std::thread::sleep(Duration::from_millis(5));
    for k in 1..=10 {
        assert_eq!(interval.tick().scheduled_ns, first_ns + k * 1_000_000);
    }
    assert_eq!(interval.missed_total(), 0);
    interval.reset();
    assert!(interval.tick().scheduled_ns > first_ns);
}
