//! Who waits for whom, on the model CPU.

use crate::cpu::Cpu;
use proptest::prelude::*;
use tardy_timers::policy::{Arm, Context, Settings};
use tardy_timers::{Expiry, Level, Priority};

const CALLBACK_NS: u64 = 7_000;

fn level(number: u8) -> Level {
    Level::new(number).unwrap()
}

fn level_of(arm: &Arm) -> u8 {
    match arm.class.priority {
        Priority::Level(level) => level.number(),
        Priority::Inherit => unreachable!("all have a level"),
    }
}

/// For how long callbacks of lower levels ran while one of a higher level was pending.
fn waited_for_lower_ns(name: &str, timers: &[(u64, u8)]) -> u64 {
    let settings = Settings::default();
    let mut cpu = Cpu::new(name, &settings, CALLBACK_NS);
    for (us, number) in timers {
        cpu.arm(Arm::kernel(Expiry::at(us * 1000)).at_level(level(*number)));
    }
    cpu.run();
    assert_eq!(cpu.ran.len(), timers.len());
    let mut waited_ns = 0;
    for high in &cpu.ran {
        for low in cpu.ran.iter().filter(|low| level_of(&low.arm) < level_of(&high.arm)) {
            // On one thread a callback runs without a break but for interrupts, so that what began
            // before the other one was begun, and was not done when that was pending, was waited for.
            let began_meanwhile = high.pending_ns <= low.begun_ns && low.begun_ns < high.begun_ns;
            waited_ns += u64::from(began_meanwhile) * CALLBACK_NS;
        }
        let slices =
            cpu.slices.iter().filter(|slice| slice.priority < urgency(&settings, high.arm));
        for slice in slices.filter(|_| name == "levels") {
            let from_ns = slice.from_ns.max(high.pending_ns);
            waited_ns += slice.to_ns.min(high.begun_ns).saturating_sub(from_ns);
        }
    }
    waited_ns
}

fn urgency(settings: &Settings, arm: Arm) -> u8 {
    match level_of(&arm) {
        0 => settings.common,
        number => settings.levels[usize::from(number) - 1],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_level_never_waits_for_a_lower_one(
        timers in proptest::collection::vec((0_u64..300, 0_u8..4), 1..60),
    ) {
        prop_assert_eq!(waited_for_lower_ns("levels", &timers), 0);
    }

    #[test]
    fn a_batch_is_in_time_order_at_the_highest_pending_priority(
        timers in proptest::collection::vec((0_u64..300, 0_u8..100), 1..60),
    ) {
        let mut cpu = Cpu::new("batch", &Settings::default(), CALLBACK_NS);
        for (us, priority) in &timers {
            cpu.arm(Arm::sleep(Expiry::at(us * 1000), *priority));
        }
        cpu.run();
        prop_assert!(cpu.ran.is_sorted_by_key(|ran| ran.arm.expiry), "strict time order");
        for (ran, next) in cpu.ran.iter().zip(cpu.ran.iter().skip(1)) {
            let is_equal = ran.arm.expiry == next.arm.expiry;
            let is_by_priority = ran.arm.task_priority >= next.arm.task_priority;
            prop_assert!(!is_equal || is_by_priority, "{:?} before {:?}", ran, next);
        }
        for slice in &cpu.slices {
            let pending = |ran: &&crate::cpu::Ran| {
                ran.pending_ns <= slice.from_ns && slice.from_ns <= ran.begun_ns
            };
            let highest = cpu.ran.iter().filter(pending).map(|ran| ran.arm.task_priority).max();
            prop_assert_eq!(slice.context, Context::TimerThread(0));
            prop_assert!(Some(slice.priority) >= highest, "{:?} below {:?}", slice, highest);
        }
    }
}

/// The test above can fail: with one thread for all levels they do wait.
#[test]
fn with_one_thread_a_level_waits_for_a_lower_one() {
    let timers = [(10, 1), (10, 1), (10, 3)];
    assert_eq!(waited_for_lower_ns("levels", &timers), 0);
    assert_eq!(waited_for_lower_ns("timer-thread", &timers), 2 * CALLBACK_NS);
}
