//! An interrupt that finds timers due again and again gives up, and puts the next one off.

use crate::plain::Plain;
use std::num::NonZeroU64;
use tardy_timers::Expiry;
use tardy_timers::policy::{self, Arm, Context, Policy, Program, Settings, Step};

const JIFFY_NS: u64 = 1_000_000;

fn build(name: &str, rounds: u32) -> Box<dyn Policy<u64>> {
    let settings =
        Settings { rounds, jiffy_ns: NonZeroU64::new(JIFFY_NS).unwrap(), ..Settings::default() };
    policy::build(name, &settings, &Plain::new).unwrap()
}

/// Timers 10 us apart from `from_ns` on; the name of each is when it expires.
fn arm(policy: &mut dyn Policy<u64>, from_ns: u64, timers: u64) {
    for at_ns in (0..timers).map(|number| from_ns + number * 10_000) {
        policy.arm(Arm::sleep(Expiry::at(at_ns), 1), at_ns).unwrap();
    }
}

/// Runs an interrupt whose callbacks take 25 us each: which timers it fired, and when it ended.
fn interrupt(policy: &mut dyn Policy<u64>, begin_ns: u64) -> (Vec<u64>, u64) {
    let (mut fired, mut now_ns) = (Vec::new(), begin_ns);
    policy.interrupt(now_ns);
    while let Some(step) = policy.step(Context::HardIrq, now_ns) {
        let Step::Fire(fire) = step else { panic!("{step:?}") };
        fired.push(fire.payload);
        now_ns += 25_000;
    }
    (fired, now_ns)
}

#[test]
fn after_three_rounds_the_next_interrupt_is_put_off_by_what_this_one_took() {
    for name in ["hardirq", "rearm-single", "softirq-expires-next-after"] {
        let mut policy = build(name, 3);
        arm(&mut *policy, 100_000, 20);
        // One is due at 100 us; until 125 us two more are, and five until 175 us.
        let (fired, end_ns) = interrupt(&mut *policy, 100_000);
        let expected = [100, 110, 120, 130, 140, 150, 160, 170].map(|us| us * 1_000);
        assert_eq!(fired, expected, "{name}");
        assert_eq!(end_ns, 300_000);
        assert_eq!(policy.put_off_ns(), Some(500_000), "{name}");
        assert_eq!(policy.program(), Program::At { at_ns: 500_000 });

        // Nothing that is armed, moved or cancelled meanwhile brings it forward.
        let key = policy.arm(Arm::sleep(Expiry::at(310_000), 1), 310_000).unwrap();
        policy.rearm(key, Expiry::at(320_000)).unwrap();
        assert_eq!((policy.program(), policy.device_ns()), (Program::Leave, Some(500_000)));
        policy.cancel(key).unwrap();
        assert_eq!((policy.program(), policy.device_ns()), (Program::Leave, Some(500_000)));

        // The rest, and no timer is due then: the device is programmed as ever.
        let (fired, end_ns) = interrupt(&mut *policy, 500_000);
        assert_eq!((fired.len(), end_ns), (12, 800_000), "{name}");
        assert_eq!((policy.put_off_ns(), policy.device_ns()), (None, Some(JIFFY_NS)), "{name}");
    }
}

#[test]
fn no_interrupt_is_put_off_by_more_than_a_tenth_of_a_second() {
    let mut policy = build("hardirq", 1);
    policy.arm(Arm::sleep(Expiry::at(100_000), 1), 0).unwrap();
    policy.arm(Arm::sleep(Expiry::at(200_000), 1), 1).unwrap();
    policy.interrupt(100_000);
    assert!(matches!(policy.step(Context::HardIrq, 100_000), Some(Step::Fire(_))));
    assert_eq!(policy.step(Context::HardIrq, 900_000_000), None);
    assert_eq!(policy.put_off_ns(), Some(1_000_000_000));
}

#[test]
fn who_never_gives_up_runs_all() {
    let mut policy = build("hardirq", 0);
    arm(&mut *policy, 100_000, 20);
    let (fired, _) = interrupt(&mut *policy, 100_000);
    assert_eq!((fired.len(), policy.put_off_ns()), (20, None));
}
