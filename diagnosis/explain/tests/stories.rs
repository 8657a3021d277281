//! Small traces with the balance that must come out. Tasks 7 and 8 are victims, 20… others, 0 idle.
#![allow(missing_docs)]

#[macro_use]
mod trace;

stories! {
    slack_of_a_normal_thread: "
        task 7 sleeper marks
        timer 1 hrtimer_wakeup owner 7
          10 0 7 arm 1 soft 1000 slack 50000
          20 0 7 switch S 0 120
          30 0 0 sleep 1
       51005 0 0 irq+ local_timer        # 5 after the hard expiry
       51006 0 0 expire+ 1 soft 1000 slack 50000
       51008 0 0 waking 7 on 0 prio 120
       51009 0 0 expire- 1
       51012 0 0 irq- local_timer
       51014 0 0 awake
       51020 0 0 switch R 7 120
       51023 0 7 mark 1000
    " => "sleeper timer 1000+50023 to user: slack 50000 timer slack 50 µs, \
          idle_exit 5 state 1, interrupts 1 local_timer, \
          callback 3 sleeper (hrtimer_wakeup), interrupts 3 local_timer, idle_exit 8 state 1, \
          own_kernel_work 3 sleeper";

    a_late_interrupt_while_the_cpu_polls: "
        task 7 cyclic watched
        timer 1 hrtimer_wakeup owner 7
          10 0 7 switch S 0 120
          20 0 0 poll 0
        1012 0 0 irq+ local_timer
        1012 0 0 expire+ 1 soft 1000 slack 0
        1012 0 0 waking 7 on 0 prio 19
        1012 0 0 expire- 1
        1012 0 0 irq- local_timer
        1013 0 0 awake
        1015 0 0 switch R 7 19
    " => "cyclic timer 1000+15: irq_delay 12, idle_exit 3 state 0 (polling)";

    slack_that_another_timer_cut_short: "
        task 7 sleeper watched
        timer 1 hrtimer_wakeup owner 7
          20 0 7 switch S 20 120
        3000 0 20 irq+ local_timer       # somebody else's timer is due here
        3001 0 20 expire+ 1 soft 1000 slack 50000
        3002 0 20 waking 7 on 0 prio 120
        3003 0 20 expire- 1
        3004 0 20 irq- local_timer
        3006 0 20 switch R 7 120
    " => "sleeper timer 1000+2006: slack 2000 timer slack 50 µs, interrupts 1 local_timer, \
          callback 2 sleeper (hrtimer_wakeup), interrupts 1 local_timer, \
          cpu_contention 2 thread 20";

    stacked_timers_with_every_owner: "
        task 7 cyclic marks
        task 21 storm-1
        task 22 storm-2
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
        timer 3 hrtimer_wakeup owner 22
        timer 4 tick_nohz_handler
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1002 0 20 expire+ 2 soft 990 slack 0
        1007 0 20 expire- 2
        1009 0 20 expire+ 4 soft 991 slack 0
        1010 0 20 expire- 4
        1011 0 20 expire+ 1 soft 1000 slack 0
        1012 0 20 waking 7 on 0 prio 19
        1013 0 20 expire- 1
        1014 0 20 expire+ 3 soft 1001 slack 0
        1016 0 20 expire- 3
        1018 0 20 irq- local_timer
        1021 0 20 switch R 7 19
        1023 0 7 mark 1000
    " => "cyclic timer 1000+23 to user: interrupts 2 local_timer, \
          stacked_timers 5 storm-1 (hrtimer_wakeup), stacked_timers 3 tick_nohz_handler, \
          callback 3 cyclic (hrtimer_wakeup), stacked_timers 3 storm-2 (hrtimer_wakeup), \
          interrupts 2 local_timer, not_preemptible 3 thread 20, own_kernel_work 2 cyclic";

    a_timer_without_sleeper_belongs_to_who_armed_it: "
        task 7 cyclic watched
        task 21 daemon
        timer 1 hrtimer_wakeup owner 7
        timer 2 timerfd_tmrproc
           1 0 21 arm 2 soft 990 slack 0
           2 0 21 switch S 0 120
        1000 0 0 irq+ local_timer
        1000 0 0 expire+ 2 soft 990 slack 0
        1003 0 0 expire- 2
        1003 0 0 arm 2 soft 1990 slack 0   # rearmed by its callback, still the daemon's
        1003 0 0 expire+ 1 soft 1000 slack 0
        1003 0 0 waking 7 on 0 prio 19
        1003 0 0 expire- 1
        1003 0 0 irq- local_timer
        1003 0 0 switch R 7 19
    " => "cyclic timer 1000+3: stacked_timers 3 daemon (timerfd_tmrproc)";

    interrupts_kept_off: "
        task 7 cyclic watched
        task 20 driver
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 120
         990 0 20 irq+ 26                 # a device's handler runs across the expiry
        1040 0 20 irq- 26
        1060 0 20 irq+ local_timer
        1061 0 20 expire+ 1 soft 1000 slack 0
        1062 0 20 waking 7 on 0 prio 19
        1063 0 20 expire- 1
        1064 0 20 irq- local_timer
        1065 0 20 switch R 7 19
    " => "cyclic timer 1000+65: irq_delay 40  (irq 26), irq_delay 20 driver, \
          interrupts 1 local_timer, callback 2 cyclic (hrtimer_wakeup), \
          interrupts 1 local_timer, not_preemptible 1 driver";

    deferred_to_a_softirq_thread: "
        task 7 sleeper watched
        task 15 ktimers/0 kernel
        task 20 busy
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 20 50
        1000 0 20 irq+ local_timer
        1001 0 20 raise 8
        1002 0 20 irq- local_timer
        1102 0 20 switch R 15 98
        1103 0 15 softirq+ 8
        1104 0 15 expire+ 2 soft 900 slack 0
        1110 0 15 expire- 2
        1111 0 15 expire+ 1 soft 1000 slack 0
        1112 0 15 waking 7 on 0 prio 120
        1113 0 15 expire- 1
        1114 0 15 softirq- 8
        1116 0 15 switch S 7 120 98
    " => "sleeper timer 1000+116: interrupts 1 local_timer, softirq_wait 1 local_timer, \
          softirq_wait 100 busy, softirq_wait 1 ktimers/0, \
          softirq_work 1 ktimers/0 (HRTIMER), softirq_work 6 thread 21 (hrtimer_wakeup), \
          callback 3 sleeper (hrtimer_wakeup), higher_priority 1 ktimers/0 (HRTIMER), \
          higher_priority 2 ktimers/0";

    a_softirq_thread_that_is_preempted: "
        task 7 sleeper watched
        task 15 ktimers/0 kernel
        task 20 busy
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 15 98
        1000 0 15 raise 8
        1001 0 15 softirq+ 8
        1003 0 15 switch R 20 50 98
        1053 0 20 switch S 15 98 50
        1055 0 15 expire+ 1 soft 1000 slack 0
        1056 0 15 waking 7 on 0 prio 120
        1057 0 15 expire- 1
        1058 0 15 softirq- 8
        1059 0 15 switch S 7 120 98
    " => "sleeper timer 1000+59: softirq_wait 1 ktimers/0, \
          softirq_work 2 ktimers/0 (HRTIMER), softirq_wait 50 busy, softirq_work 2 ktimers/0 (HRTIMER), \
          callback 2 sleeper (hrtimer_wakeup), higher_priority 1 ktimers/0 (HRTIMER), \
          higher_priority 1 ktimers/0";

    a_thread_for_timers_that_waits_and_has_others_first: "
        task 7 cyclic watched
        task 15 timer_level2/0 kernel
        task 20 busy
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 20 39
        1000 0 20 irq+ local_timer
        1001 0 20 pending 2 in 15 prio 39
        1002 0 20 irq- local_timer
        1102 0 20 switch R 15 39 39
        1104 0 15 expire+ 2 soft 900 slack 0
        1110 0 15 expire- 2
        1111 0 15 expire+ 1 soft 1000 slack 0
        1112 0 15 waking 7 on 0 prio 49
        1113 0 15 expire- 1
        1116 0 15 switch S 7 49 39
    " => "cyclic timer 1000+116: interrupts 1 local_timer, timer_thread_wait 1 local_timer, \
          timer_thread_wait 100 busy, timer_thread_work 2 timer_level2/0, \
          timer_thread_work 6 thread 21 (hrtimer_wakeup), timer_thread_work 1 timer_level2/0, \
          callback 2 cyclic (hrtimer_wakeup), higher_priority 3 timer_level2/0";

    // Nothing tells the waking, nor ends of callbacks; a thread for timers is known by its name.
    a_thread_for_timers_that_is_preempted: "
        task 7 cyclic watched
        task 15 timer_level1/0 kernel
        task 16 timer_level3/0 kernel
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1002 0 20 irq- local_timer
        1003 0 20 switch R 15 69
        1005 0 15 irq+ local_timer
        1006 0 15 irq- local_timer
        1007 0 15 switch R 16 9 69
        1010 0 16 expire+ 2 soft 1005 slack 0
        1012 0 16 expire- 2
        1013 0 16 switch S 15 69 9
        1014 0 15 expire+ 1 soft 1000 slack 0
        1015 0 15 waking 7 on 0 prio 120
        1016 0 15 expire- 1
        1018 0 15 switch S 7 120 69
    " => "cyclic timer 1000+18: timer_thread_wait 2 local_timer, timer_thread_wait 1 thread 20, \
          timer_thread_work 2 timer_level1/0, timer_thread_wait 1 local_timer, \
          timer_thread_work 1 timer_level1/0, timer_thread_wait 6 timer_level3/0, \
          timer_thread_work 1 timer_level1/0, callback 2 cyclic (hrtimer_wakeup), \
          higher_priority 2 timer_level1/0";

    // It lowers itself when it is done, so that the victim takes the CPU: until then it was as high as it.
    a_thread_for_timers_that_is_raised_while_it_runs: "
        task 7 cyclic watched
        task 15 timer_order/0 kernel
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 15 98
         900 0 15 expire+ 2 soft 800 slack 0
        1000 0 15 irq+ local_timer
        1001 0 15 pending 1 in 15 prio 29
        1002 0 15 irq- local_timer
        1005 0 15 expire- 2
        1006 0 15 expire+ 1 soft 1000 slack 0
        1007 0 15 waking 7 on 0 prio 39
        1008 0 15 expire- 1
        1010 0 15 switch R 7 39 98
    " => "cyclic timer 1000+10: interrupts 2 local_timer, \
          timer_thread_work 3 thread 21 (hrtimer_wakeup), timer_thread_work 1 timer_order/0, \
          callback 2 cyclic (hrtimer_wakeup), higher_priority 2 timer_order/0";

    // The end of the last interrupt was not recorded; the thread was woken for this timer all the same.
    a_thread_for_timers_after_an_interrupt_that_nothing_ends: "
        task 7 cyclic watched
        task 15 timer_level2/0 kernel
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1001 0 20 pending 1 in 15 prio 39
        1002 0 20 irq- local_timer
        1102 0 20 switch R 15 39 120
        1104 0 15 irq+ local_timer
        1106 0 15 expire+ 1 soft 1000 slack 0
        1108 0 15 waking 7 on 0 prio 39
        1109 0 15 expire- 1
        1112 0 15 switch S 7 39 39
    " => "cyclic timer 1000+112: interrupts 1 local_timer, timer_thread_wait 1 local_timer, \
          timer_thread_wait 100 thread 20, timer_thread_work 2 timer_level2/0, interrupts 2 local_timer, \
          callback 3 cyclic (hrtimer_wakeup), cpu_contention 3 timer_level2/0";

    // An interrupt in such a thread runs its timers itself.
    an_interrupt_in_a_thread_for_timers: "
        task 7 cyclic watched
        task 15 timer_level1/0 kernel
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 15 69
         990 0 15 expire+ 2 soft 900 slack 0
        1000 0 15 irq+ local_timer
        1001 0 15 expire+ 1 soft 1000 slack 0
        1002 0 15 waking 7 on 0 prio 19
        1003 0 15 expire- 1
        1004 0 15 irq- local_timer
        1006 0 15 switch R 7 19 69
    " => "cyclic timer 1000+6: interrupts 1 local_timer, callback 2 cyclic (hrtimer_wakeup), \
          interrupts 1 local_timer, not_preemptible 2 timer_level1/0";

    a_jiffy_timer: "
        task 7 kworker watched
        timer 1 process_timeout list
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1001 0 20 raise 1
        1003 0 20 irq- local_timer
        1003 0 20 softirq+ 1
        1005 0 20 expire+ 1 soft 1000 slack 0
        1006 0 20 waking 7 on 0 prio 120
        1007 0 20 expire- 1
        1008 0 20 softirq- 1
        1010 0 20 switch R 7 120
    " => "kworker timer 1000+10: interrupts 1 local_timer, softirq_wait 2 local_timer, \
          softirq_work 2 TIMER, callback 2 process_timeout, interrupts 1 TIMER, \
          cpu_contention 2 thread 20";

    a_spinner_above: "
        task 7 cyclic marks
        task 20 spinner
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 9
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1001 0 20 waking 7 on 0 prio 19
        1001 0 20 expire- 1
        1001 0 20 irq- local_timer
        1100 0 20 irq+ 26
        1120 0 20 irq- 26
        1301 0 20 switch S 7 19 9
        1302 0 7 mark 1000
    " => "cyclic timer 1000+302 to user: callback 1 cyclic (hrtimer_wakeup), \
          higher_priority 99 spinner, interrupts 20  (irq 26), higher_priority 181 spinner, \
          own_kernel_work 1 cyclic";

    a_task_boosted_above_while_it_runs: "
        task 7 cyclic watched
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1000 0 20 waking 7 on 0 prio 19
        1000 0 20 expire- 1
        1000 0 20 irq- local_timer
        1010 1 30 boost 20 120 9
        1030 0 20 switch S 7 19 9
    " => "cyclic timer 1000+30: not_preemptible 10 thread 20, higher_priority 20 thread 20";

    // Nothing runs, although the thread could, and no timer of a bandwidth tells why.
    nothing_is_chosen_although_a_thread_waits: "
        task 7 worker watched
        task 20 sibling
              1 0 7 switch S 20 120
           1000 0 20 waking 7 on 0 prio 120
           2000 0 20 switch R 0 120
           2500 0 0 sleep 1
       50000000 0 0 irq+ local_timer
       50000010 0 0 irq- local_timer
       50000020 0 0 awake
       50001000 0 0 switch R 7 120
    " => "worker task 1000+50000000: cpu_contention 1000 sibling, forced_idle 49998000, \
          interrupts 10 local_timer, idle_exit 990 state 1";

    // The waker's CPU is another, and nothing says that this one had heard of it before it switched.
    a_switch_before_the_cpu_knew: "
        task 7 cyclic watched
           1 1 0 switch R 20 120
           2 0 30 switch R 30 120
        1000 0 30 waking 7 on 1 prio 19
        1100 1 20 switch S 21 120
     2001000 1 21 irq+ reschedule
     2001100 1 21 irq- reschedule
     2001200 1 21 switch R 7 19
    " => "cyclic task 1000+2000200: not_preemptible 100 thread 20, not_preemptible 1999900 thread 21, \
          interrupts 100 reschedule, not_preemptible 100 thread 21";

    // Two of the same priority share the CPU, and in one gap only a bandwidth was used up.
    throttled_between_turns_of_others: "
        task 7 cyclic watched
        task 30 peer
              1 0 7 switch S 30 19
        1000000 0 30 waking 7 on 0 prio 19
        2000000 0 30 switch R 21 120 19
        9000000 0 21 switch R 30 19
       10000000 0 30 switch S 7 19 19
    " => "cyclic task 1000000+9000000: cpu_contention 1000000 peer, \
          throttled 7000000 real-time bandwidth, cpu_contention 1000000 peer";

    woken_for_another_cpu: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 1 20 switch S 0 120
           2 1 0 sleep 2
           3 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1001 0 20 waking 7 on 0 prio 120
        1003 0 20 migrate 7 0 1
        1004 0 20 expire- 1
        1005 0 20 irq- local_timer
        1020 1 0 irq+ reschedule
        1021 1 0 irq- reschedule
        1022 1 0 awake
        1025 1 0 switch R 7 120
        1027 1 7 mark 1000
    " => "cyclic timer 1000+27 to user: callback 3 cyclic (hrtimer_wakeup), \
          idle_exit 17 state 2, interrupts 1 reschedule, idle_exit 4 state 2, \
          own_kernel_work 2 cyclic";

    moved_while_it_waited: "
        task 7 worker watched
           1 0 20 switch S 21 120
           2 1 30 switch S 31 120
        1000 0 21 waking 7 on 0 prio 120
        1050 1 31 migrate 7 0 1
        1070 1 31 switch R 7 120
    " => "worker task 1000+70: cpu_contention 50 thread 21, cpu_contention 20 thread 31";

    preempted_before_it_is_back: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 0 120
        1000 0 0 irq+ local_timer
        1000 0 0 expire+ 1 soft 1000 slack 0
        1000 0 0 waking 7 on 0 prio 19
        1000 0 0 expire- 1
        1000 0 0 irq- local_timer
        1000 0 0 switch R 7 19
        1003 0 7 switch R 20 9
        1053 0 20 switch S 7 19 9
        1055 0 7 mark 1000
    " => "cyclic timer 1000+55 to user: own_kernel_work 3 cyclic, higher_priority 50 thread 20, \
          own_kernel_work 2 cyclic";

    blocked_again_before_it_is_back: "
        task 7 cyclic marks
        task 20 holder
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 0 120
           2 1 0 switch R 20 120
        1000 0 0 irq+ local_timer
        1000 0 0 expire+ 1 soft 1000 slack 0
        1000 0 0 waking 7 on 0 prio 19
        1000 0 0 expire- 1
        1000 0 0 irq- local_timer
        1000 0 0 switch R 7 19
        1010 0 7 switch D 0 120
        1040 1 20 waking 7 on 0 prio 19
        1045 0 0 switch R 7 19
        1050 0 7 mark 1000
    " => "cyclic timer 1000+50 to user: own_kernel_work 10 cyclic, lock 30 holder, \
          idle_exit 5 idle loop, own_kernel_work 5 cyclic";

    woken_before_it_slept: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 20 switch S 7 19
         990 0 7 arm 1 soft 1000 slack 0
        1001 0 7 irq+ local_timer
        1002 0 7 expire+ 1 soft 1000 slack 0
        1003 0 7 waking 7 on 0 prio 19
        1004 0 7 expire- 1
        1005 0 7 irq- local_timer
        1009 0 7 mark 1000
    " => "cyclic timer 1000+9 to user: irq_delay 1 cyclic, interrupts 1 local_timer, \
          callback 2 cyclic (hrtimer_wakeup), interrupts 1 local_timer, own_kernel_work 4 cyclic";

    armed_after_the_time_it_asked_for: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 20 switch S 7 19
        1500 0 7 arm 1 soft 1000 slack 0
        1501 0 7 irq+ local_timer
        1501 0 7 expire+ 1 soft 1000 slack 0
        1501 0 7 waking 7 on 0 prio 19
        1501 0 7 expire- 1
        1501 0 7 irq- local_timer
        1503 0 7 mark 1000
    " => "cyclic timer 1000+503 to user: armed_late 500 cyclic, irq_delay 1 cyclic, \
          own_kernel_work 2 cyclic";

    a_sleep_that_asks_for_a_time_that_has_passed: trace::HELD_UP => "loop preempted 1200+500: cpu_contention 500 hog\n\
          loop timer 1000+801: armed_late 200 loop, cpu_contention 500 hog, armed_late 100 loop, irq_delay 1 loop";

    callbacks_before_its_timer_is_armed_are_interrupts: "
        task 7 loop watched
        task 8 hog
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
         500 0 0 switch S 7 120
        1200 0 7 switch R 8 120
        1300 0 8 irq+ local_timer
        1301 0 8 expire+ 2 soft 1290 slack 0
        1350 0 8 expire- 2
        1351 0 8 irq- local_timer
        1700 0 8 switch R 7 120
        1800 0 7 arm 1 soft 1000 slack 0
        1801 0 7 irq+ local_timer
        1801 0 7 expire+ 2 soft 1790 slack 0
        1811 0 7 expire- 2
        1811 0 7 expire+ 1 soft 1000 slack 0
        1812 0 7 waking 7 on 0 prio 120
        1812 0 7 woken 7 on 0 prio 120
        1813 0 7 expire- 1
        1813 0 7 irq- local_timer
    " => "loop preempted 1200+500: cpu_contention 100 hog, interrupts 1 local_timer, \
          interrupts 49 thread 21 (hrtimer_wakeup), interrupts 1 local_timer, cpu_contention 349 hog\n\
          loop timer 1000+812: armed_late 200 loop, cpu_contention 100 hog, interrupts 1 local_timer, \
          interrupts 49 thread 21 (hrtimer_wakeup), interrupts 1 local_timer, cpu_contention 349 hog, \
          armed_late 100 loop, irq_delay 1 loop, stacked_timers 10 thread 21 (hrtimer_wakeup), \
          callback 1 loop (hrtimer_wakeup)";

    the_thread_itself_preempts_the_softirq_of_its_next_timer: "
        task 7 sleeper watched
        task 15 ktimers/0 kernel
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 15 98
         900 0 15 raise 8
         901 0 15 softirq+ 8
         903 0 15 expire+ 1 soft 890 slack 0
         904 0 15 waking 7 on 0 prio 20
         905 0 15 switch R 7 20 98
         950 0 7 arm 1 soft 1000 slack 0
        1050 0 7 switch S 15 98 20
        1051 0 15 expire- 1
        1052 0 15 expire+ 1 soft 1000 slack 0
        1053 0 15 waking 7 on 0 prio 20
        1054 0 15 expire- 1
        1055 0 15 switch R 7 20 98
    " => "sleeper timer 890+15: irq_delay 10 ktimers/0, softirq_wait 1 ktimers/0, \
          softirq_work 2 ktimers/0 (HRTIMER), callback 2 sleeper (hrtimer_wakeup)\n\
          sleeper timer 1000+55: softirq_wait 50 sleeper, softirq_work 1 sleeper (hrtimer_wakeup), \
          callback 3 sleeper (hrtimer_wakeup), not_preemptible 1 ktimers/0 (HRTIMER)";

    a_sleep_that_another_cpu_ends_before_it_begins: "
        task 7 loop watched
        timer 1 hrtimer_wakeup owner 7
         500 0 0 switch S 7 120
         900 0 7 arm 1 soft 1000 slack 0
        1001 1 0 irq+ local_timer
        1001 1 0 expire+ 1 soft 1000 slack 0
        1001 1 0 waking 7 on 0 prio 120
        1002 1 0 expire- 1
        1002 1 0 irq- local_timer
    " => "";

    a_timer_cancelled_and_armed_again: "
        task 7 sleeper watched
        timer 1 hrtimer_wakeup owner 7
         900 0 7 arm 1 soft 1000 slack 0
         950 0 7 cancel 1
         960 0 7 arm 1 soft 2000 slack 0
         970 0 7 switch S 0 120
         971 0 0 sleep 1
        2002 0 0 irq+ local_timer
        2002 0 0 expire+ 1 soft 2000 slack 0
        2002 0 0 waking 7 on 0 prio 120
        2002 0 0 expire- 1
        2002 0 0 irq- local_timer
        2004 0 0 switch R 7 120
    " => "sleeper timer 2000+4: idle_exit 4 state 1";

    other_wake_sources: "
        task 7 worker watched
           1 0 7 switch S 20 120
         100 0 20 irq+ 26
         101 0 20 waking 7 on 0 prio 120
         102 0 20 irq- 26
         104 0 20 switch R 7 120
         110 0 7 switch S 20 120
         200 0 20 softirq+ 3
         201 0 20 waking 7 on 0 prio 120
         203 0 20 softirq- 3
         204 0 20 switch R 7 120
         210 0 7 switch S 20 120
         300 0 20 waking 7 on 0 prio 120
         307 0 20 switch S 7 120
    " => "worker irq 101+3: interrupts 1  (irq 26), cpu_contention 2 thread 20\n\
          worker softirq 201+3: interrupts 2 NET_RX, cpu_contention 1 thread 20\n\
          worker task 300+7: cpu_contention 7 thread 20";

    a_new_task_waits_for_its_first_run: "
           1 0 30 switch S 20 120
        task 7 child watched
         100 0 20 new 7 on 0 prio 120
         130 0 20 switch S 7 120
    " => "child new 100+30: cpu_contention 30 thread 20";

    what_the_recorder_launches_has_not_been_late: "
           1 0 30 switch S 21 120
        task 7 command watched
        task 20 tardy-record own 21
        task 21 tardy 21
         100 0 21 new 7 on 0 prio 120
         130 0 21 switch S 7 120
         150 0 7 switch S 30 120
         200 0 30 waking 7 on 0 prio 120
         203 0 30 switch S 7 120
    " => "command task 200+3: cpu_contention 3 thread 30";

    woken_while_it_runs_is_no_wait: "
        task 7 worker watched
           1 0 20 switch S 7 120
         100 1 30 waking 7 on 0 prio 120
         200 0 7 switch S 20 120
         300 0 20 waking 7 on 0 prio 120
         310 0 20 switch S 7 120
    " => "worker task 300+10: cpu_contention 10 thread 20";
}
