//! What becomes of timers whose events leave something out: small traces, with what they must mean.

use std::fmt::Write;
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::event::{Call, ExpireBegin, TimerArm, TimerMode};
use tardy_model::{Batch, CpuId, Kind, Tables, TaskId, TimerId};

/// `CLOCK_REALTIME`, `CLOCK_BOOTTIME` and `CLOCK_TAI` are ahead by this much.
const REAL_NS: i64 = 1_700_000_000_000_000_000;
const BOOT_NS: i64 = 3_600_000_000_000;
const TAI_NS: i64 = REAL_NS + 37_000_000_000;
const TICK_NS: u64 = 4_000_000;

const TIMER: u64 = 0xffff_c900_0000_1000;
const WAKEUP: u64 = 0xffff_ffff_8100_0000;
const TICK: u64 = 0xffff_ffff_8100_1000;
const WHEEL: u64 = 0xffff_ffff_8100_2000;

/// Events and their fields, each of 8 bytes after the common ones.
const EVENTS: [(&str, &[&str]); 6] = [
    ("hrtimer_start", &["hrtimer", "function", "expires", "softexpires", "mode"]),
    ("hrtimer_cancel", &["hrtimer"]),
    ("hrtimer_expire_entry", &["hrtimer", "now", "function"]),
    ("hrtimer_expire_exit", &["hrtimer"]),
    ("timer_start", &["timer", "function", "expires", "bucket_expiry", "now", "flags"]),
    ("timer_expire_entry", &["timer", "now", "function"]),
];
const START: u16 = 0;
const CANCEL: u16 = 1;
const EXPIRE: u16 = 2;
const EXIT: u16 = 3;
const WHEEL_START: u16 = 4;
const WHEEL_EXPIRE: u16 = 5;
/// No event: those of a CPU were lost until then.
const LOST: u16 = 6;

/// Plays records of task 7 on CPU 0: time, event, fields.
fn play(records: &[(u64, u16, &[u64])]) -> (Vec<(u64, Kind)>, Tables) {
    let symbols = format!(
        "{WAKEUP:x} t hrtimer_wakeup\n{TICK:x} t tick_nohz_handler\n{WHEEL:x} t process_timeout\n"
    );
    let clocks = ClockOffsets {
        realtime_ahead_ns: REAL_NS,
        boottime_ahead_ns: BOOT_NS,
        tai_ahead_ns: TAI_NS,
    };
    let symbols = Symbols::from_text(&symbols);
    let mut decoder = Decoder::new(Endian::Little, clocks, TICK_NS, symbols);
    for (id, (name, fields)) in EVENTS.iter().enumerate() {
        let mut text = format!(
            "name: {name}\nID: {id}\nformat:\n\
             \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
             \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        );
        for (at, field) in fields.iter().enumerate() {
            let offset = 8 + 8 * at;
            writeln!(text, "\tfield:u64 {field};\toffset:{offset};\tsize:8;\tsigned:0;").unwrap();
        }
        assert!(decoder.learn("timer", &EventFormat::parse(&text).unwrap()));
    }
    let (mut batch, mut tables) = (Batch::default(), Tables::default());
    for (time_ns, event, fields) in records {
        if *event == LOST {
            decoder.lost(CpuId(fields[0] as u16), *time_ns);
            continue;
        }
        let mut bytes = u64::from(*event).to_le_bytes().to_vec();
        bytes[4] = 7;
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        decoder.decode(*time_ns, CpuId(0), &bytes, &mut batch);
    }
    assert_eq!(decoder.undecoded(), 0);
    batch.define(&mut tables);
    (batch.events.iter().map(|event| (event.time_ns, event.kind())).collect(), tables)
}

fn begin(timer: u32, soft_ns: u64, slack_ns: u32, mode: u8) -> Kind {
    ExpireBegin { timer: TimerId(timer), soft_ns, slack_ns, mode: TimerMode(mode) }.into()
}

fn arm(timer: u32, soft_ns: u64, slack_ns: u32, mode: u8) -> Kind {
    TimerArm {
        timer: TimerId(timer),
        soft_ns,
        slack_ns,
        mode: TimerMode(mode),
        call: Call::Unknown,
    }
    .into()
}

#[test]
fn an_expiry_has_what_was_armed_although_the_kernel_says_cancel_first() {
    let (events, tables) = play(&[
        (100, START, &[TIMER, WAKEUP, 1050, 1000, 1]),
        (1060, CANCEL, &[TIMER]),
        (1061, EXPIRE, &[TIMER, 1055, WAKEUP]),
    ]);
    assert_eq!(events[0], (100, arm(1, 1000, 50, 1)));
    assert_eq!(events[2], (1061, begin(1, 1000, 50, 1)));
    assert_eq!(tables.timer(TimerId(1)).owner, TaskId(7));
    assert_eq!(tables.function(TimerId(1)), "hrtimer_wakeup");
}

#[test]
fn a_callback_may_arm_its_own_timer_again() {
    let (events, _) = play(&[
        (100, START, &[TIMER, TICK, 1000, 1000, 0]),
        (1010, EXPIRE, &[TIMER, 1005, TICK]),
        (1020, START, &[TIMER, TICK, 2000, 2000, 0]),
        (1030, EXIT, &[TIMER]),
        (2010, EXPIRE, &[TIMER, 2005, TICK]),
    ]);
    assert!(matches!(events[3].1, Kind::ExpireEnd(end) if end.timer == TimerId(1)));
    assert_eq!(events[4].1, begin(1, 2000, 0, 0));
}

#[test]
fn what_was_armed_unseen_has_the_reading_of_its_expiry() {
    let (events, tables) = play(&[
        (100, START, &[TIMER, WAKEUP, 1000, 1000, 1]),
        // Another timer at the same address: its arming was lost.
        (5010, EXPIRE, &[TIMER, 5000, TICK]),
        (9000, CANCEL, &[TIMER + 64]),
    ]);
    assert_eq!(events[1].1, begin(2, 5000, 0, 0));
    assert_eq!(tables.timer(TimerId(2)).owner, TaskId::IDLE);
    assert!(matches!(events[2].1, Kind::TimerCancel(cancel) if cancel.timer == TimerId::UNKNOWN));
}

#[test]
fn what_was_armed_before_a_loss_may_have_been_armed_again_in_it() {
    let sleeps = (100, START, &[TIMER, WAKEUP, 1050, 1000, 1] as &[u64]);
    let wakes = (905_010, EXPIRE, &[TIMER, 905_000, WAKEUP] as &[u64]);
    let last = |records: &[_]| play(records).0.last().unwrap().1;
    let here = (900_000, LOST, &[0_u64] as &[u64]);
    assert_eq!(last(&[sleeps, here, wakes]), begin(1, 905_000, 0, 1), "its next sleep, unseen");
    let elsewhere = (900_000, LOST, &[1_u64] as &[u64]);
    assert_eq!(last(&[sleeps, elsewhere, wakes]), begin(1, 1000, 50, 1), "nothing is missing here");
    let before = (900, LOST, &[0_u64] as &[u64]);
    assert_eq!(last(&[sleeps, before, wakes]), begin(1, 1000, 50, 1), "it was not due yet");

    let wheel = (100, WHEEL_START, &[TIMER, WHEEL, 10, 10, 0, 0] as &[u64]);
    // Two ticks late.
    let fires = (905_010, WHEEL_EXPIRE, &[TIMER, 12, WHEEL] as &[u64]);
    let kept = last(&[wheel, before, fires]);
    let far = (u64::MAX / 2, LOST, &[0_u64] as &[u64]);
    assert_ne!(last(&[wheel, far, fires]), kept, "nothing is known of the wheel's timers then");
}

#[test]
fn other_clocks_come_as_monotonic() {
    let real = |ns: u64| ns + REAL_NS as u64;
    let boot = |ns: u64| ns + BOOT_NS as u64;
    let tai = |ns: u64| ns + TAI_NS as u64;
    let (events, _) = play(&[
        (100, START, &[TIMER, WAKEUP, real(1050), real(1000), 0]),
        (1061, EXPIRE, &[TIMER, real(1055), WAKEUP]),
        (2100, START, &[TIMER, WAKEUP, tai(2250), tai(2200), 0]),
        (2261, EXPIRE, &[TIMER, tai(2255), WAKEUP]),
        // The time since boot is known for what it is only when it expires.
        (2900, START, &[TIMER, WAKEUP, boot(3050), boot(3000), 0]),
        (3061, EXPIRE, &[TIMER, boot(3055), WAKEUP]),
        // Never: no clock's in particular.
        (4000, START, &[TIMER, WAKEUP, i64::MAX as u64, i64::MAX as u64, 0]),
    ]);
    let kinds: Vec<Kind> = events.into_iter().map(|(_, kind)| kind).collect();
    let expected = [
        arm(1, 1000, 50, 0),
        begin(1, 1000, 50, 0),
        // Atomic time is known from the wall clock at its expiry only.
        arm(1, 37_000_000_000 + 2200, 50, 0),
        begin(1, 2200, 50, 0),
        arm(1, boot(3000), 50, 0),
        begin(1, 3000, 50, 0),
        arm(1, i64::MAX as u64, 0, 0),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn the_wheels_ticks_become_nanoseconds_by_the_phase_of_the_tick() {
    let pinned = 0x0010_0000;
    let (events, tables) = play(&[
        // Ticks begin 1000 ns after whole multiples of 4 ms.
        (500, START, &[TIMER, TICK, TICK_NS + 1000, TICK_NS + 1000, 0]),
        (
            10 * TICK_NS + 1500,
            WHEEL_START,
            &[TIMER + 64, WHEEL, 4_294_900_005, 4_294_900_006, 4_294_900_002, pinned],
        ),
        (14 * TICK_NS + 2000, WHEEL_EXPIRE, &[TIMER + 64, 4_294_900_006, WHEEL]),
    ]);
    let soft_ns = 13 * TICK_NS + 1000;
    let mode = TimerMode::SOFT | TimerMode::PINNED;
    assert_eq!(events[1].1, arm(2, soft_ns, TICK_NS as u32, mode));
    assert_eq!(events[2].1, begin(2, soft_ns, TICK_NS as u32, mode));
    assert_eq!(tables.function(TimerId(2)), "process_timeout");
}
