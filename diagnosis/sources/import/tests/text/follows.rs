//! What is followed through a text: queues of woken tasks, timers that are moved, clocks that are set.

use super::{Read, read};
use std::fmt::Write;
use tardy_model::event::{Call, ClockSet, ExpireBegin, TimerArm};
use tardy_model::{Kind, TaskId};

fn kinds(read: &Read) -> Vec<String> {
    let name = |kind: Kind| format!("{kind:?}").split('(').next().unwrap().to_owned();
    read.of_kinds().iter().map(|event| name(event.kind())).collect()
}

#[test]
fn where_a_task_is_queued_is_told_by_its_wakeup() {
    let waking = "a-7 [001] d... 5.000001: sched_waking: comm=b pid=8 prio=120 target_cpu=001\n";
    let wakeup = "a-7 [001] d... 5.000002: sched_wakeup: comm=b pid=8 prio=120 target_cpu=003\n";
    let both = read(format!("{waking}{wakeup}"));
    assert_eq!(kinds(&both), ["Waking", "Woken"]);
    let Kind::Woken(woken) = both.of_kinds()[1].kind() else { panic!() };
    assert_eq!((woken.target, woken.target_cpu.0), (TaskId(8), 3));
    // Alone it begins the wakeup too.
    let alone = read(wakeup);
    assert_eq!(kinds(&alone), ["Waking", "Woken"]);
    assert!(alone.of_kinds().iter().all(|event| event.time_ns == 5_000_002_000));
    assert!(!alone.closing.missing.iter().any(|missing| missing.contains("sched_waking")));
}

/// Who arms the timer last of `lines`, and in which call, by its events.
fn last_arming(lines: &[&str]) -> (TaskId, TimerArm) {
    let read = read(format!("# trace_clock: mono\n{}\n", lines.join("\n")));
    let mut arms = read.events.iter().filter_map(|event| match event.kind() {
        Kind::TimerArm(arm) => Some((read.tables.timer(arm.timer).owner, arm)),
        _ => None,
    });
    arms.next_back().unwrap()
}

#[test]
fn a_timer_that_hotplug_moves_stays_its_owners() {
    const SLEEPS: &str = "victim-900 [001] d... 5.000002: hrtimer_start: hrtimer=0xaa00 \
         function=hrtimer_wakeup expires=6000050000 softexpires=6000000000 mode=REL";
    const CALL: &str = "victim-900 [001] .... 5.000001: sys_clock_nanosleep(which_clock: 1)";
    const CANCELLED: &str = "cpuhp/1-30 [001] d... 5.500000: hrtimer_cancel: hrtimer=0xaa00";
    const MOVED: &str = "cpuhp/1-30 [001] d... 5.500001: hrtimer_start: hrtimer=0xaa00 \
         function=hrtimer_wakeup expires=6000050000 softexpires=6000000000 mode=ABS";
    for lines in [&[CALL, SLEEPS, MOVED][..], &[CALL, SLEEPS, CANCELLED, MOVED]] {
        let (owner, arm) = last_arming(lines);
        assert_eq!((owner, arm.call, arm.mode.0), (TaskId(900), Call::ClockNanosleep, 1));
    }
    // Another sleep, of another thread whose stack is the same memory.
    let others = MOVED.replace("6000", "6001");
    let (owner, arm) = last_arming(&[CALL, SLEEPS, &others]);
    assert_eq!((owner, arm.call), (TaskId(30), Call::Unknown));
    // Its owner gave it up.
    let given_up = CANCELLED.replace("cpuhp/1-30", "victim-900");
    let (owner, _) = last_arming(&[CALL, SLEEPS, &given_up, MOVED]);
    assert_eq!(owner, TaskId(30));
}

/// Absolute sleeps of 1 ms on `CLOCK_REALTIME`, which is set by `by_ns` before the one of this number, each
/// with its interrupt where `has_interrupts`, and woken 2 µs after its expiry.
fn sleeps(by_ns: i64, set_before: u64, has_interrupts: bool) -> String {
    const WALL_NS: i64 = 1_700_000_000_000_000_000;
    let mut text = "# trace_clock: mono\n".to_owned();
    for number in 0..40u64 {
        let ahead_ns = WALL_NS + if number >= set_before { by_ns } else { 0 };
        let armed_ns = 5_000_000_000 + number * 10_000_000;
        let expires = armed_ns as i64 + 1_000_000 + ahead_ns;
        let time = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let mut line = |ns: u64, what: String| {
            writeln!(text, "a-7 [001] d... {}: {what}", time(armed_ns + ns)).unwrap();
        };
        line(
            0,
            format!(
                "hrtimer_start: hrtimer=0xaa00 function=hrtimer_wakeup expires={expires} \
                 softexpires={expires} mode=ABS"
            ),
        );
        if has_interrupts {
            line(1_001_000, "local_timer_entry: vector=236".to_owned());
        }
        let now = expires + 1500;
        line(
            1_002_000,
            format!("hrtimer_expire_entry: hrtimer=0xaa00 function=hrtimer_wakeup now={now}"),
        );
        line(1_003_000, "hrtimer_expire_exit: hrtimer=0xaa00".to_owned());
        if has_interrupts {
            line(1_004_000, "local_timer_exit: vector=236".to_owned());
        }
    }
    text
}

/// How late each expiry is.
fn late(read: &Read) -> Vec<i64> {
    let late = |(time_ns, ExpireBegin { soft_ns, .. })| time_ns as i64 - soft_ns as i64;
    read.events
        .iter()
        .filter_map(|event| match event.kind() {
            Kind::ExpireBegin(begin) => Some((event.time_ns, begin)),
            _ => None,
        })
        .map(late)
        .collect()
}

fn settings(read: &Read) -> Vec<ClockSet> {
    let set = read.events.iter().filter_map(|event| match event.kind() {
        Kind::ClockSet(set) => Some(set),
        _ => None,
    });
    set.collect()
}

#[test]
fn a_clock_that_is_set_makes_nothing_late() {
    for by_ns in [3_000_000, -3_000_000, 700_000_000, -700_000_000, 30_000_000_000, -30_000_000_000]
    {
        for set_before in [2, 20] {
            let read = read(sleeps(by_ns, set_before, true));
            let late = late(&read);
            assert_eq!(late.len(), 40);
            assert!(late.iter().all(|late| (1000..3000).contains(late)), "{by_ns}: {late:?}");
            let settings = settings(&read);
            assert_eq!(settings.len(), 1, "{by_ns} {set_before}: {settings:?}");
            assert!(settings[0].by_ns.abs_diff(by_ns) < 2000, "{settings:?}");
            let before_ns = 5_000_000_000 + set_before * 10_000_000;
            assert!(settings[0].since_ns < before_ns, "{settings:?}");
        }
    }
    assert_eq!(settings(&read(sleeps(0, 20, true))), []);
}

#[test]
fn without_interrupts_a_clock_that_is_set_back_is_doubted_and_then_known() {
    let read = read(sleeps(-3_000_000, 20, false));
    let late = late(&read);
    // Never by more than what was slept.
    assert!(late.iter().all(|late| (0..1_100_000).contains(late)), "{late:?}");
    assert!(late[23..].iter().all(|late| *late < 3000), "{late:?}");
    assert_eq!(settings(&read).len(), 1);
}

#[test]
fn what_was_armed_before_the_clock_was_set_counts_from_the_setting_on() {
    // Ten sleeps on time; the last is to end 0.4 ms after the clock is set forward by 30 s.
    let mut text = sleeps(0, 0, true);
    text.push_str(
        "a-7 [001] d... 6.000000000: hrtimer_start: hrtimer=0xaa00 function=hrtimer_wakeup \
         expires=1700000006001000000 softexpires=1700000006001000000 mode=ABS\n\
         a-7 [001] d... 6.000600000: local_timer_entry: vector=236\n\
         a-7 [001] d... 6.000603000: hrtimer_expire_entry: hrtimer=0xaa00 \
         function=hrtimer_wakeup now=1700000036000602000\n",
    );
    let read = read(text);
    assert_eq!(late(&read).last(), Some(&3000), "since the interrupt");
    let settings = settings(&read);
    assert!(matches!(settings[..], [set] if set.by_ns.abs_diff(30_000_000_000) < 2000));
}
