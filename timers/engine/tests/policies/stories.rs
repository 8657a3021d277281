//! Each policy in a story: who is due when, and what the policy does, in words.

use crate::plain::Plain;
use std::fmt::Write;
use std::num::NonZeroU64;
use tardy_timers::policy::{self, Arm, Policy, Settings, Step};
use tardy_timers::{Expiry, Level};

const US: u64 = 1000;

fn settings() -> Settings {
    let jiffy_ns = NonZeroU64::new(1000 * US).unwrap();
    Settings { jiffy_ns, top_half: Some(90), ..Settings::default() }
}

fn build(name: &str, settings: &Settings) -> Box<dyn Policy<&'static str>> {
    policy::build(name, settings, &Plain::new).unwrap()
}

/// Lets the device interrupt at `at_us`, then runs what is runnable, each step taking `cost_us`, and
/// tells it line by line.
fn interrupt(policy: &mut dyn Policy<&'static str>, at_us: u64, cost_us: u64) -> String {
    let mut now_ns = at_us * US;
    let mut told = String::new();
    policy.interrupt(now_ns);
    while let Some(runnable) = policy.runnable().first() {
        let written = policy.programmed();
        let step = policy.step(runnable.context, now_ns);
        let (us, context, priority) = (now_ns / US, runnable.context, runnable.priority);
        match step {
            Some(Step::Fire(fire)) => {
                writeln!(told, "{us} {context:?} {priority} runs {}", fire.payload).unwrap();
            }
            Some(Step::Tick { jiffies: 1 }) => writeln!(told, "{us} {context:?} tick").unwrap(),
            Some(Step::Tick { jiffies }) => {
                writeln!(told, "{us} {context:?} tick, {jiffies} jiffies").unwrap();
            }
            Some(Step::Move { timers }) => {
                writeln!(told, "{us} {context:?} moves {timers}").unwrap();
            }
            Some(Step::Wait { until_ns }) => {
                writeln!(told, "{us} {context:?} waits until {}", until_ns / US).unwrap();
                now_ns = until_ns;
                continue;
            }
            None => {}
        }
        if policy.programmed() > written {
            let device_us = policy.device_ns().unwrap() / US;
            writeln!(told, "{us} device for {device_us}").unwrap();
        }
        if step.is_some() {
            now_ns += cost_us * US;
        }
    }
    told
}

fn check(told: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(told), lines(expected), "\n{told}");
}

/// A storm's thread, a real-time sleeper, and a driver's timer, due within 3 us; the interrupt finds
/// all of them.
fn three(name: &str) -> String {
    let mut policy = build(name, &settings());
    policy.arm(Arm::sleep(Expiry::at(100 * US), 0), "storm").unwrap();
    policy.arm(Arm::sleep(Expiry::at(102 * US), 80), "cyclictest").unwrap();
    let driver = Arm::sleep(Expiry::at(101 * US), 20).at_level(Level::new(1).unwrap());
    policy.arm(driver, "driver").unwrap();
    let mut told = interrupt(&mut *policy, 105, 2);
    if !policy.is_empty() {
        told += &interrupt(&mut *policy, 1000, 2);
    }
    told
}

#[test]
fn three_timers_under_each_policy() {
    for (name, expected) in [
        (
            "ksoftirqd",
            "105 device for 1000
             105 CommonSoftirq 0 runs storm
             107 CommonSoftirq 0 runs driver
             109 CommonSoftirq 0 runs cyclictest",
        ),
        (
            "timer-thread",
            "105 device for 1000
             105 TimerThread(0) 70 runs storm
             107 TimerThread(0) 70 runs driver
             109 TimerThread(0) 70 runs cyclictest",
        ),
        (
            "split",
            "105 device for 1000
             105 TopHalf 90 runs driver
             107 TopHalf 90 runs cyclictest
             1000 HardIrq tick
             1002 device for 2000
             1002 CommonSoftirq 0 runs storm",
        ),
        (
            "levels",
            "105 device for 1000
             105 TimerThread(3) 90 runs cyclictest
             107 TimerThread(1) 50 runs driver
             109 CommonSoftirq 0 runs storm",
        ),
        (
            "inherit",
            "105 device for 1000
             105 TimerThread(0) 80 runs cyclictest
             107 TimerThread(0) 50 runs driver
             109 TimerThread(0) 0 runs storm",
        ),
        (
            "batch",
            "105 device for 1000
             105 TimerThread(0) 80 runs storm
             107 TimerThread(0) 80 runs driver
             109 TimerThread(0) 80 runs cyclictest",
        ),
        (
            "hardirq",
            "105 HardIrq 100 runs storm
             107 HardIrq 100 runs driver
             109 HardIrq 100 runs cyclictest
             111 device for 1000",
        ),
        (
            "deferred",
            "105 HardIrq 100 runs driver
             107 HardIrq 100 runs cyclictest
             109 device for 1000
             109 CommonSoftirq 0 runs storm",
        ),
    ] {
        println!("{name}");
        check(&three(name), expected);
    }
}

/// Timers of a batch: when, at which priority, whose.
fn batch(timers: &[(u64, u8, &'static str)]) -> Box<dyn Policy<&'static str>> {
    let mut policy = build("batch", &settings());
    for (us, priority, who) in timers {
        policy.arm(Arm::sleep(Expiry::at(us * US), *priority), *who).unwrap();
    }
    policy
}

/// A batch lowers itself once its most urgent timer has run.
#[test]
fn a_batch_lowers_itself() {
    let mut policy = batch(&[(1, 5, "a"), (2, 60, "b"), (3, 0, "c"), (4, 30, "d"), (5, 0, "e")]);
    check(
        &interrupt(&mut *policy, 10, 1),
        "10 device for 1000
         10 TimerThread(0) 60 runs a
         11 TimerThread(0) 60 runs b
         12 TimerThread(0) 30 runs c
         13 TimerThread(0) 30 runs d
         14 TimerThread(0) 0 runs e",
    );
}

/// As the kernel's patch does it: of two that expire at the same time the more urgent one was armed last.
#[test]
fn equals_of_a_batch_go_by_priority() {
    let mut policy = batch(&[(2, 5, "a"), (2, 60, "b"), (1, 0, "c"), (2, 60, "d")]);
    check(
        &interrupt(&mut *policy, 10, 1),
        "10 device for 1000
         10 TimerThread(0) 60 runs c
         11 TimerThread(0) 60 runs b
         12 TimerThread(0) 60 runs d
         13 TimerThread(0) 5 runs a",
    );
}

/// Two low-res timers at the edge, and precise ones 1 us, 3 us and 500 us after it, and in a later jiffy.
fn edge(name: &str, settings: &Settings) -> Box<dyn Policy<&'static str>> {
    let mut policy = build(name, settings);
    for (us, who) in [(400, "low 1"), (900, "low 2")] {
        policy.arm(Arm::kernel(Expiry::at(us * US)).coarse(), who).unwrap();
    }
    for (us, who) in [(1001, "near 1"), (1003, "near 3"), (1500, "near 500"), (2700, "far")] {
        policy.arm(Arm::sleep(Expiry::at(us * US), 80), who).unwrap();
    }
    assert_eq!(policy.device_ns(), Some(1000 * US), "nothing precise before the edge");
    policy
}

#[test]
fn jiffy_list_shadows_what_is_due_right_after_the_edge() {
    let mut policy = edge("jiffy-list", &settings());
    check(
        &interrupt(&mut *policy, 1000, 2),
        "1000 HardIrq tick
         1002 CommonSoftirq 0 runs low 1
         1004 CommonSoftirq 0 runs low 2
         1006 CommonSoftirq moves 3
         1006 device for 1500
         1008 CommonSoftirq 0 runs near 1
         1010 CommonSoftirq 0 runs near 3",
    );
    check(
        &interrupt(&mut *policy, 1500, 2),
        "1500 HardIrq 100 runs near 500
         1502 device for 2000",
    );
    assert_eq!(policy.programmed(), 2, "once for it, once to get back to the period");
    check(
        &interrupt(&mut *policy, 2000, 2),
        "2000 HardIrq tick
         2002 CommonSoftirq moves 1
         2002 device for 2700",
    );
}

#[test]
fn a_softirq_that_is_faster_than_the_jiffy_loses_it() {
    // The softirq's thread is above the one that counts jiffies, and so runs first.
    let above = Settings { common: 70, top_half: Some(50), ..settings() };
    let mut policy = edge("jiffy-list-race", &above);
    check(&interrupt(&mut *policy, 1000, 2), "1000 HardIrq tick");
    check(
        &interrupt(&mut *policy, 2000, 2),
        "2000 HardIrq tick
         2002 CommonSoftirq 70 runs low 1
         2004 CommonSoftirq 70 runs low 2
         2006 CommonSoftirq moves 3
         2008 CommonSoftirq 70 runs near 1
         2010 CommonSoftirq 70 runs near 3
         2012 CommonSoftirq 70 runs near 500",
    );
    // The other way round it goes by the jiffy that has just been counted.
    let below = Settings { common: 50, top_half: Some(70), ..settings() };
    let mut policy = edge("jiffy-list-race", &below);
    let story = interrupt(&mut *policy, 1000, 2);
    assert_eq!(story, interrupt(&mut *edge("jiffy-list", &below), 1000, 2));
}

#[test]
fn split_jiffy_runs_the_shadowed_before_any_low_res_timer() {
    let mut policy = edge("split-jiffy", &Settings { too_close_ns: 4 * US, ..settings() });
    check(
        &interrupt(&mut *policy, 1000, 1),
        "1000 HardIrq tick
         1000 device for 1500
         1001 HardIrq 100 runs near 1
         1002 HardIrq waits until 1003
         1003 HardIrq 100 runs near 3
         1004 HardIrq moves 2
         1005 CommonSoftirq 0 runs low 1
         1006 CommonSoftirq 0 runs low 2",
    );
}

/// The device costs n + 1 writes in a jiffy with n precise timers, and none in one without.
#[test]
fn a_period_costs_nothing() {
    for name in ["jiffy-list", "split-jiffy"] {
        for timers in [0, 1, 2, 5] {
            let mut policy = build(name, &settings());
            for n in 0..timers {
                policy.arm(Arm::sleep(Expiry::at((1200 + n * 100) * US), 80), "precise").unwrap();
            }
            while let Some(at_ns) = policy.device_ns().filter(|at_ns| *at_ns <= 5000 * US) {
                interrupt(&mut *policy, at_ns / US, 0);
            }
            assert!(policy.is_empty());
            let expected = if timers == 0 { 0 } else { timers + 1 };
            assert_eq!(policy.programmed(), expected, "{name} with {timers}");
        }
    }
}

#[test]
fn deferral_is_switched_in_the_middle() {
    let mut policy = build("deferred", &settings());
    let arm = |policy: &mut dyn Policy<_>, us, who| {
        policy.arm(Arm::sleep(Expiry::at(us * US), 0), who).unwrap();
    };
    arm(&mut *policy, 10, "armed while on, due first");
    arm(&mut *policy, 40, "armed while on, due last");
    assert!(policy.defer(false));
    arm(&mut *policy, 20, "armed while off");
    assert!(policy.defer(true));
    arm(&mut *policy, 30, "armed while on again");
    policy.arm(Arm::kernel(Expiry::at(35 * US)), "nobody sleeps on it").unwrap();
    policy.arm(Arm::kernel(Expiry::at(36 * US)).in_softirq(), "soft").unwrap();
    check(
        &interrupt(&mut *policy, 50, 1),
        "50 HardIrq 100 runs armed while off
         51 HardIrq 100 runs nobody sleeps on it
         52 device for 1000
         52 CommonSoftirq 0 runs armed while on, due first
         53 CommonSoftirq 0 runs armed while on again
         54 CommonSoftirq 0 runs soft
         55 CommonSoftirq 0 runs armed while on, due last",
    );
    for about in policy::KNOWN {
        assert_eq!(build(about.name, &settings()).defer(true), about.name == "deferred");
    }
}

/// A timer that has expired and was not run yet can still be cancelled, and moved.
#[test]
fn who_waits_to_be_run_is_still_armed() {
    let mut policy = build("ksoftirqd", &settings());
    let mut arm = |us, who| policy.arm(Arm::kernel(Expiry::at(us * US)), who).unwrap();
    let (_, b, c, d) = (arm(1, "a"), arm(2, "b"), arm(3, "c"), arm(4, "d"));
    policy.interrupt(10 * US);
    assert_eq!(policy.step(policy::Context::HardIrq, 10 * US), None);
    assert_eq!(policy.cancel(b), Ok("b"));
    policy.rearm(c, Expiry::at(50 * US)).unwrap();
    assert_eq!(policy.device_ns(), Some(50 * US));
    policy.rearm(d, Expiry::at(60 * US)).unwrap();
    assert!(policy.cancel(b).is_err());
    check(
        &interrupt(&mut *policy, 50, 5),
        "50 device for 60
         50 CommonSoftirq 0 runs a
         55 CommonSoftirq 0 runs c",
    );
    check(
        &interrupt(&mut *policy, 60, 5),
        "60 device for 1000
         60 CommonSoftirq 0 runs d",
    );
    assert!(policy.rearm(d, Expiry::at(70 * US)).is_err());
}

#[test]
fn names_are_unique_and_known() {
    let mut names: Vec<_> = policy::KNOWN.iter().map(|about| about.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), policy::KNOWN.len());
    assert!(policy::build::<(), Plain<_>>("no such", &settings(), &Plain::new).is_none());
}

/// Time may begin anywhere, and end.
#[test]
fn at_the_end_of_time_the_tick_stops() {
    for about in policy::KNOWN {
        let start_ns = u64::MAX - 1500 * US;
        let mut policy = build(about.name, &Settings { start_ns, ..settings() });
        policy.arm(Arm::sleep(Expiry::at(u64::MAX), 1), "last").unwrap();
        policy.arm(Arm::sleep(Expiry::at(u64::MAX), 0).coarse(), "coarse").unwrap();
        for _ in 0..4 {
            interrupt(&mut *policy, u64::MAX / US, 0);
            policy.interrupt(u64::MAX);
            for _ in 0..8 {
                if let Some(runnable) = policy.runnable().first() {
                    policy.step(runnable.context, u64::MAX);
                }
            }
        }
        assert!(
            policy.len() <= 1,
            "{}: all but what waits for a tick that never comes",
            about.name
        );
    }
}
