//! Losses, order and clocks.

use super::read;
use std::fmt::Write as _;
use tardy_model::Kind;
use tardy_model::event::Loss;

/// CPU, time, since when, how many.
fn losses(trace: &str) -> Vec<(u16, u64, u64, u32)> {
    let read = read(trace);
    read.events
        .iter()
        .filter_map(|event| match event.kind() {
            Kind::Loss(Loss { since_ns, count }) => {
                Some((event.cpu.0, event.time_ns, since_ns, count))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn losses_lie_between_the_events_of_their_cpu() {
    let s = 1_000_000_000;
    assert_eq!(
        losses(
            "a-1 [000] 1.000000: sys_exit: NR 1 = 0\n\
             ##### CPU 1 buffer started ####\n\
             b-2 [001] 2.000000: sys_exit: NR 1 = 0\n\
             CPU:0 [LOST 123 EVENTS]\n\
             CPU:0 [5 EVENTS DROPPED]\n\
             b-2 [001] 3.000000: sys_exit: NR 1 = 0\n\
             a-1 [000] 4.000000: some_other: event\n\
             CPU:1 [EVENTS DROPPED]\n"
        ),
        [
            (1, 2 * s, s, u32::MAX),
            (0, 4 * s, s, 128),
            // Nothing came after it.
            (1, 4 * s, 3 * s, u32::MAX),
        ]
    );
    assert_eq!(
        losses(
            "a 1 [000] 1.000000: irq:softirq_entry: vec=1 [action=TIMER]\n\
             a 1 [000] 2.000000: PERF_RECORD_LOST lost 17\n"
        ),
        [(0, 2 * s, s, 17)]
    );
}

#[test]
fn slightly_out_of_order() {
    let read = read(
        "a-1 [000] 1.000003: sys_exit: NR 1 = 0\n\
         b-2 [001] 1.000001: sys_exit: NR 2 = 0\n\
         a-1 [000] 1.000004: sys_exit: NR 3 = 0\n",
    );
    let times: Vec<u64> = read.of_kinds().iter().map(|event| event.time_ns).collect();
    assert_eq!(times, [1_000_001_000, 1_000_003_000, 1_000_004_000]);
    assert!(read.closing.notes.iter().any(|note| note.contains("put in order")));
}

#[test]
fn far_out_of_order_is_lost_and_said() {
    let line = |time: u64| format!("a-1 [000] {time}.000000: sys_exit: NR 1 = 0\n");
    let mut trace: String = (10_000..60_000).map(line).collect();
    trace.extend((1..5).map(line));
    trace.push_str(&line(70_000));
    let lost = losses(&trace);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((lost[0].2, lost[0].3), (1_000_000_000, 4));
    let read = read(&trace);
    assert!(
        read.closing.notes.iter().any(|note| note.starts_with("4 events are earlier than others")),
        "{:?}",
        read.closing.notes
    );
}

#[test]
fn times_that_are_no_times() {
    // How long a count is, nothing tells: what it would be in nanoseconds is not known, whatever the clock is called.
    for header in ["", "# trace_clock: x86-tsc\n", "# trace_clock: mono\n"] {
        let why = super::try_read(
            format!(
                "# tracer: nop\n{header}\
                 a-1 [000] ..... 59762751344697: sys_exit: NR 1 = 0\n\
                 a-1 [000] ..... 59762751344698: sys_exit: NR 1 = 0\n"
            ),
            None,
        );
        let why = why.expect_err("no times").to_string();
        assert!(why.contains("has no times") && why.contains("`mono`"), "{why}");
    }
}

#[test]
fn counts_are_converted_where_the_kernels_readings_show_how_long_one_is() {
    // 2.5 counts a nanosecond; a tick every 4 ms, whose reading is 300 ns before its event.
    let counts = |ns: u64| ns * 5 / 2;
    let mut text = "# tracer: nop\n".to_owned();
    for tick in 0..40 {
        let ns = 7_000_000_000 + tick * 4_000_000;
        let (at, now) = (counts(ns), ns - 300);
        let _ = writeln!(
            text,
            "a-1 [000] ..... {at}: hrtimer_expire_entry: hrtimer=0xf00 function=tick now={now}"
        );
        let at = counts(ns + 1000);
        let _ = writeln!(text, "a-1 [000] ..... {at}: hrtimer_expire_exit: hrtimer=0xf00");
    }
    text += "a-1 [000] ..... 1.000000: sys_exit: NR 1 = 0\n";
    let read = read(&text);
    let times: Vec<u64> = read.of_kinds().iter().map(|event| event.time_ns).collect();
    assert_eq!(times.len(), 80);
    for (tick, pair) in times.chunks(2).enumerate() {
        let (begin_ns, end_ns) = (pair[0], pair[1]);
        assert!((begin_ns - times[0]).abs_diff(tick as u64 * 4_000_000) < 1000, "{begin_ns}");
        assert!((end_ns - begin_ns).abs_diff(1000) <= 1, "{begin_ns} {end_ns}");
    }
    assert_eq!(read.origin.clock, "", "what it is called is not told");
    let notes = &read.closing.notes;
    assert!(notes.iter().any(|note| note.contains("show how long a count is")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("another kind")), "{notes:?}");
}

#[test]
fn the_clock_where_it_is_told() {
    let read = read("# trace_clock: mono\na-1 [000] 1.000000: sys_exit: NR 1 = 0\n");
    assert_eq!(read.origin.clock, "mono");
}
