//! How long the timer's interrupt takes to come whoever runs is nobody's who does. Task 7 is the victim.
#![allow(missing_docs)]

mod trace;

use std::fmt::Write as _;
use tardy_explain::Watch;
use trace::{explain, told};

/// So many wakeups of a thread, 1 ms apart, each with the timer's interrupt late by what `late_ns` says: beside a spinner,
/// or alone on a CPU that polls meanwhile.
fn wakeups(count: u64, polls: bool, late_ns: impl Fn(u64) -> u64) -> String {
    let other = if polls { 0 } else { 20 };
    let mut trace = format!(
        "task 7 cyclic watched\ntask 20 spinner\ntimer 1 hrtimer_wakeup owner 7\n5 0 {other} switch R 7 19\n"
    );
    for number in 0..count {
        let armed_ns = number * 1_000_000 + 10;
        let due_ns = (number + 1) * 1_000_000;
        let entry_ns = due_ns + late_ns(number);
        let (poll, awake) = if polls {
            (format!("{} 0 0 poll 0", armed_ns + 20), format!("{} 0 0 awake", entry_ns + 450))
        } else {
            (String::new(), String::new())
        };
        let _ = write!(
            trace,
            "{armed_ns} 0 7 arm 1 soft {due_ns} slack 0
             {} 0 7 switch S {other} 120
             {poll}
             {entry_ns} 0 {other} irq+ local_timer
             {} 0 {other} expire+ 1 soft {due_ns} slack 0
             {} 0 {other} waking 7 on 0 prio 19
             {} 0 {other} expire- 1
             {} 0 {other} irq- local_timer
             {awake}
             {} 0 {other} switch R 7 19
            ",
            armed_ns + 10,
            entry_ns + 100,
            entry_ns + 200,
            entry_ns + 300,
            entry_ns + 400,
            entry_ns + 500,
        );
    }
    trace
}

fn beside_a_spinner(count: u64, late_ns: impl Fn(u64) -> u64) -> String {
    wakeups(count, false, late_ns)
}

#[test]
fn the_devices_part_is_learned_and_the_rest_stays_with_who_ran() {
    let late_ns = |number| if number == 99 { 300_000 } else { 8_000 };
    let told = told(&beside_a_spinner(100, late_ns));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].contains("irq_delay 8000 spinner"), "nothing is known yet: {}", lines[0]);
    assert!(
        lines[98].contains("irq_delay 7936 the clock-event device, irq_delay 64 spinner"),
        "{}",
        lines[98]
    );
    let late = "irq_delay 7936 the clock-event device, irq_delay 292064 spinner";
    assert!(lines[99].contains(late), "a bin's least: {}", lines[99]);
}

#[test]
fn a_cpu_that_polls_keeps_no_interrupt_off() {
    let late_ns = |number| if number == 99 { 300_000 } else { 7_000 };
    let told = told(&wakeups(100, true, late_ns));
    let lines: Vec<&str> = told.lines().collect();
    let usual = "irq_delay 6912 the clock-event device, irq_delay 88,";
    assert!(lines[98].contains(usual), "{}", lines[98]);
    let late = "irq_delay 6912 the clock-event device, irq_delay 293088,";
    assert!(lines[99].contains(late), "nobody's, as far as events tell: {}", lines[99]);
}

#[test]
fn a_task_that_keeps_interrupts_off_every_other_time_does_not_pass_for_the_device() {
    let late_ns = |number| if number % 2 == 0 { 200_000 } else { 1_000 };
    let told = told(&beside_a_spinner(200, late_ns));
    let last = told.lines().nth(198).expect("200 wakeups");
    assert!(last.contains("the clock-event device, irq_delay 199"), "{last}");
}

#[test]
fn an_early_interrupt_that_came_for_another_tells_nothing() {
    // It comes right when the thread's own timer is due, for one of 8 us before.
    let explained = explain(&beside_a_spinner(100, |_| 0), Watch::default());
    let names = explained.1.culprits.iter().map(|culprit| culprit.label.name.as_str());
    assert!(!names.into_iter().any(|name| name == "the clock-event device"));
}
