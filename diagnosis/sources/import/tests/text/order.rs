//! Losses, order and clocks.

use super::read;
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
    let read = read(
        "# tracer: nop\n\
         a-1 [000] ..... 59762751344697: sys_exit: NR 1 = 0\n\
         a-1 [000] ..... 59762751344698: sys_exit: NR 1 = 0\n\
         a-1 [000] ..... 1.000000: sys_exit: NR 1 = 0\n",
    );
    let times: Vec<u64> = read.of_kinds().iter().map(|event| event.time_ns).collect();
    assert_eq!(times, [59_762_751_344_697, 59_762_751_344_698]);
    assert_eq!(read.origin.clock, "x86-tsc");
    let notes = &read.closing.notes;
    assert!(notes.iter().any(|note| note.contains("are not nanoseconds")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("another kind")), "{notes:?}");
}

#[test]
fn the_clock_where_it_is_told() {
    let read = read("# trace_clock: mono\na-1 [000] 1.000000: sys_exit: NR 1 = 0\n");
    assert_eq!(read.origin.clock, "mono");
}
