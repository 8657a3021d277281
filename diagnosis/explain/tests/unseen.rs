//! Wakeups whose timer's begin was not recorded. Task 7 is the victim.
#![allow(missing_docs)]

mod trace;

use trace::told;

#[test]
fn a_begin_that_was_not_recorded() {
    let trace = "
        task 7 cyclic marks
        task 21 storm-1
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
          10 0 7 arm 1 soft 1000 slack 0
          20 0 7 switch S 20 120
         990 0 20 softirq+ 8
         995 0 20 expire+ 2 soft 900 slack 0
        1002 0 20 irq+ local_timer       # while that was being recorded
        1006 0 20 waking 7 on 0 prio 19
        1008 0 20 expire- 1
        1009 0 20 irq- local_timer
        1012 0 20 switch R 7 19
        1015 0 7 mark 1000
    ";
    let expected = "cyclic timer 1000+15 to user: stacked_timers 2 storm-1 (hrtimer_wakeup), \
          interrupts 4 local_timer, callback 2 cyclic (hrtimer_wakeup), interrupts 1 local_timer, \
          stacked_timers 3 storm-1 (hrtimer_wakeup), own_kernel_work 3 cyclic";
    assert_eq!(told(trace), expected);
}

#[test]
fn a_device_that_wakes_before_the_timer_is_due() {
    let trace = "
        task 7 reader watched
        timer 1 hrtimer_wakeup owner 7
          10 0 7 arm 1 soft 9000 slack 0
          20 0 7 switch S 0 120
        1000 0 0 irq+ local_timer
        1003 0 0 waking 7 on 0 prio 120
        1004 0 0 irq- local_timer
        1006 0 0 switch R 7 120
    ";
    let expected = "reader irq 1003+3: interrupts 1 local_timer, idle_exit 2 idle loop";
    assert_eq!(told(trace), expected);
}
