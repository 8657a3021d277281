//! Small streams, and what the follower of timers tells of each event of a timer: what became of the arming
//! before, and whose the timer is. Tasks 7 and 8 are threads, 9 a kernel thread, 0 idle.
#![allow(missing_docs)]

#[path = "../../explain/tests/trace/text.rs"]
mod text;

use std::fmt::Write as _;
use tardy_followers::{Ended, Followers, Life};
use tardy_model::event::Call;
use tardy_model::{Kind, Tables, TaskId, TimerId};

struct Stream {
    followers: Followers,
    tables: Tables,
}

impl Stream {
    fn new() -> Self {
        Self { followers: Followers::new(0), tables: Tables::default() }
    }

    /// `TIME WHAT[ of OWNER]` for each arming and expiry; WHAT became of the arming before.
    fn told(&mut self, trace: &str) -> String {
        let Self { followers, tables } = self;
        let batch = text::parse(trace);
        batch.define(tables);
        followers.timers.define(&batch.timers);
        let mut lines = Vec::new();
        for event in &batch.events {
            let kind = event.kind();
            let followed = followers.event(event, &kind, tables);
            let word = match (kind, followed.ended) {
                (Kind::TimerArm(_), Ended::Nothing) => "armed".to_owned(),
                (Kind::TimerArm(_) | Kind::ExpireBegin(_), ended) => format!("{ended:?}"),
                _ => continue,
            };
            let mut line = format!("{} {}", event.time_ns, word.to_lowercase());
            if followed.owner != TaskId::IDLE {
                let _ = write!(line, " of {}", followed.owner);
            }
            lines.push(line);
        }
        lines.join(", ")
    }
}

macro_rules! streams {
    ($($name:ident: $trace:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(Stream::new().told($trace), $expected);
        }
    )*};
}

streams! {
    an_arming_ends_once: "
        timer 1 timerfd_tmrproc
         10 0 7 arm 1 soft 100 slack 0
         20 0 7 arm 1 soft 200 slack 0             # some kernels tell of a move by an arm alone
        200 0 0 irq+ local_timer
        201 0 0 expire+ 1 soft 200 slack 0
        202 0 0 expire- 1
        203 0 0 irq- local_timer
        300 0 7 arm 1 soft 400 slack 0
        310 0 7 cancel 1
        320 0 7 raise 1
        330 0 7 arm 1 soft 400 slack 0
    " => "10 armed of 7, 20 moved of 7, 201 expired of 7, 300 armed of 7, 330 armed of 7";

    a_cancel_and_an_arm_in_one_go_are_a_move: "
        timer 1 timerfd_tmrproc
           10 0 7 arm 1 soft 90000 slack 0
           20 0 7 cancel 1
        10020 0 7 arm 1 soft 90001 slack 0
        10030 0 7 cancel 1
        20031 0 7 arm 1 soft 90002 slack 0         # too late
        20040 0 7 cancel 1
        20041 0 8 arm 1 soft 90003 slack 0         # not the same task
        20050 0 8 cancel 1
        20051 1 8 arm 1 soft 90004 slack 0         # not the same CPU
        20060 1 8 cancel 1
        20061 1 8 raise 1
        20062 1 8 arm 1 soft 90005 slack 0         # not the next event
    " => "10 armed of 7, 10020 movednotcancelled of 7, 20031 armed of 7, 20041 armed of 8, \
          20051 armed of 8, 20062 armed of 8";

    what_others_tell_between_is_no_event_of_the_cpu: "
        timer 1 timerfd_tmrproc
        10 0 7 arm 1 soft 90 slack 0
        20 0 7 cancel 1
        task 9 kworker
        21 0 7 arm 1 soft 91 slack 0
    " => "10 armed of 7, 21 movednotcancelled of 7";

    a_cancel_before_an_expiry_belongs_to_it: "
        timer 1 delayed_work_timer_fn list
         10 0 7 arm 1 soft 100 slack 0 softirq
        110 0 7 softirq+ 1
        111 0 7 cancel 1
        112 0 7 irq+ 11
        113 0 7 irq- 11
        114 0 7 expire+ 1 soft 100 slack 0 softirq
    " => "10 armed of 7, 114 expirednotcancelled of 7";

    a_sleep_is_its_threads_and_never_moved: "
        timer 1 hrtimer_wakeup owner 7
        10 0 7 arm 1 soft 100 slack 50
        20 0 7 arm 1 soft 200 slack 50
        30 0 7 cancel 1
        31 0 7 arm 1 soft 300 slack 50
    " => "10 armed of 7, 20 armed of 7, 31 armed of 7";

    what_an_interrupt_arms_stays_whose_it_was: "
        timer 1 perf_mux_hrtimer_handler
        timer 2 watchdog_timer_fn
         10 0 7 arm 1 soft 100 slack 0
        100 0 8 irq+ local_timer
        101 0 8 expire+ 1 soft 100 slack 0
        102 0 8 arm 1 soft 200 slack 0
        103 0 8 expire- 1
        104 0 8 arm 2 soft 200 slack 0             # nobody's so far
        105 0 8 irq- local_timer
        106 0 8 arm 2 soft 300 slack 0
    " => "10 armed of 7, 101 expired of 7, 102 armed of 7, 104 armed, 106 moved of 8";

    the_tick_is_the_kernels: "
        timer 9 tick_nohz_handler
        10 0 7 arm 9 soft 4000 slack 0
        20 0 8 arm 9 soft 8000 slack 0
    " => "10 armed, 20 moved";

    the_tick_of_the_scheduler_is_the_kernels: "
        timer 9 hrtick
        10 0 7 arm 9 soft 4000 slack 0
        20 0 8 arm 9 soft 8000 slack 0
    " => "10 armed, 20 moved";

    what_the_kernel_hands_on_is_the_same_arming: "
        timer 1 timerfd_tmrproc
        timer 2 tcp_write_timer list
        timer 3 hrtimer_wakeup owner 7
          10 0 7 arm 1 soft 900 slack 5
          11 0 7 arm 2 soft 900 slack 0 softirq
          12 0 7 arm 3 soft 900 slack 50
          20 1 9 arm 1 soft 900 slack 5            # CPU 0 goes offline
          21 1 9 cancel 2
          22 1 9 arm 2 soft 900 slack 0 softirq
          23 1 9 arm 3 soft 900 slack 50
          30 1 9 arm 1 soft 901 slack 5            # for another time: 9's own
          40 1 7 cancel 2
          50 1 9 arm 2 soft 900 slack 0 softirq    # long after
         900 1 0 irq+ local_timer
         901 1 0 expire+ 3 soft 900 slack 50
    " => "10 armed of 7, 11 armed of 7, 12 armed of 7, 20 handedon of 7, 22 handedonnotcancelled of 7, \
          23 handedon of 7, 30 moved of 9, 50 armed of 9, 901 expired of 7";

    after_a_loss_nothing_is_known_of_what_was_armed: "
        timer 1 timerfd_tmrproc
        10 0 7 arm 1 soft 900 slack 0
        20 1 8 lost 3 since 15                     # on another CPU, where it may have been cancelled
        30 0 7 arm 1 soft 950 slack 0
        40 0 7 arm 1 soft 990 slack 0
    " => "10 armed of 7, 30 armed of 7, 40 moved of 7";
}

#[test]
fn a_life_tells_how_the_timer_was_armed() {
    let mut stream = Stream::new();
    stream.told("timer 1 hrtimer_wakeup owner 7\n 10 1 7 arm 1 soft 100 slack 50 call poll");
    let timers = &stream.followers.timers;
    let life = timers.get(TimerId(1)).expect("a life");
    assert!(life.is_armed());
    assert_eq!((life.armed_ns, life.soft_ns, life.slack_ns, life.cpu.0), (10, 100, 50, 1));
    assert_eq!((life.by, life.call), (TaskId(7), Call::Poll));
    assert!(timers.get(TimerId(2)).is_none());
    for (event, armed) in [("20 1 7 cancel 1", false), ("21 1 7 arm 1 soft 9 slack 0", true)] {
        stream.told(event);
        assert_eq!(stream.followers.timers.get(TimerId(1)).map(Life::is_armed), Some(armed));
    }
}

#[test]
fn an_id_that_is_defined_anew_is_another_timer() {
    let mut stream = Stream::new();
    assert_eq!(stream.told("timer 1 it_real_fn\n 10 0 7 arm 1 soft 9 slack 0"), "10 armed of 7");
    assert_eq!(stream.told("timer 1 it_real_fn\n 20 0 0 arm 1 soft 8 slack 0"), "20 armed");
}

#[test]
fn an_expiry_that_was_not_told_is_as_it_would_have_been() {
    let mut stream = Stream::new();
    stream.told(
        "timer 1 hrtimer_wakeup owner 7
         10 0 7 arm 1 soft 100 slack 50
         20 0 7 switch S 8 120
        160 0 8 irq+ local_timer",
    );
    let Stream { followers, tables } = &mut stream;
    let event = text::parse("161 0 8 irq+ 11").events.pop().expect("an event");
    followers.expires_unseen(&event, TimerId(1), tables);
    let expiry = followers.cpus[0].expiry().expect("a callback runs");
    assert_eq!((expiry.timer, expiry.soft_ns, expiry.interrupt_ns), (TimerId(1), 100, Some(160)));
    assert_eq!(followers.timers.get(TimerId(1)).map(Life::is_armed), Some(false));
    followers.expires_unseen(&event, TimerId(1), tables);
    assert_eq!(followers.cpus[0].expiry().map(|expiry| expiry.callback), Some(1), "only once");
}
