//! Texts cut short, written over, or made up.

use super::{Read, read, try_read, without_expiry};
use proptest::prelude::*;
use tardy_import::ImportError;
use tardy_model::Event;
use tardy_model::Kind;

const TRACES: [&str; 5] = [
    include_str!("../data/futex-pi-spike.txt"),
    include_str!("../data/trace-tgid.txt"),
    include_str!("../data/trace-cmd-report.txt"),
    include_str!("../data/trace-cmd-report-l.txt"),
    include_str!("../data/perf-script-ns.txt"),
];

fn format_of(trace: &str) -> &'static str {
    read(trace).format
}

#[test]
fn cut_at_every_hundredth() {
    for trace in TRACES {
        let format = format_of(trace);
        let all = |events: &[Event]| events.iter().map(without_expiry).collect::<Vec<_>>();
        let whole = all(&read(trace).events);
        let mut most = 0;
        for hundredth in 0..=100 {
            let mut end = trace.len() * hundredth / 100;
            while !trace.is_char_boundary(end) {
                end -= 1;
            }
            let cut = all(&try_read(&trace[..end], Some(format)).unwrap().events);
            assert_eq!(cut, whole[..cut.len()], "{format} at {hundredth} %");
            most = most.max(cut.len());
        }
        assert_eq!(most, whole.len(), "{format}");
    }
}

#[test]
fn a_cut_number_is_no_smaller_one() {
    let read = read(
        "a-1 [000] 1.000000: sys_exit: NR 1 = 0\n\
         a-1 [000] 1.000001: sys_exit: NR 162 = 0 a-1 [000] 1.000002: sys_exit: NR 1 = 12",
    );
    assert_eq!(read.of_kinds().len(), 2);
    assert!(read.closing.notes.iter().any(|note| note.contains("cut short")));
}

#[test]
fn what_cannot_be_read_is_counted_and_shown() {
    let mut trace = String::from("a-1 [000] 1.000000: sys_exit: NR 1 = 0\n");
    for _ in 0..10 {
        trace.push_str("a-1 [000] 1.000001: sched_switch: from here to there\n\n");
    }
    trace.push_str("and some prose\n");
    let notes = read(&trace).closing.notes;
    let shown = notes.iter().find(|note| note.starts_with("10 events could not be read")).unwrap();
    assert!(
        shown.contains("line 2: `") && shown.contains("line 6: `") && !shown.contains("line 8")
    );
    assert!(notes.iter().any(|note| note.starts_with("1 line has no event")), "{notes:?}");
}

#[test]
fn a_line_of_100_mb_is_not_held() {
    let mut trace = b"a-1 [000] 1.000000: sys_exit: NR 1 = 0\n".to_vec();
    trace.extend(std::iter::repeat_n(b'x', 100 << 20));
    trace.extend(b"\na-1 [000] 2.000000: sys_exit: NR 1 = 0\n");
    let read = read(trace);
    assert_eq!(read.of_kinds().len(), 2);
    assert!(read.closing.notes.iter().any(|note| note.starts_with("1 lines of more than")));
}

#[test]
fn prose_is_no_trace() {
    let error = try_read("Hello, this is a mail: 1.000000: no trace\n", None).unwrap_err();
    assert!(error.to_string().contains("not a trace that tardy can read"), "{error}");
}

/// Whatever is read, it is said what was not.
fn is_sound(read: &Read) {
    for event in &read.events {
        assert!(!matches!(event.kind(), Kind::Unknown(_)));
    }
}

/// Without its point a time is a count, and where nothing tells how long one is, the text is refused.
fn is_sound_or_counts(text: &[u8], format: &str) {
    match try_read(text, Some(format)) {
        Ok(read) => is_sound(&read),
        Err(error) => {
            let is_of_counts = matches!(
                error.downcast_ref::<ImportError>(),
                Some(ImportError::CountsAlone { .. })
            );
            assert!(is_of_counts, "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..2000)) {
        for format in ["ftrace-text", "perf-script"] {
            is_sound_or_counts(&text, format);
        }
    }

    #[test]
    fn any_words(words in prop::collection::vec(
        prop::sample::select(vec![
            "a-1", "[001]", "1.000001:", "2.000000:", "sched_switch:", "prev_comm=", "prev_pid=3",
            "next_pid=", "==>", "NR", "240", "(", "1,", "\n", "\n", "> ", "a:1 [2] R ==> b:3 [4]",
            "sched:sched_switch:", "12", "d..1.", "CPU:1 [LOST 5 EVENTS]", "sys_futex(op: 86)",
            "hrtimer_start:", "hrtimer=0x1", "function=", "expires=-1", "softexpires=99", "mode=ABS",
            "softirq_entry:", "vec=", "PERF_RECORD_LOST", "lost", "#", "##### CPU 1 buffer started ####",
        ]),
        0..200,
    )) {
        for format in ["ftrace-text", "perf-script"] {
            is_sound_or_counts(words.join(" ").as_bytes(), format);
        }
    }

    /// Bytes written over in real traces.
    #[test]
    fn written_over(
        which in 0..TRACES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut text = TRACES[which].as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        is_sound_or_counts(&text, format_of(TRACES[which]));
    }
}
