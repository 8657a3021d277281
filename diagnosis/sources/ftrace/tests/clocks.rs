//! The same trace on another clock means the same: lateness does not depend on which clock stamps the
//! events, within what is promised.

use std::fmt::Write;
use tardy_ftrace::decode::{Decoder, TraceClock};
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::{Batch, CpuId, Kind};

const EVENTS: [(&str, &[&str]); 3] = [
    ("hrtimer_start", &["hrtimer", "function", "expires", "softexpires", "mode"]),
    ("hrtimer_expire_entry", &["hrtimer", "now", "function"]),
    ("hrtimer_cancel", &["hrtimer"]),
];
const START: u16 = 0;
const EXPIRE: u16 = 1;
const TIMER: u64 = 0xffff_c900_0000_1000;
const WAKEUP: u64 = 0xffff_ffff_8100_0000;

/// The quickest way from a clock reading to its event.
const QUICKEST_NS: u64 = 300;

/// `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC` by this much.
const REAL_NS: u64 = 1_700_000_000_000_000_000;

fn decoder(clock: TraceClock) -> Decoder {
    let symbols = Symbols::from_text(&format!("{WAKEUP:x} t hrtimer_wakeup\n"));
    let mut decoder = Decoder::new(Endian::Little, ClockOffsets::default(), 4_000_000, symbols);
    decoder.set_trace_clock(clock);
    for (id, (name, fields)) in EVENTS.iter().enumerate() {
        let mut text = format!(
            "name: {name}\nID: {id}\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        );
        for (at, field) in fields.iter().enumerate() {
            writeln!(text, "\tfield:u64 {field};\toffset:{};\tsize:8;\tsigned:0;", 8 + 8 * at)
                .unwrap();
        }
        assert!(decoder.learn("timer", &EventFormat::parse(&text).unwrap()));
    }
    decoder
}

/// An event: `CLOCK_MONOTONIC`'s time, which, fields.
type Event = (u64, u16, Vec<u64>);

/// Ten seconds in which a timer is armed every 4 ms for 1 ms later (every other one on the clock of
/// the day where `has_real`), and expires 1 to 31 µs late. From the reading to the event pass 300 ns
/// to 15 µs.
fn trace(has_real: bool) -> Vec<Event> {
    let mut events = Vec::new();
    for step in 0..2500u64 {
        let armed_ns = 40_000_000_000 + step * 4_000_000;
        let ahead_ns = if has_real && step % 2 == 1 { REAL_NS } else { 0 };
        let soft_ns = armed_ns + 1_000_000;
        let expires = ahead_ns + soft_ns;
        events.push((armed_ns, START, vec![TIMER, WAKEUP, expires, expires, 0]));
        let read_ns = soft_ns + 1_000 + step * 7919 % 15_000;
        let delay_ns = QUICKEST_NS + step * 104_729 % 15_000;
        events.push((read_ns + delay_ns, EXPIRE, vec![TIMER, ahead_ns + read_ns, WAKEUP]));
    }
    events
}

/// The lateness of each expiry, with events stamped by a clock that `stamp` makes of
/// `CLOCK_MONOTONIC`.
fn lateness(decoder: &mut Decoder, events: &[Event], stamp: impl Fn(u64) -> u64) -> Vec<i64> {
    let mut batch = Batch::default();
    for (time_ns, event, fields) in events {
        decoder.decode(stamp(*time_ns), CpuId(0), &bytes(*event, fields), &mut batch);
    }
    assert_eq!(decoder.undecoded(), 0);
    let late = batch.events.iter().filter_map(|event| match event.kind() {
        Kind::ExpireBegin(expiry) => Some(event.time_ns as i64 - expiry.soft_ns as i64),
        _ => None,
    });
    late.collect()
}

fn bytes(event: u16, fields: &[u64]) -> Vec<u8> {
    let mut bytes = u64::from(event).to_le_bytes().to_vec();
    bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
    bytes
}

/// Too small by at least and at most how much, after the first second.
fn off(moved: &[i64], true_ns: &[i64]) -> (i64, i64) {
    let too_small = || true_ns.iter().zip(moved).skip(250).map(|(truth, moved)| truth - moved);
    (too_small().min().unwrap(), too_small().max().unwrap())
}

#[test]
fn lateness_is_the_same_on_a_clock_that_is_elsewhere_and_drifts() {
    for has_real in [false, true] {
        let events = trace(has_real);
        let truth = lateness(&mut decoder(TraceClock::Monotonic), &events, |ns| ns);
        assert!(truth.iter().all(|late| (1000..40_000).contains(late)) || has_real);
        let plain: Vec<i64> = lateness(&mut decoder(TraceClock::Monotonic), &trace(false), |ns| ns);
        for drift in [0.0, 10e-6, -10e-6, 100e-6, -100e-6, 500e-6, -500e-6] {
            let stamp = |ns: u64| {
                7_000_000_000 + ((ns - 40_000_000_000) as f64 * (1.0 + drift)).round() as u64
            };
            let mut decoder = decoder(TraceClock::Other);
            let moved = lateness(&mut decoder, &events, stamp);
            assert_eq!(moved.len(), truth.len());
            let (least, most) = off(&moved, &plain);
            // Too small by the quickest way, and the line is as good as readings are dense.
            assert!(least >= -1000 && most <= 2500, "{has_real} {drift}: {least} {most}");
            assert!(decoder.notes().iter().any(|note| note.contains("2500 expiries")));
        }
    }
}

#[test]
fn the_clock_of_the_day_is_found_where_nobody_told_it() {
    let plain = lateness(&mut decoder(TraceClock::Monotonic), &trace(false), |ns| ns);
    let mut decoder = decoder(TraceClock::Monotonic);
    let real = lateness(&mut decoder, &trace(true), |ns| ns);
    // Those on the trace's own clock are exact.
    assert!(real.iter().zip(&plain).step_by(2).all(|(real, plain)| real == plain));
    let (least, most) = off(&real, &plain);
    assert!(least >= 0 && most <= 1000, "{least} {most}");
    assert_eq!(decoder.notes(), Vec::<String>::new());
}

#[test]
fn who_looks_ahead_knows_the_clock_from_the_first_event_on() {
    let events = trace(false);
    let truth = lateness(&mut decoder(TraceClock::Monotonic), &events, |ns| ns);
    let stamp = |ns: u64| ns - 33_000_000_000;

    // An arming before any reading shows no expiry, and its timer is as one that was armed unseen.
    let mut unprepared = decoder(TraceClock::Other);
    let late = lateness(&mut unprepared, &events[..2], stamp);
    assert_eq!(late, [0], "as if it were on time");
    let mut batch = Batch::default();
    let (time_ns, event, fields) = &events[0];
    decoder(TraceClock::Other).decode(
        stamp(*time_ns),
        CpuId(0),
        &bytes(*event, fields),
        &mut batch,
    );
    assert!(batch.events.iter().any(|event| {
        matches!(event.kind(), Kind::TimerArm(arm) if arm.soft_ns == i64::MAX as u64)
    }));

    let mut prepared = decoder(TraceClock::Other);
    let readings: Vec<(u64, i64)> = events[..1000]
        .iter()
        .filter_map(|(ns, event, fields)| {
            Some((stamp(*ns), prepared.clock_reading(&bytes(*event, fields))?))
        })
        .collect();
    assert_eq!(readings.len(), 500);
    prepared.learn_clock(&readings);
    let late = lateness(&mut prepared, &events, stamp);
    let too_small = late.iter().zip(&truth).map(|(late, truth)| truth - late);
    let (least, most) = (too_small.clone().min().unwrap(), too_small.max().unwrap());
    assert!(least >= 0 && most <= 1000, "{least} {most}");
}
