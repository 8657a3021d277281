//! Small streams with the rows that must come of them: who armed timers, what became of them, and what
//! that cost others. Task 7 is a sleeper, 8 its neighbour, 9 a kernel thread, 0 idle.
#![allow(missing_docs)]

#[path = "trace/text.rs"]
mod text;

use std::fmt::Write as _;
use tardy_explain::timers::{Counts, FUNCTIONS_MAX, ROWS_MAX, TimerRow, TimerTable, by_program};
use tardy_explain::{Explainer, Options};
use tardy_model::event::{Comm, TaskName};
use tardy_model::{CpuId, Event, Kind, TaskId};

/// Explains a stream for the table's sake.
type Table = Explainer<TimerTable>;

fn table(trace: &str) -> Table {
    let mut table = Explainer::new(Options::default(), TimerTable::default());
    feed(&mut table, trace);
    table
}

fn feed(table: &mut Table, trace: &str) {
    table.batch(&text::parse(trace));
}

/// The source begins anew.
fn begun_anew(table: Table) -> Table {
    let mut table = table.finish().1;
    table.begin_anew();
    Explainer::new(Options::default(), table)
}

fn rows(table: &mut Table) -> Vec<TimerRow> {
    table.sink_mut().rows()
}

fn lines(table: &mut Table) -> Vec<String> {
    rows(table).iter().map(line).collect()
}

/// `NAME WHAT: N armed, N moved, …`, what is 0 left out.
fn line(row: &TimerRow) -> String {
    let mut line = match &row.thread {
        None => "others".to_owned(),
        Some(thread) if thread.task == TaskId::IDLE => format!("kernel {}", row.what()),
        Some(thread) => format!("{} {}", thread.name, row.what()),
    };
    line.push_str(&counted(&row.counts));
    line
}

fn counted(counts: &Counts) -> String {
    let mut line = ":".to_owned();
    for (number, what) in [
        (counts.armed, "armed"),
        (counts.moved, "moved"),
        (counts.cancelled, "cancelled"),
        (counts.expired, "expired"),
        (counts.followed, "followed"),
        (counts.programmed, "programmed"),
        (counts.programmings, "programmings"),
        (counts.inflicted_ns, "inflicted"),
    ] {
        if number > 0 {
            let _ = write!(line, " {number} {what}");
        }
    }
    line
}

fn told(trace: &str) -> String {
    let rows = rows(&mut table(trace));
    rows.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Each test is a stream and the rows of it.
macro_rules! streams {
    ($($name:ident: $trace:literal => $expected:literal;)*) => {$(
        #[test]
        fn $name() {
            let people = "
                task 7 sleeper watched
                task 8 neighbour 7
                task 9 kworker kernel
            ";
            assert_eq!(told(&format!("{people}{}", $trace)), $expected);
        }
    )*};
}

streams! {
    a_call_is_a_row_of_its_own: "
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 9
        10 0 7 arm 1 soft 1000 slack 50 call clock_nanosleep
        20 0 7 arm 1 soft 1000 slack 50 call futex
        30 0 7 arm 1 soft 1000 slack 50 call other
        40 0 7 arm 1 soft 1000 slack 50
        50 0 9 arm 2 soft 1000 slack 50
    " => "sleeper clock_nanosleep: 1 armed; sleeper futex: 1 armed; \
          sleeper sleep in another call: 1 armed; sleeper sleep (call not recorded): 1 armed; \
          kworker sleep in the kernel: 1 armed";

    a_function_tells_its_call: "
        timer 1 timerfd_tmrproc
        timer 2 posix_timer_fn
        timer 3 it_real_fn
        timer 4 tcp_delack_timer list
        10 0 7 arm 1 soft 1000 slack 0
        11 0 7 arm 2 soft 1000 slack 0 call other
        12 0 7 arm 3 soft 1000 slack 0
        13 0 7 arm 4 soft 1000 slack 0 softirq call poll   # the call is not for it
    " => "sleeper timerfd_settime: 1 armed; sleeper timer_settime: 1 armed; \
          sleeper setitimer: 1 armed; sleeper tcp_delack_timer: 1 armed";

    a_cancel_that_belongs_to_an_expiry_is_none: "
        timer 1 delayed_work_timer_fn list
          10 0 7 arm 1 soft 1000 slack 0 softirq
        1010 0 7 softirq+ 1
        1011 0 7 cancel 1
        1012 0 7 irq+ 11                                   # may come between
        1013 0 7 irq- 11
        1014 0 7 expire+ 1 soft 1000 slack 0 softirq
        1015 0 7 expire- 1
        1016 0 7 softirq- 1
    " => "sleeper delayed_work_timer_fn: 1 armed 1 expired";

    a_cancel_that_belongs_to_a_move_is_none: "
        timer 1 timerfd_tmrproc
        10 0 7 arm 1 soft 1000 slack 0
        20 0 7 cancel 1
        21 0 7 arm 1 soft 1100 slack 0
        30 0 7 arm 1 soft 1200 slack 0                     # some kernels tell of the arm alone
    " => "sleeper timerfd_settime: 3 armed 2 moved";

    a_cancel_and_an_arming_later_are_two_things: "
        timer 1 timerfd_tmrproc
           10 0 7 arm 1 soft 100000 slack 0
           20 0 7 cancel 1
        10021 0 7 arm 1 soft 200000 slack 0                # too late
        10030 0 7 cancel 1
        10031 0 7 raise 1                                  # not the next event
        10032 0 7 arm 1 soft 200000 slack 0
        10040 0 7 cancel 1
        10041 0 8 arm 1 soft 200000 slack 0                # not the same task
        10050 0 8 cancel 1
        10051 1 8 arm 1 soft 200000 slack 0                # not the same CPU
    " => "sleeper timerfd_settime: 3 armed 3 cancelled; neighbour timerfd_settime: 2 armed 1 cancelled";

    a_sleep_is_never_moved: "
        timer 1 hrtimer_wakeup owner 7
        timer 2 process_timeout list
        10 0 7 arm 1 soft 1000 slack 0 call futex
        20 0 7 cancel 1
        21 0 7 arm 1 soft 1100 slack 0 call futex          # its next sleep, at the same place
        30 0 7 arm 2 soft 1000 slack 0 softirq
        31 0 7 cancel 2
        32 0 7 arm 2 soft 1000 slack 0 softirq
    " => "sleeper futex: 2 armed 1 cancelled; sleeper process_timeout: 2 armed 1 cancelled";

    what_an_interrupt_arms_stays_whose_it_was: "
        timer 1 perf_mux_hrtimer_handler
        timer 2 tick_nohz_handler
          10 0 7 arm 1 soft 100 slack 0
         100 0 8 irq+ local_timer
         101 0 8 expire+ 1 soft 100 slack 0
         102 0 8 expire- 1
         103 0 8 arm 1 soft 200 slack 0
         104 0 8 expire+ 2 soft 100 slack 0
         105 0 8 expire- 2
         106 0 8 arm 2 soft 4100 slack 0
         107 0 8 irq- local_timer
    " => "sleeper perf_mux_hrtimer_handler: 2 armed 1 expired 1 programmings; \
          kernel tick_nohz_handler: 1 armed 1 expired";

    the_tick_is_the_kernels: "
        timer 9 tick_nohz_handler
          10 0 7 cancel 9
          11 0 7 arm 9 soft 4000 slack 0
    " => "kernel tick_nohz_handler: 1 armed 1 moved";

    the_tick_of_the_scheduler_is_the_kernels: "
        timer 9 hrtick
          10 0 7 arm 9 soft 4000 slack 0
          20 0 8 arm 9 soft 5000 slack 0
    " => "kernel hrtick: 2 armed 1 moved";

    what_the_kernel_hands_on_is_no_arming: "
        timer 1 tcp_write_timer list
        timer 2 hrtimer_wakeup owner 7
          10 0 7 arm 1 soft 9000 slack 0 softirq
          11 0 7 arm 2 soft 9000 slack 50 call poll
          20 1 9 arm 2 soft 9000 slack 50                  # CPU 0 goes offline
          21 1 9 cancel 1
          22 1 9 arm 1 soft 9000 slack 0 softirq
    " => "sleeper tcp_write_timer: 1 armed; sleeper poll: 1 armed";

    a_timer_is_whose_who_armed_it_last: "
        timer 1 timerfd_tmrproc
          10 0 7 arm 1 soft 100 slack 0
          20 0 8 cancel 1
          21 0 8 arm 1 soft 110 slack 0                    # ends the arming of 7
         111 0 0 irq+ local_timer
         112 0 0 expire+ 1 soft 110 slack 0
         113 0 0 expire- 1
         114 0 0 irq- local_timer
    " => "sleeper timerfd_settime: 1 armed 1 moved; \
          neighbour timerfd_settime: 1 armed 1 expired 1 programmings";

    armings_that_program_the_device: "
        timer 1 timerfd_tmrproc
        timer 2 hrtimer_wakeup owner 8
        timer 9 tick_nohz_handler
           1 0 7 arm 1 soft 9000 slack 0                   # not known: no timer interrupt yet
           2 0 7 irq+ local_timer
           3 0 7 expire+ 9 soft 0 slack 0
           4 0 7 expire- 9
           5 0 7 arm 9 soft 4000 slack 0                   # in the interrupt: its end programs
           6 0 7 irq- local_timer
          20 0 7 arm 1 soft 320 slack 0                    # the first of all
          30 0 8 arm 2 soft 1000 slack 50 call poll        # behind it
          40 0 7 cancel 1                                  # back to the sleep
          60 0 8 arm 2 soft 900 slack 50 call poll         # earlier: in one call
    " => "sleeper timerfd_settime: 2 armed 1 moved 1 cancelled 1 followed 1 programmed 2 programmings; \
          kernel tick_nohz_handler: 1 armed 1 expired 1 programmings; \
          neighbour poll: 2 armed 2 followed 1 programmed 1 programmings";

    a_timer_armed_before_the_stream_has_a_row: "
        timer 1 hrtimer_wakeup owner 7
        timer 2 timerfd_tmrproc
          10 0 0 irq+ local_timer
          11 0 0 expire+ 1 soft 9 slack 0
          12 0 0 expire- 1
          13 0 0 irq- local_timer
          20 0 8 cancel 2                                  # whose it was is not known
    " => "sleeper sleep (call not recorded): 1 expired 1 programmings; \
          kernel timerfd_settime: 1 cancelled";

    after_a_loss_nothing_is_known_of_what_was_armed: "
        timer 1 timerfd_tmrproc
          10 0 7 arm 1 soft 1000 slack 0
          20 0 7 lost 3 since 15
          30 0 7 arm 1 soft 1000 slack 0                   # a move, or not: it may have expired
    " => "sleeper timerfd_settime: 2 armed";

    timers_without_a_definition_are_their_threads: "
          10 0 7 arm 0 soft 1000 slack 0
          20 0 7 cancel 0
    " => "sleeper unknown timer: 1 armed";

    a_softirq_that_was_switched_away_from_is_taken_up: "
        timer 1 tcp_write_timer list
          10 0 7 arm 1 soft 1000 slack 0 softirq
          20 0 9 softirq+ 1
          21 0 9 switch R 8 120
          22 0 8 arm 1 soft 1010 slack 0 softirq           # task context: 8 arms it
          23 0 8 switch R 9 120
          24 0 9 arm 1 soft 1020 slack 0 softirq           # the softirq: it stays with 8
    " => "sleeper tcp_write_timer: 1 armed 1 moved; neighbour tcp_write_timer: 2 armed 1 moved";
}

/// The work of the interrupt's loop between two callbacks counts with the second of them.
#[test]
fn lateness_is_inflicted_by_the_timers_of_others() {
    let trace = "
        task 7 victim watched
        task 8 storm
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 8
        timer 3 tick_nohz_handler
           1 0 8 arm 2 soft 990 slack 0 call clock_nanosleep
           5 0 7 arm 1 soft 1000 slack 0 call clock_nanosleep
          10 0 7 switch S 20 120
        1000 0 20 irq+ local_timer
        1002 0 20 expire+ 2 soft 990 slack 0     # 5 of its callback
        1007 0 20 expire- 2
        1009 0 20 expire+ 3 soft 995 slack 0     # 2 on the way to it and 1 of its own
        1010 0 20 expire- 3
        1012 0 20 expire+ 1 soft 1000 slack 0    # from 1010 on its own
        1015 0 20 waking 7 on 0 prio 19
        1016 0 20 expire- 1
        1017 0 20 expire+ 2 soft 990 slack 0     # after the victim's: from 1016 on, 3
        1019 0 20 expire- 2
        1020 0 20 irq- local_timer
        1025 0 20 switch R 7 19
    ";
    let (found, table) = table(trace).finish();
    assert_eq!((found.latencies.count(), found.latencies.max_ns()), (1, 25));
    let inflicted: Vec<_> = table
        .rows()
        .iter()
        .map(|row| (row.thread.map(|thread| thread.task.0), row.counts.inflicted_ns))
        .collect();
    assert_eq!(inflicted, [(Some(8), 5 + 3), (Some(7), 0), (Some(0), 2 + 1)]);
}

#[test]
fn shares_are_of_what_has_ended_and_of_what_was_followed() {
    let none = Counts::default();
    assert_eq!((none.cancelled_share(), none.programmed_share()), (None, None));
    let counts = Counts {
        armed: 11,
        moved: 5,
        cancelled: 2,
        expired: 3,
        followed: 4,
        programmed: 1,
        ..Counts::default()
    };
    assert_eq!(counts.cancelled_share(), Some(0.2));
    assert_eq!(counts.programmed_share(), Some(0.25));
    let earlier = Counts { armed: 1, cancelled: 3, ..Counts::default() };
    let since = counts.since(&earlier);
    assert_eq!((since.armed, since.cancelled, since.expired), (10, 0, 3));
}

#[test]
fn a_process_is_the_sum_of_its_threads() {
    let mut table = table(
        "
        task 7 leader
        task 8 worker 7
        task 20 other
        timer 1 hrtimer_wakeup owner 8
        timer 2 hrtimer_wakeup owner 20
        timer 3 timerfd_tmrproc
        10 0 8 arm 1 soft 1000 slack 50 call poll
        11 0 20 arm 2 soft 1000 slack 60 call poll
        12 0 7 arm 3 soft 1000 slack 0
    ",
    );
    let rows = rows(&mut table);
    assert_eq!(rows[0].thread.unwrap().process_name, Comm::new("leader"));
    let programs = by_program(&rows);
    let told: Vec<_> = programs
        .iter()
        .map(|program| (program.name.as_str(), program.counts.armed, program.rows.len()))
        .collect();
    assert_eq!(told, [("leader", 2, 2), ("other", 1, 1)]);
    assert_eq!(programs[0].counts.slacks.range_ns(), Some((0, 50)));
    let table = table.sink_mut();
    assert_eq!((table.span_ns(), table.events()), (12, 10));
}

#[test]
fn processes_of_one_name_are_one_program() {
    let mut table = table(
        "
        task 7 hackbench
        task 8 hackbench
        task 20 kworker/0:1 kernel
        task 21 kworker/1:2 kernel
        timer 1 hrtimer_wakeup owner 7
        timer 2 hrtimer_wakeup owner 8
        timer 3 delayed_work_timer_fn list
        timer 4 delayed_work_timer_fn list
        10 0 7 arm 1 soft 1000 slack 50 call poll
        11 0 8 arm 2 soft 1000 slack 50 call poll
        12 0 20 arm 3 soft 1000 slack 0
        13 0 21 arm 4 soft 1000 slack 0
    ",
    );
    let programs = by_program(&rows(&mut table));
    let told: Vec<_> = programs
        .iter()
        .map(|program| (program.name.as_str(), program.processes, program.counts.armed))
        .collect();
    assert_eq!(told, [("hackbench", 2, 2), ("kworker", 2, 2)]);
}

#[test]
fn a_thread_with_the_id_of_one_that_ended_is_another() {
    let mut table = table(
        "
        task 7 first
        timer 1 hrtimer_wakeup owner 7
        10 0 7 arm 1 soft 1000 slack 50 call poll
        11 0 7 gone
        12 0 7 arm 1 soft 1000 slack 50 call poll  # still the first, on its way out
        task 7 second
        20 0 7 arm 1 soft 2000 slack 50 call poll
    ",
    );
    assert_eq!(lines(&mut table), ["first poll: 2 armed", "second poll: 1 armed"]);
    table.sink_mut().forget_ended();
    assert_eq!(lines(&mut table), ["second poll: 1 armed", "others: 2 armed"]);
    // What is forgotten makes room, and never comes back under the same id.
    feed(&mut table, "30 0 7 gone");
    table.sink_mut().forget_ended();
    feed(
        &mut table,
        "
        task 7 third
        timer 2 hrtimer_wakeup owner 7
        40 0 7 arm 2 soft 3000 slack 50 call poll
    ",
    );
    assert_eq!(lines(&mut table), ["third poll: 1 armed", "others: 3 armed"]);
}

#[test]
fn a_timer_of_a_row_that_was_forgotten_counts_with_all_others() {
    let mut table = table(
        "
        task 7 sender
        timer 1 tcp_write_timer list
        10 0 7 arm 1 soft 1000 slack 0 softirq
        11 0 7 gone
    ",
    );
    table.sink_mut().forget_ended();
    feed(
        &mut table,
        "
        1000 0 0 softirq+ 1
        1001 0 0 expire+ 1 soft 1000 slack 0 softirq
        1002 0 0 expire- 1
        1003 0 0 arm 1 soft 2000 slack 0 softirq
        1004 0 0 softirq- 1
    ",
    );
    assert_eq!(lines(&mut table), ["others: 2 armed 1 expired"]);
}

#[test]
fn begun_anew_the_counts_go_on_with_other_ids() {
    let trace = "
        task 7 sleeper
        timer 1 hrtimer_wakeup owner 7
        10 0 7 arm 1 soft 1000 slack 50 call poll
    ";
    let mut table = table(trace);
    table = begun_anew(table);
    let anew = trace.replace("timer 1", "timer 5").replace("arm 1", "arm 5");
    feed(&mut table, &anew);
    assert_eq!(lines(&mut table), ["sleeper poll: 2 armed"]);
    table = begun_anew(table);
    feed(&mut table, "task 20 another");
    table.sink_mut().forget_ended();
    assert_eq!(lines(&mut table), ["others: 2 armed"]);
}

#[test]
fn more_threads_than_rows_are_in_the_row_of_all_others() {
    let threads = ROWS_MAX + 2;
    let mut trace = String::new();
    for id in 1..=threads {
        let _ = writeln!(trace, "timer {id} hrtimer_wakeup owner {id}");
        let _ = writeln!(trace, "{id} 0 {id} arm {id} soft 900000 slack 0 call poll");
    }
    let rows = rows(&mut table(&trace));
    assert_eq!(rows.len(), ROWS_MAX);
    let others = rows.last().unwrap();
    assert_eq!((others.thread, others.counts.armed), (None, 3));
}

#[test]
fn more_functions_than_are_told_apart_are_in_the_row_of_all_others() {
    let mut trace = String::new();
    for id in 1..FUNCTIONS_MAX + 2 {
        let _ = writeln!(trace, "timer {id} function_{id}");
        let _ = writeln!(trace, "{id} 0 7 arm {id} soft 900000 slack 0");
    }
    let rows = rows(&mut table(&trace));
    assert_eq!(rows.len(), FUNCTIONS_MAX);
    assert_eq!(rows.last().unwrap().counts.armed, 2);
}

#[test]
fn the_latest_name_counts() {
    let mut table = table(
        "
        task 7 parent
        timer 1 hrtimer_wakeup owner 7
        10 0 7 arm 1 soft 1000 slack 50 call poll
    ",
    );
    let kind = Kind::TaskName(TaskName { comm: Comm::new("child") });
    let batch = tardy_model::Batch {
        events: vec![Event::new(20, CpuId(0), TaskId(7), kind)],
        ..tardy_model::Batch::default()
    };
    table.batch(&batch);
    assert_eq!(line(&rows(&mut table)[0]), "child poll: 1 armed");
}
