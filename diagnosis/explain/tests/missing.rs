//! Traces in which events are missing, with the balance that must come out all the same. Tasks 7 and 8 are victims.
#![allow(missing_docs)]

#[macro_use]
mod trace;

stories! {
    events_lost_before_the_switch: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1000 0 20 expire+ 1 soft 1000 slack 0
        1002 0 20 waking 7 on 0 prio 19
        1020 0 7 lost 5 since 1003
        1025 0 7 mark 1000
    " => "cyclic timer 1000+25 to user touched: callback 3 cyclic (hrtimer_wakeup), \
          unexplained 22";

    a_loss_on_another_cpu_that_is_told_of_later: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 20 switch S 7 19
        1000 0 7 irq+ local_timer
        1000 0 7 expire+ 1 soft 1000 slack 0
        1002 0 7 waking 7 on 0 prio 19
        1002 0 7 expire- 1
        1003 0 7 irq- local_timer
        1004 0 7 mark 1000
        5000 1 30 lost 2 since 1001
    " => "cyclic timer 1000+4 to user touched: callback 2 cyclic (hrtimer_wakeup), \
          interrupts 1 local_timer, own_kernel_work 1 cyclic";

    events_missing_without_a_loss: "
        task 7 cyclic marks
        task 75 silent
        timer 1 hrtimer_wakeup owner 7
           1 0 7 arm 1 soft 1000 slack 0
           2 0 7 switch S 75 120      # while it is current this kernel tells of nothing
        1020 0 7 mark 1000
        1025 0 7 arm 1 soft 2000 slack 0
        1026 0 7 switch S 20 120
        2000 0 20 irq+ local_timer
        2000 0 20 expire+ 1 soft 2000 slack 0
        2001 0 20 waking 7 on 0 prio 19
        2001 0 20 expire- 1
        2002 0 20 irq- local_timer
        2003 0 20 switch R 7 19
        2004 0 7 mark 2000
    " => "cyclic timer 1000+20 to user touched: unexplained 20\n\
          cyclic timer 2000+4 to user: callback 1 cyclic (hrtimer_wakeup), \
          interrupts 1 local_timer, not_preemptible 1 thread 20, own_kernel_work 1 cyclic";

    a_switch_that_only_the_mark_tells_of: "
        task 7 cyclic marks
        timer 1 hrtimer_wakeup owner 7
           1 0 7 switch S 0 120
           2 0 0 sleep 1
        1001 0 0 irq+ local_timer
        1001 0 0 expire+ 1 soft 1000 slack 0
        1002 0 0 waking 7 on 0 prio 19
        1002 0 0 expire- 1
        1003 0 0 irq- local_timer
        1010 0 7 mark 1000
        1012 0 7 arm 1 soft 2000 slack 0
    " => "cyclic timer 1000+10 to user touched: idle_exit 1 state 1, \
          callback 1 cyclic (hrtimer_wakeup), interrupts 1 local_timer, unexplained 7";

    a_mark_whose_events_are_missing: "
        task 7 cyclic marks
        5000 0 7 mark 4000
    " => "cyclic mark_only 4000+1000 to user: unexplained 1000";

    armed_before_the_recording_and_without_interrupt_events: "
        task 7 sleeper watched
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 21
           1 0 7 switch S 20 120
        1005 0 20 expire+ 2 soft 990 slack 0
        1007 0 20 expire- 2
        1008 0 20 expire+ 1 soft 1000 slack 0
        1009 0 20 waking 7 on 0 prio 19
        1010 0 20 expire- 1
        1013 0 20 switch R 7 19
    " => "sleeper timer 1000+13: irq_delay 5 thread 20, \
          stacked_timers 2 thread 21 (hrtimer_wakeup), irq_delay 1 thread 20, \
          callback 2 sleeper (hrtimer_wakeup), not_preemptible 3 thread 20";

    a_switch_that_nobody_told_of_blames_nobody: "
        task 7 cyclic watched
        task 20 hidden
        task 30 spinner
        timer 1 hrtimer_wakeup owner 7
           1 0 30 switch S 7 19
           2 0 7 switch S 20 120
        # The switch from 20 to 30 is missing; the interrupt says that 30 is current.
        1005 0 30 irq+ local_timer
        1007 0 30 expire+ 1 soft 1000 slack 0
        1009 0 30 waking 7 on 0 prio 19
        1010 0 30 expire- 1
        1015 0 30 irq- local_timer
        1100 0 30 switch S 7 19
    " => "cyclic timer 1000+100 touched: unexplained 5, interrupts 2 local_timer, \
          callback 3 cyclic (hrtimer_wakeup), interrupts 5 local_timer, \
          not_preemptible 85 spinner";

    an_id_that_comes_again_has_its_new_name: "
        task 7 cyclic watched
        task 20 first
           1 0 7 switch S 20 120
         100 0 20 waking 7 on 0 prio 120
         110 0 20 switch S 7 120
         120 0 20 gone
        task 20 second
         130 0 7 switch S 20 120
         200 0 20 waking 7 on 0 prio 120
         220 0 20 switch S 7 120
    " => "cyclic task 100+10: cpu_contention 10 first\n\
          cyclic task 200+20: cpu_contention 20 second";
}
