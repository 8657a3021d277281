//! Wakeups told as stories, as a reader sees them.
#![allow(missing_docs)]

mod trace;

use tardy_explain::{Watch, why};

/// The latest wakeup of a trace: offset from the expiry, CPU, event and sentence.
fn story(trace: &str) -> String {
    let (_, explanation) = trace::explain(trace, Watch::default());
    let told = &explanation.worst[0];
    let lines = why(told, &explanation.patterns).into_iter().map(|sentence| {
        let after_ns = sentence.time_ns as i64 - told.wakeup.expiry_ns as i64;
        let cpu = sentence.cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
        format!("{after_ns:+} {cpu} {}: {}", sentence.event, sentence.text)
    });
    lines.collect::<Vec<_>>().join("\n")
}

macro_rules! stories {
    ($($name:ident: $trace:expr => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            let expected: Vec<&str> = $expected.lines().map(str::trim).collect();
            assert_eq!(story($trace), expected.join("\n").trim());
        }
    )*};
}

stories! {
    a_lock_whose_owner_is_boosted_twice: trace::DOUBLE_BOOST => "
        +0 1 sys_enter: high asks for the lock at 0x2d04 (FUTEX_LOCK_PI).
        +19000 - sched_pi_setprio: high lends low its priority 59 (low had 120): low holds the lock, and trace-cmd runs in its place.
        +37000 1 sched_switch: high waits (S) for the lock at 0x2d04, which low holds; busy runs on CPU 1.
        +39000 0 sched_switch: low runs on CPU 0 in place of trace-cmd.
        +51000 - sys_enter: low begins to release the lock (FUTEX_UNLOCK_PI).
        +66000 0 sched_waking: low wakes high, on CPU 1.
        +71000 - sched_pi_setprio: low returns to priority 120, and has not finished its unlock.
        +72000 1 sched_switch: high runs on CPU 1 in place of busy, 6.0 µs after it was woken.
        +87000 0 sched_switch: trace-cmd takes CPU 0 from low, which has not finished its unlock.
        +92000 - sched_pi_setprio: high lends low its priority 59 a second time (low had 120): low, still in its unlock, holds a lock inside the kernel, and trace-cmd runs in its place.
        +108000 1 sched_switch: high waits (D) for a lock inside the kernel, which low holds; busy runs on CPU 1.
        +111000 0 sched_switch: low runs on CPU 0 in place of trace-cmd.
        +123000 0 sched_waking: low wakes high, on CPU 1.
        +127000 - sched_pi_setprio: low returns to priority 120, and has not finished its unlock.
        +127000 1 sched_switch: high runs on CPU 1 in place of busy, 4.0 µs after it was woken.
        +141000 1 sys_exit: high is back in user space, 141.0 µs after it asked.
        +141000 1 sum: 141.0 µs together: 87.0 µs own_kernel_work by high, 39.0 µs lock by low, 10.0 µs not_preemptible by busy and 5.0 µs lock by trace-cmd.
        +141000 1 pattern: the owner of a PI lock had to be boosted twice: 1 of 3 wakeups: the owner of a PI lock was put back to its own priority before it had finished its unlock, so high got the user's lock, ran into one inside the kernel that the owner still held, and boosted it a second time; that cost 55.0 µs of 141.0 µs in the worst lock call. The kernel causes this, not the program: use a kernel that wakes before it deboosts, or keep the owner from being preempted in its unlock (a dedicated CPU, or a real-time priority).
    ";

    a_sleep_until_a_time_that_has_passed: trace::HELD_UP => "
        +0 0 expiry: loop asked to be woken at this time.
        +200 0 sched_switch: hog runs for 500 ns: the CPU is shared.
        +800 - hrtimer_start: loop arms its timer (hrtimer_wakeup) for 0.000001000, which is 800 ns too late.
        +801 0 hrtimer_expire_entry: the callback of loop's timer (hrtimer_wakeup) begins.
        +801 0 sched_waking: loop goes on: it had not slept yet.
        +801 0 sum: 801 ns together: 500 ns cpu_contention by hog, 300 ns armed_late by loop and 1 ns irq_delay by loop.
    ";

    timers_stacked_in_one_interrupt: "
        task 7 cyclic marks
        task 21 storm-1
        task 22 storm-2
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
        timer 3 hrtimer_wakeup owner 22
           1 0 7 arm 1 soft 1000 slack 0
           2 0 7 switch S 20 120
        1001 0 20 irq+ local_timer
        1002 0 20 expire+ 2 soft 990 slack 0
        1007 0 20 expire- 2
        1007 0 20 expire+ 3 soft 991 slack 0
        1010 0 20 expire- 3
        1010 0 20 expire+ 1 soft 1000 slack 0
        1012 0 20 waking 7 on 0 prio 19
        1013 0 20 expire- 1
        1018 0 20 irq- local_timer
        1021 0 20 switch R 7 19
        1023 0 7 mark 1000
    " => "
        -999 - hrtimer_start: cyclic arms its timer (hrtimer_wakeup) for 0.000001000, 999 ns ahead.
        +0 0 expiry: cyclic asked to be woken at this time.
        +0 0 expiry: no interrupt comes for 1 ns: thread 20 runs on.
        +1 0 local_timer_entry: the interrupt local_timer begins, 1 ns after the expiry.
        +1 0 local_timer_entry: interrupts take 1 ns: local_timer.
        +2 0 hrtimer_expire_entry: callbacks of 2 other timers take 8 ns: storm-* (2 timers).
        +10 0 hrtimer_expire_entry: the callback of cyclic's timer (hrtimer_wakeup) begins.
        +12 0 sched_waking: the callback makes cyclic runnable.
        +13 0 local_timer_entry: interrupts take 5 ns: local_timer.
        +18 0 sched_switch: thread 20 runs on for 3 ns and cannot be preempted.
        +21 0 sched_switch: cyclic runs on CPU 0 in place of thread 20, 9 ns after it was woken.
        +23 0 mark: cyclic is back in user space, 23 ns after the expiry.
        +23 0 sum: 23 ns together: 8 ns stacked_timers by storm-* (2 timers), 6 ns interrupts by local_timer, 3 ns callback by cyclic (hrtimer_wakeup), 3 ns not_preemptible by thread 20, 2 ns own_kernel_work by cyclic and 1 ns of 1 other.
        +23 0 pattern: timers stacked in one interrupt: In 1 of 1 wakeups 2 other timers (at most 2) ran first in the same interrupt, 35 % of all lateness and up to 8 ns at once: sleep timers of storm-* (2 processes). Let fewer threads sleep on timers that expire together, move them to another CPU, or, on PREEMPT_RT, remove the real-time priority of threads that do not need it, so that their timers expire in softirq.
    ";

    the_tick_wakes_whom_nobody_asked_to_wake: "
        task 7 victim watched
        timer 1 tick_nohz_handler
           1 0 20 arm 1 soft 1000 slack 0
        1001 0 20 irq+ local_timer
        1002 0 20 expire+ 1 soft 1000 slack 0
        1004 0 20 waking 7 on 0 prio 19
        1005 0 20 expire- 1
        1006 0 20 irq- local_timer
        1008 0 20 switch R 7 19
    " => "
        -999 - hrtimer_start: the kernel arms the timer (tick_nohz_handler) for 0.000001000, 999 ns ahead.
        +0 0 expiry: a timer (tick_nohz_handler) that is to wake victim is due.
        +0 0 expiry: no interrupt comes for 1 ns: thread 20 runs on.
        +1 0 local_timer_entry: the interrupt local_timer begins, 1 ns after the expiry.
        +1 0 local_timer_entry: interrupts take 1 ns: local_timer.
        +2 0 hrtimer_expire_entry: the callback of the timer (tick_nohz_handler) begins.
        +4 0 sched_waking: the callback makes victim runnable.
        +5 0 local_timer_entry: interrupts take 1 ns: local_timer.
        +6 0 sched_switch: thread 20 runs on for 2 ns and cannot be preempted.
        +8 0 sched_switch: victim runs on CPU 0 in place of thread 20, 4 ns after it was woken.
        +8 0 sum: 8 ns together: 3 ns callback by tick_nohz_handler, 2 ns interrupts by local_timer, 2 ns not_preemptible by thread 20 and 1 ns irq_delay by thread 20.
    ";

    a_kworker_between_a_timer_and_the_victim: "
        task 7 reader watched
        task 30 kworker/0:1 kernel
        timer 1 delayed_work_timer_fn list
        timer 2 flush_to_ldisc
          1 0 0 irq+ local_timer
          2 0 0 softirq+ 1
          3 0 0 expire+ 1 soft 1 slack 0 softirq
          4 0 0 waking 30 on 0 prio 120
          5 0 0 expire- 1
          6 0 0 softirq- 1
          7 0 0 irq- local_timer
          9 0 0 switch R 30 120
         10 0 30 work 1002
         20 0 30 waking 7 on 0 prio 120
         21 0 30 work-done
         25 0 30 switch S 7 120
    " => "
        -16 - sched_waking: delayed_work_timer_fn wakes kworker/0:1.
        +0 0 sched_waking: kworker/0:1 wakes reader while it works on flush_to_ldisc.
        +0 0 sched_switch: kworker/0:1 runs for 5 ns: the CPU is shared.
        +5 0 sched_switch: reader runs on CPU 0 in place of kworker/0:1, 5 ns after it was woken.
        +5 0 sum: 5 ns together: 5 ns cpu_contention by kworker/0:1.
    ";

    a_plain_cyclic_wakeup: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
        1000000 0 7 arm 1 soft 2000000 slack 0
        1002000 0 7 switch S 0 120
        1003000 0 0 sleep 2
        2004000 0 0 irq+ local_timer
        2004500 0 0 expire+ 1 soft 2000000 slack 0
        2005000 0 0 waking 7 on 0 prio 19
        2005200 0 0 expire- 1
        2006000 0 0 irq- local_timer
        2006100 0 0 awake
        2007000 0 0 switch R 7 19
        2008500 0 7 mark 2000000
    " => "
        -1000000 - hrtimer_start: cyclic arms its timer (hrtimer_wakeup) for 0.002000000, 1.00 ms ahead.
        +0 0 expiry: cyclic asked to be woken at this time.
        +0 0 cpu_idle: the CPU slept (state 2) and needs 4.0 µs to wake up.
        +4000 0 local_timer_entry: the interrupt local_timer begins, 4.0 µs after the expiry.
        +4000 0 local_timer_entry: interrupts take 500 ns: local_timer.
        +4500 0 hrtimer_expire_entry: the callback of cyclic's timer (hrtimer_wakeup) begins.
        +5000 0 sched_waking: the callback makes cyclic runnable.
        +5200 0 local_timer_entry: interrupts take 800 ns: local_timer.
        +6000 0 cpu_idle: leaving the idle loop takes 1.0 µs (state 2).
        +7000 0 sched_switch: cyclic runs on CPU 0, 2.0 µs after it was woken.
        +8500 0 mark: cyclic is back in user space, 8.5 µs after the expiry.
        +8500 0 sum: 8.5 µs together: 5.0 µs idle_exit by state 2, 1.5 µs own_kernel_work by cyclic, 1.3 µs interrupts by local_timer and 700 ns callback by cyclic (hrtimer_wakeup).
        +8500 0 pattern: CPUs sleep so deeply that waking up takes long: In 1 of 1 wakeups the CPU first had to leave idle state 2, which took 5.0 µs on average and at most 5.0 µs: 59 % of all lateness. A program runs better while cyclictest runs, because cyclictest keeps CPUs out of these states: hold /dev/cpu_dma_latency open with a 0 written to it while latency matters, or disable the states in /sys/devices/system/cpu/cpu*/cpuidle.
    ";

    a_softirq_a_migration_a_preemption_and_a_page: "
        task 7 sleeper marks
        task 20 busy
        task 15 ktimers/0 kernel
        timer 1 hrtimer_wakeup owner 7
           1 1 0 switch R 20 9
           2 0 7 switch S 20 50
        1000 0 20 irq+ local_timer
        1001 0 20 raise 8
        1002 0 20 irq- local_timer
        1102 0 20 switch R 15 98 50
        1103 0 15 softirq+ 8
        1111 0 15 expire+ 1 soft 1000 slack 0 softirq
        1112 0 15 waking 7 on 0 prio 120
        1113 0 15 expire- 1
        1114 0 15 softirq- 8
        1150 1 20 migrate 7 0 1
        1200 1 20 switch S 7 120 9
        1210 1 7 switch R 20 9
        1300 1 20 switch S 7 120 9
        1310 1 7 fault 4096
        1320 1 7 switch D 0 120
        1400 1 0 irq+ 26
        1401 1 0 waking 7 on 1 prio 120
        1402 1 0 irq- 26
        1405 1 0 switch R 7 120
        1406 1 7 signal 34
        1407 1 7 mark 1000
    " => "
        +0 0 expiry: sleeper asked to be woken at this time.
        +0 0 local_timer_entry: the interrupt local_timer begins, on time.
        +1 0 softirq_raise: the softirq HRTIMER, which is to run the timer, is raised.
        +1 0 softirq_raise: the softirq waits to run for 102 ns: busy 100 ns, local_timer 1 ns and ktimers/0 1 ns run.
        +103 0 softirq_entry: the softirq HRTIMER begins.
        +111 0 hrtimer_expire_entry: the callback of sleeper's timer (hrtimer_wakeup) begins.
        +112 0 sched_waking: the callback makes sleeper runnable.
        +113 0 sched_switch: busy 50 ns, ktimers/0 36 ns and ktimers/0 (HRTIMER) 1 ns run for 87 ns at a higher priority.
        +150 1 sched_migrate_task: sleeper is moved to CPU 1.
        +200 1 sched_switch: sleeper runs on CPU 1 in place of busy, 88 ns after it was woken.
        +210 1 sched_switch: busy takes CPU 1 from sleeper, which is not back in user space yet.
        +210 1 sched_switch: busy runs for 90 ns at a higher priority.
        +300 1 sched_switch: sleeper runs on CPU 1 in place of busy, 90 ns after it lost the CPU.
        +310 1 page_fault_user: sleeper takes a page fault.
        +320 1 sched_switch: sleeper waits (D) for the page; CPU 1 has nothing else to do.
        +401 1 sched_waking: an interrupt wakes sleeper.
        +405 1 sched_switch: sleeper runs on CPU 1, 4 ns after it was woken.
        +406 1 signal_deliver: sleeper is about to handle signal 34 before it returns.
        +407 1 mark: sleeper is back in user space, 407 ns after the expiry.
        +407 1 sum: 407 ns together: 140 ns higher_priority by busy, 100 ns softirq_wait by busy, 81 ns page_fault, 36 ns higher_priority by ktimers/0, 22 ns own_kernel_work by sleeper and 28 ns of 9 others.
    ";
}
