//! Small streams with the programmings of the clock-event device that must be told. Task 7 moves
//! timeouts, 8 waits for them, 0 is idle; times are in a unit of 1 µs, the tick is timer 9.
#![allow(missing_docs)]

#[path = "trace/text.rs"]
mod text;

use std::fmt::Write as _;
use tardy_explain::device::{ARMED_MAX, Devices};
use tardy_model::TaskId;

/// `TIME WHY FUNCTION[ by TASK][ on CPU]` for each programming.
fn told(trace: &str) -> String {
    let batch = text::parse(trace);
    let name = |id| batch.names.iter().find(|(name, _)| *name == id).map_or("", |(_, name)| name);
    let mut lines = vec![];
    Devices::default().batch(&batch, |programming| {
        let why = format!("{:?}", programming.why).to_lowercase();
        let mut line =
            format!("{} {why} {}", programming.time_ns, name(programming.timer.function));
        if programming.by != TaskId::IDLE {
            let _ = write!(line, " by {}", programming.by);
        }
        if programming.cpu.0 != 0 {
            let _ = write!(line, " on {}", programming.cpu);
        }
        lines.push(line);
    });
    lines.join(", ")
}

/// Each test is a stream and what is told of it. Each begins with a tick, which ends at 10.
macro_rules! streams {
    ($($name:ident: $trace:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            let tick = "
                timer 9 tick_nohz_handler
                 1 0 7 irq+ local_timer
                 2 0 7 expire+ 9 soft 0 slack 0
                 3 0 7 expire- 9
                 4 0 7 arm 9 soft 4000 slack 0
                10 0 7 irq- local_timer
            ";
            let all = told(&format!("{tick}{}", $trace));
            let expected = format!("10 interrupt tick_nohz_handler, {}", $expected);
            assert_eq!(all, expected.trim_end_matches([',', ' ']));
        }
    )*};
}

streams! {
    the_tick_of_the_scheduler_is_moved_lazily: "
        timer 1 hrtick
        20 0 7 arm 1 soft 320 slack 0       # first of all: programmed for it
        40 0 7 arm 1 soft 340 slack 0       # the device stays as it is
        60 0 7 arm 1 soft 310 slack 0
        80 0 7 cancel 1
    " => "20 armed hrtick, 60 moved hrtick";

    timerfd_programs_twice_a_move: "
        timer 1 timerfd_tmrproc
        20 0 7 arm 1 soft 320 slack 0       # first of all: programmed for it
        40 0 7 cancel 1                     # back to the tick
        40 0 7 arm 1 soft 340 slack 0
        60 0 7 cancel 1
        60 0 7 arm 1 soft 360 slack 0
    " => "20 armed timerfd_tmrproc by 7, \
          40 cancelled timerfd_tmrproc by 7, 40 armed timerfd_tmrproc by 7, \
          60 cancelled timerfd_tmrproc by 7, 60 armed timerfd_tmrproc by 7";

    a_driver_that_moves_by_hrtimer_start_programs_once: "
        timer 1 ncm_tx_timeout
        20 0 7 arm 1 soft 320 slack 0
        40 0 7 cancel 1                     # both halves of one hrtimer_start
        40 0 7 arm 1 soft 340 slack 0
        60 0 7 cancel 1
        60 0 7 arm 1 soft 360 slack 0
    " => "20 armed ncm_tx_timeout by 7, 40 moved ncm_tx_timeout by 7, 60 moved ncm_tx_timeout by 7";

    a_move_may_be_told_as_an_arm_alone: "
        timer 1 ncm_tx_timeout
        20 0 7 arm 1 soft 320 slack 0
        40 0 7 arm 1 soft 340 slack 0
        60 0 7 arm 1 soft 5000 slack 0      # behind the tick, for which it is programmed
        80 0 7 arm 1 soft 5020 slack 0
    " => "20 armed ncm_tx_timeout by 7, 40 moved ncm_tx_timeout by 7, 60 moved ncm_tx_timeout by 7";

    behind_the_tick_nothing_is_programmed: "
        timer 1 timerfd_tmrproc
        3690 0 7 arm 1 soft 3990 slack 0
        3710 0 7 cancel 1                   # the last time that it was first
        3710 0 7 arm 1 soft 4010 slack 0
        3730 0 7 cancel 1
        3730 0 7 arm 1 soft 4030 slack 0
        4001 0 7 irq+ local_timer
        4002 0 7 expire+ 9 soft 4000 slack 0
        4003 0 7 expire- 9
        4004 0 7 arm 9 soft 8000 slack 0
        4005 0 7 irq- local_timer           # programs for the timeout
        4010 0 7 cancel 1                   # which is cancelled at once
    " => "3690 armed timerfd_tmrproc by 7, 3710 cancelled timerfd_tmrproc by 7, \
          4005 interrupt tick_nohz_handler, 4010 cancelled timerfd_tmrproc by 7";

    a_move_past_the_tick_programs_for_the_tick: "
        timer 1 ncm_tx_timeout
        3690 0 7 arm 1 soft 3990 slack 0
        3710 0 7 cancel 1
        3710 0 7 arm 1 soft 4010 slack 0
        3730 0 7 cancel 1                   # not the first any more
        3730 0 7 arm 1 soft 4030 slack 0
    " => "3690 armed ncm_tx_timeout by 7, 3710 moved ncm_tx_timeout by 7";

    a_lazy_timer_programs_when_its_old_time_comes: "
        timer 1 hrtimer_wakeup owner 8
         20 0 8 arm 1 soft 320 slack 0
        321 0 7 irq+ local_timer
        322 0 7 expire+ 1 soft 320 slack 0
        323 0 7 expire- 1
        324 0 7 irq- local_timer
        330 0 8 arm 1 soft 600 slack 0
    " => "20 armed hrtimer_wakeup by 8, 324 interrupt hrtimer_wakeup by 8, \
          330 armed hrtimer_wakeup by 8";

    the_hard_expiry_counts: "
        timer 1 hrtimer_wakeup owner 8
        20 0 8 arm 1 soft 3990 slack 50     # soft before the tick, hard after it
    " => "";

    of_two_timers_of_the_same_time_the_second_and_the_cancel_of_one_cost_nothing: "
        timer 1 timerfd_tmrproc
        timer 2 timerfd_tmrproc
        20 0 7 arm 1 soft 320 slack 0
        21 0 7 arm 2 soft 320 slack 0
        22 0 7 cancel 1
        23 0 7 cancel 2
    " => "20 armed timerfd_tmrproc by 7, 23 cancelled timerfd_tmrproc by 7";

    a_timer_of_another_cpu_is_taken_away_and_its_device_left_alone: "
        timer 1 timerfd_tmrproc
         20 0 7 arm 1 soft 320 slack 0
         40 1 7 cancel 1
         40 1 7 arm 1 soft 340 slack 0      # CPU 1 is not known yet
        321 0 0 irq+ local_timer            # comes for nothing
        322 0 0 irq- local_timer
        341 1 7 irq+ local_timer
        342 1 7 expire+ 1 soft 340 slack 0
        343 1 7 expire- 1
        344 1 7 irq- local_timer
    " => "20 armed timerfd_tmrproc by 7, 322 interrupt , \
          344 interrupt timerfd_tmrproc by 7 on 1";

    the_tick_of_an_idle_cpu_is_moved_away_in_one_call_and_brought_back_in_two: "
        20 0 0 cancel 9
        20 0 0 arm 9 soft 90000 slack 0
        30 0 0 cancel 9
        30 0 0 arm 9 soft 4000 slack 0
    " => "20 moved tick_nohz_handler, 30 cancelled tick_nohz_handler, 30 armed tick_nohz_handler";

    timers_of_the_softirq_wait_for_it: "
        timer 1 napi_watchdog
        timer 2 napi_watchdog
         20 0 7 arm 1 soft 320 slack 0 softirq
        321 0 7 irq+ local_timer
        322 0 7 raise 8
        323 0 7 irq- local_timer            # for the tick: the softirq is to see to the other
        325 0 7 arm 2 soft 340 slack 0 softirq
        330 0 7 softirq+ 8
        331 0 7 expire+ 1 soft 320 slack 0 softirq
        332 0 7 expire- 1
        333 0 7 softirq- 8
    " => "20 armed napi_watchdog by 7, 323 interrupt , 333 softirq napi_watchdog by 7";

    an_interrupt_without_a_name_is_the_timers_when_a_timer_expires_in_it: "
        timer 1 hrtimer_wakeup owner 8
         20 0 8 arm 1 soft 320 slack 0
        321 0 7 irq+ 11
        322 0 7 expire+ 1 soft 320 slack 0
        323 0 7 expire- 1
        324 0 7 irq- 11
        400 0 7 irq+ 12                     # a device that arms nothing
        401 0 7 irq- 12
    " => "20 armed hrtimer_wakeup by 8, 324 interrupt hrtimer_wakeup by 8";

    an_expiry_that_was_not_told_does_not_stay_the_first: "
        timer 1 hrtimer_wakeup owner 8
        timer 2 timerfd_tmrproc
         20 0 8 arm 1 soft 320 slack 0
        500 0 7 irq+ local_timer            # it expired meanwhile, in silence
        510 0 7 irq- local_timer
        520 0 7 arm 2 soft 820 slack 0
    " => "20 armed hrtimer_wakeup by 8, 510 interrupt , 520 armed timerfd_tmrproc by 7";

    the_timer_wheel_has_no_part_in_it: "
        timer 1 delayed_work_timer_fn list
        20 0 7 arm 1 soft 320 slack 0
        30 0 7 cancel 1
    " => "";

    after_a_loss_nothing_is_counted_until_the_next_timer_interrupt: "
        timer 1 timerfd_tmrproc
          20 0 7 arm 1 soft 320 slack 0
          40 0 7 lost 3 since 30
          50 0 7 cancel 1
          50 0 7 arm 1 soft 350 slack 0
          60 0 7 irq+ local_timer
          70 0 7 irq- local_timer           # sets it for the timeout; the tick is forgotten
          80 0 7 cancel 1
    " => "20 armed timerfd_tmrproc by 7, 70 interrupt , 80 cancelled timerfd_tmrproc by 7";
}

#[test]
fn before_the_first_timer_interrupt_nothing_is_told() {
    let trace = "
        timer 1 timerfd_tmrproc
        20 0 7 arm 1 soft 320 slack 0
        40 0 7 cancel 1
        40 0 7 arm 1 soft 340 slack 0
    ";
    assert_eq!(told(trace), "");
}

#[test]
fn what_cannot_be_is_counted_as_unseen() {
    let trace = "
        timer 1 timerfd_tmrproc
        timer 2 timerfd_tmrproc
         1 0 7 irq+ local_timer
         2 0 7 irq- local_timer
        20 0 7 arm 1 soft 40 slack 0
        50 0 7 irq+ local_timer             # in which that must expire, and does not
        51 0 7 expire+ 2 soft 45 slack 0    # nor was this one armed
        52 0 7 irq- local_timer
    ";
    let mut devices = Devices::default();
    devices.batch(&text::parse(trace), |_| {});
    assert_eq!((devices.unseen(), devices.losses(), devices.left_out()), (2, 0, 0));
}

#[test]
fn more_timers_than_are_followed_are_left_out_and_counted() {
    let mut trace = String::new();
    for id in 1..=ARMED_MAX + 3 {
        let _ = writeln!(trace, "timer {id} hrtimer_wakeup");
        let _ = writeln!(trace, "{id} 0 7 arm {id} soft 900000 slack 0");
    }
    let mut devices = Devices::default();
    devices.batch(&text::parse(&trace), |_| {});
    assert_eq!(devices.left_out(), 3);
}
