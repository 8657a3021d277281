//! Time that a hypervisor took, placed by hand. Task 7 is the victim.
#![allow(missing_docs)]

mod trace;

use tardy_explain::{StolenTime, Watch};
use trace::{explain, told};

#[test]
fn a_timers_interrupt_that_came_when_the_cpu_was_back() {
    // Stopped from 900000 to 1400000; the timer was due at 1000000.
    let trace = "
        task 7 cyclic watched
        task 20 spinner
        timer 1 hrtimer_wakeup owner 7
             10 0 7 arm 1 soft 1000000 slack 0
             20 0 7 switch S 20 120
        1400000 0 20 irq+ local_timer
        1401000 0 20 expire+ 1 soft 1000000 slack 0
        1402000 0 20 waking 7 on 0 prio 19
        1403000 0 20 expire- 1
        1404000 0 20 irq- local_timer
        1405000 0 20 stolen 500000
        1406000 0 20 switch R 7 19
    ";
    let expected = "cyclic timer 1000000+406000: hypervisor 400000 the hypervisor, \
        interrupts 1000 local_timer, callback 2000 cyclic (hrtimer_wakeup), \
        interrupts 1000 local_timer, not_preemptible 2000 spinner";
    assert_eq!(told(trace), expected);
}

#[test]
fn a_cpu_that_slept_and_was_stopped_on_its_way_out() {
    let trace = "
        task 7 cyclic watched
        0 0 0 latency 1 5000
        timer 1 hrtimer_wakeup owner 7
             10 0 7 arm 1 soft 1000000 slack 0
             20 0 7 switch S 0 120
             30 0 0 sleep 1
        1090000 0 0 irq+ local_timer
        1091000 0 0 expire+ 1 soft 1000000 slack 0
        1092000 0 0 waking 7 on 0 prio 19
        1093000 0 0 expire- 1
        1094000 0 0 irq- local_timer
        1095000 0 0 stolen 80000
        1096000 0 0 switch R 7 19
    ";
    // 10 us of the wait for the interrupt are not the hypervisor's.
    let expected = "cyclic timer 1000000+96000: idle_exit 10000 state 1, \
        hypervisor 80000 the hypervisor, interrupts 1000 local_timer, \
        callback 2000 cyclic (hrtimer_wakeup), interrupts 1000 local_timer, idle_exit 2000 state 1";
    assert_eq!(told(trace), expected);
}

#[test]
fn the_callback_of_another_that_only_seemed_to_take_long() {
    let trace = "
        task 7 cyclic watched
        task 20 spinner
        task 21 storm
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
              10 0 7 arm 1 soft 1000000 slack 0
              20 0 7 switch S 20 120
         1001000 0 20 irq+ local_timer
         1001500 0 20 expire+ 2 soft 1000000 slack 0
        13001500 0 20 expire- 2
        13002000 0 20 expire+ 1 soft 1000000 slack 0
        13003000 0 20 waking 7 on 0 prio 19
        13004000 0 20 expire- 1
        13005000 0 20 irq- local_timer
        13005500 0 20 stolen 11990000
        13006000 0 20 switch R 7 19
    ";
    let expected = "cyclic timer 1000000+12006000: irq_delay 1000 spinner, \
        interrupts 500 local_timer, stacked_timers 10000 storm (hrtimer_wakeup), \
        hypervisor 11990000 the hypervisor, callback 2500 cyclic (hrtimer_wakeup), \
        interrupts 1000 local_timer, not_preemptible 1000 spinner";
    assert_eq!(told(trace), expected);
}

#[test]
fn an_interrupt_of_another_cpus_that_came_late() {
    let trace = "
        task 7 worker watched
        task 20 spinner
        task 21 waker
              10 0 7 switch S 20 120
              20 1 21 irq+ local_timer
              30 1 21 irq- local_timer
         2000000 1 21 waking 7 on 0 prio 19
         2300000 0 20 irq+ reschedule
         2300500 0 20 irq- reschedule
         2300600 0 20 stolen 350000
         2301000 0 20 switch R 7 19
    ";
    let expected = "worker task 2000000+301000: hypervisor 300000 the hypervisor, \
        interrupts 500 reschedule, not_preemptible 500 spinner";
    let (said, explanation) = explain(trace, Watch::default());
    assert_eq!(said, expected);
    let all = StolenTime { ns: 350_000, unsure_ns: 0, unplaced_ns: 0 };
    assert_eq!(explanation.stolen, Some(all));
}

#[test]
fn somewhere_while_another_ran() {
    let trace = "
        task 7 worker watched
        task 20 spinner
        task 21 waker
              10 0 7 switch S 20 19
         1000000 0 20 irq+ local_timer
         1000100 0 20 waking 7 on 0 prio 120
         1000200 0 20 irq- local_timer
         3000200 0 20 stolen 500000
         3000300 0 20 switch S 7 120
    ";
    let expected = "worker irq 1000100+2000200: interrupts 100 local_timer, cpu_contention \
        1500000 spinner, hypervisor 500000 the hypervisor (exact time not known), cpu_contention \
        100 spinner";
    let (said, explanation) = explain(trace, Watch::default());
    assert_eq!(said, expected);
    let all = StolenTime { ns: 500_000, unsure_ns: 500_000, unplaced_ns: 0 };
    assert_eq!(explanation.stolen, Some(all));
}

#[test]
fn what_no_stretch_has_room_for_stays_where_it_was_and_is_told() {
    let trace = "
        task 7 worker watched
        task 20 spinner
           10 0 7 switch S 20 19
         1000 0 20 irq+ local_timer
         1100 0 20 waking 7 on 0 prio 120
         1200 0 20 irq- local_timer
         9000 0 20 stolen 50000
         9100 0 20 switch S 7 120
    ";
    let (said, explanation) = explain(trace, Watch::default());
    let expected = "worker irq 1100+8000: interrupts 100 local_timer, hypervisor 7800 the hypervisor, \
        cpu_contention 100 spinner";
    assert_eq!(said, expected);
    let all = StolenTime { ns: 50_000, unsure_ns: 0, unplaced_ns: 42_200 };
    assert_eq!(explanation.stolen, Some(all));
}

#[test]
fn a_stream_that_does_not_tell_says_so() {
    let (_, explanation) =
        explain("learn\n task 7 worker watched\n 10 0 7 switch S 0 120", Watch::default());
    assert_eq!(explanation.stolen, None);
}

/// Thread 21 is woken on CPU 1, by a callback on CPU 0, which a hypervisor stops in it: `hrtimer_cancel` waits for
/// that, and on a kernel that does not preempt keeps task 7 from CPU 1. CPU 0 tells what was stolen, before task 7 runs or
/// after.
const HELD_UP_ELSEWHERE: &str = "
        task 7 cyclic watched
        task 20 spinner
        task 21 storm
        timer 1 hrtimer_wakeup owner 7
        timer 2 FUNCTION owner 21
              10 1 7 arm 1 soft 1100000 slack 0
              20 1 7 switch S 0 120
              30 0 0 switch R 20 120
         1000000 0 20 irq+ local_timer
         1000100 0 20 expire+ 2 soft 1000000 slack 0
         1000200 0 20 waking 21 on 1 prio 120
         1002000 1 0 irq+ reschedule
         1002100 1 0 irq- reschedule
         1003000 1 0 switch R 21 120
         1100500 1 21 irq+ local_timer
         1100600 1 21 expire+ 1 soft 1100000 slack 0
         1100700 1 21 waking 7 on 1 prio 19
         1101700 1 21 expire- 1
         1102000 1 21 irq- local_timer
         4000000 0 20 expire- 2
         4000100 0 20 irq- local_timer
        BEFORE
         4005000 1 21 switch R 7 19
        AFTER
    ";

fn held_up_elsewhere(function: &str, before: &str, after: &str) -> String {
    let trace = HELD_UP_ELSEWHERE.replace("FUNCTION", function).replace("BEFORE", before);
    told(&trace.replace("AFTER", after))
}

const OWN: &str = "cyclic timer 1100000+2905000: irq_delay 500 storm, interrupts 100 local_timer, \
     callback 1100 cyclic (hrtimer_wakeup), interrupts 300 local_timer, ";

#[test]
fn who_waits_for_a_callback_that_a_hypervisor_has_stopped_is_not_to_blame() {
    let tells = "4000200 0 20 stolen 2990000\n 4000300 0 20 switch R 20 120";
    let expected = format!("{OWN}hypervisor 2898000 the hypervisor, not_preemptible 5000 storm");
    assert_eq!(held_up_elsewhere("hrtimer_wakeup", tells, ""), expected);
}

#[test]
fn what_was_stolen_from_another_cpu_may_be_told_after_the_victim_runs() {
    let tells = "4005100 0 20 stolen 2990000\n 4005200 0 20 switch R 20 120";
    let expected = format!("{OWN}hypervisor 2898000 the hypervisor, not_preemptible 5000 storm");
    assert_eq!(held_up_elsewhere("hrtimer_wakeup", "", tells), expected);
}

#[test]
fn where_nothing_was_stolen_or_is_told_too_late_it_stays_the_threads() {
    let expected = format!("{OWN}not_preemptible 2903000 storm");
    let nothing = "4005200 0 20 switch R 20 120\n 4005300 0 20 stolen 100";
    assert_eq!(held_up_elsewhere("hrtimer_wakeup", "", nothing), expected);
    let late = "14100000 1 7 irq+ local_timer\n 14200000 0 20 stolen 2990000";
    assert_eq!(held_up_elsewhere("hrtimer_wakeup", "", late), expected);
}

#[test]
fn only_who_sleeps_on_a_timer_waits_for_its_callback() {
    let tells = "4000200 0 20 stolen 2990000\n 4000300 0 20 switch R 20 120";
    let expected = format!("{OWN}not_preemptible 2903000 storm");
    assert_eq!(held_up_elsewhere("timerfd_tmrproc", tells, ""), expected);
}

/// Task 7 is woken on CPU 0, where it preempts. The waking has moved the clock of the queue, so the switch does not: the
/// next one tells. What can have been stolen since the switch (10 us) is taken to be.
const PREEMPTS: &str = "
        task 7 cyclic watched
        task 8 other
        task 20 spinner
        timer 1 hrtimer_wakeup owner 7
             10 0 7 arm 1 soft 1000000 slack 0
             20 0 7 switch S 20 120
             30 1 0 switch R 0 120
        1000500 0 20 irq+ local_timer
        1000600 0 20 expire+ 1 soft 1000000 slack 0
        1000700 0 20 waking 7 on 0 prio 19
        1001700 0 20 expire- 1
        1002000 0 20 irq- local_timer
        MEANWHILE
        3000000 0 20 switch R 7 19
        3010000 0 7 stolen STOLEN
        3010100 0 7 switch S 20 120
    ";

#[test]
fn a_switch_to_whom_a_waking_has_just_preempted_for_tells_nothing_yet() {
    let trace = PREEMPTS.replace("MEANWHILE", "").replace("STOLEN", "1990000");
    let later = "4000000 0 20 stolen 900000\n 4000100 0 20 switch S 0 120";
    let expected = "cyclic timer 1000000+2000000: irq_delay 500 spinner, interrupts 100 local_timer, \
        callback 1100 cyclic (hrtimer_wakeup), interrupts 300 local_timer, \
        not_preemptible 18000 spinner, hypervisor 1980000 the hypervisor";
    let (said, explanation) = explain(&format!("{trace}{later}"), Watch::default());
    assert_eq!(said, expected);
    let all = StolenTime { ns: 2_890_000, unsure_ns: 0, unplaced_ns: 0 };
    assert_eq!(explanation.stolen, Some(all));
}

#[test]
fn a_waking_for_another_cpu_moves_no_clock_here() {
    let wakes = "
        2990000 0 20 irq+ local_timer
        2990100 0 20 waking 8 on 0 prio 120
        2990200 0 20 migrate 8 0 1
        2990300 0 20 irq- local_timer";
    let said = told(&PREEMPTS.replace("MEANWHILE", wakes).replace("STOLEN", "1980000"));
    assert!(said.contains("hypervisor 1970000 the hypervisor"), "{said}");
}

#[test]
fn what_is_told_after_a_cpu_was_woken_is_not_put_before_the_waking() {
    // All that was stolen while it slept has been told, so what is told now lies later, mostly while task 7 runs.
    let trace = "
        task 7 worker watched
        task 21 waker
              10 0 7 switch S 0 120
              20 0 0 sleep 1
              30 1 0 switch R 21 120
         1000000 1 21 waking 7 on 0 prio 19
         1003000 0 0 irq+ reschedule
         1003500 0 0 irq- reschedule
         1005000 0 0 switch R 7 19
         1600000 0 7 stolen 500000
         1600100 0 7 switch S 0 120
    ";
    let (said, explanation) = explain(trace, Watch::default());
    assert!(!said.contains("hypervisor"), "{said}");
    let all = StolenTime { ns: 500_000, unsure_ns: 0, unplaced_ns: 0 };
    assert_eq!(explanation.stolen, Some(all));
}

#[test]
fn between_equals_a_switch_tells_all_and_what_is_told_later_lies_later() {
    let trace = "
        task 7 worker watched
        task 20 spinner
              10 0 7 switch S 20 120
         1000000 0 20 irq+ local_timer
         1000100 0 20 waking 7 on 0 prio 120
         1000200 0 20 irq- local_timer
         3000000 0 20 switch R 7 120
         4500000 0 7 stolen 1400000
         4500100 0 7 switch S 20 120
    ";
    let expected =
        "worker irq 1000100+1999900: interrupts 100 local_timer, cpu_contention 1999800 spinner";
    assert_eq!(told(trace), expected);
}
