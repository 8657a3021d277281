//! How often the device is programmed for one timer that is due 300 us after it was last moved, is
//! moved every 20 us, and has only the tick beside it (Thomas Gleixner, "Re: [PATCH] hrtimer: Update
//! `softirq_expires_next` correctly after `__hrtimer_get_next_event()`", 2021-04-21).

use crate::plain::Plain;
use std::num::NonZeroU64;
use tardy_timers::Expiry;
use tardy_timers::policy::{self, Arm, Key, Policy, Settings, Step};

const US: u64 = 1000;
const NS_PER_S: u64 = 1_000_000_000;
const DUE_AFTER_NS: u64 = 300 * US;
const MOVED_EVERY_NS: u64 = 20 * US;
const TICKS: u64 = 10;

/// What one tick's worth of moves came to; every tick is the same.
#[derive(Debug, PartialEq)]
struct PerTick {
    moves: u64,
    /// Moves that program the device.
    programming: u64,
    /// How often they do.
    by_moves: u64,
    /// How often interrupts and softirqs do, beside the one that each tick needs.
    by_others: u64,
}

/// A CPU on which nothing takes time.
struct Story {
    policy: Box<dyn Policy<()>>,
    now_ns: u64,
    /// When the timer fired.
    fired: Vec<u64>,
}

impl Story {
    fn new(name: &str, jiffy_ns: u64) -> Self {
        let jiffy_ns = NonZeroU64::new(jiffy_ns).unwrap();
        let settings = Settings { jiffy_ns, ..Settings::default() };
        let policy = policy::build(name, &settings, &Plain::new).unwrap();
        Self { policy, now_ns: 0, fired: Vec::new() }
    }

    fn arm(&mut self) -> Key {
        let arm = Arm::kernel(Expiry::at(self.now_ns + DUE_AFTER_NS)).coarse().in_softirq();
        self.policy.arm(arm, ()).unwrap()
    }

    /// Serves the device up to `until_ns`, and at it only where `inclusive`.
    fn pass(&mut self, until_ns: u64, inclusive: bool) {
        while let Some(at_ns) = self.policy.device_ns()
            && (at_ns < until_ns || inclusive && at_ns == until_ns)
        {
            self.now_ns = self.now_ns.max(at_ns);
            self.policy.interrupt(self.now_ns);
            while let Some(runnable) = self.policy.runnable().first() {
                if let Some(Step::Fire(_)) = self.policy.step(runnable.context, self.now_ns) {
                    self.fired.push(self.now_ns);
                }
            }
        }
        self.now_ns = until_ns;
    }
}

/// Moves at `phase_ns` and every 20 us from then on, up to and including the tenth tick; a move that
/// coincides with an interrupt comes before it.
fn tell(name: &str, jiffy_ns: u64, phase_ns: u64) -> PerTick {
    let mut story = Story::new(name, jiffy_ns);
    story.pass(phase_ns, false);
    let key = story.arm();
    let mut ticks: Vec<PerTick> = Vec::new();
    let mut at_ns = phase_ns;
    for tick in 1..=TICKS {
        let (mut moves, mut programming, mut by_moves) = (0, 0, 0);
        let before = story.policy.programmed();
        while at_ns + MOVED_EVERY_NS <= tick * jiffy_ns {
            at_ns += MOVED_EVERY_NS;
            story.pass(at_ns, false);
            let before = story.policy.programmed();
            story.policy.rearm(key, Expiry::at(at_ns + DUE_AFTER_NS)).unwrap();
            let writes = story.policy.programmed() - before;
            moves += 1;
            programming += u64::from(writes > 0);
            by_moves += writes;
        }
        story.pass(tick * jiffy_ns, true);
        // What the tick's interrupt programs is the one write that each tick needs.
        let by_others = story.policy.programmed() - before - by_moves - 1;
        ticks.push(PerTick { moves, programming, by_moves, by_others });
    }
    assert!(story.fired.is_empty(), "{name}: it is moved before it is due");
    let last = ticks.pop().unwrap();
    assert_eq!(ticks.pop().as_ref(), Some(&last), "{name}: every tick is the same");
    last
}

/// Moves stop after `moves`: when does it fire, relative to its expiry?
fn lateness_ns(name: &str, jiffy_ns: u64, moves: u64) -> u64 {
    let mut story = Story::new(name, jiffy_ns);
    let key = story.arm();
    let mut expiry_ns = DUE_AFTER_NS;
    for n in 1..=moves {
        story.pass(n * MOVED_EVERY_NS, false);
        expiry_ns = n * MOVED_EVERY_NS + DUE_AFTER_NS;
        story.policy.rearm(key, Expiry::at(expiry_ns)).unwrap();
    }
    story.pass(expiry_ns + 3 * jiffy_ns, true);
    assert_eq!(story.fired.len(), 1, "{name}: once, and not never");
    story.fired[0].checked_sub(expiry_ns).expect("never early")
}

/// Moves that coincide with ticks, as in the mail: (tick - 300 us) / 20 us of them program.
///
/// Where a move programs twice, the last one before a tick does not: removing the old first programs
/// the device for the tick, and that stays the first. So 35 moves write 2 x 35 - 1 times.
const TABLE: &str = "
    policy                        HZ  moves  that program  writes  others' writes
    rearm-single                1000     50            35      35               0
    rearm-single                 250    200           185     185               0
    rearm-single                 100    500           485     485               0
    rearm-eager-double          1000     50            35      69               0
    rearm-eager-double           250    200           185     369               0
    rearm-eager-double           100    500           485     969               0
    rearm-lazy                  1000     50             0       0               3
    rearm-lazy                   250    200             0       0              13
    rearm-lazy                   100    500             0       0              33
    rearm-wheel                 1000     50             0       0               0
    rearm-wheel                  250    200             0       0               0
    rearm-wheel                  100    500             0       0               0
    softirq-expires-next-before 1000     50             1       1               1
    softirq-expires-next-before  250    200             1       1               1
    softirq-expires-next-after  1000     50            35      69               0
    softirq-expires-next-after   250    200           185     369               0
";

fn rows() -> impl Iterator<Item = (&'static str, u64, PerTick)> {
    TABLE.trim().lines().skip(1).map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let mut number = || words.next().unwrap().parse().unwrap();
        let hz: u64 = number();
        let (moves, programming, by_moves, by_others) = (number(), number(), number(), number());
        (name, NS_PER_S / hz, PerTick { moves, programming, by_moves, by_others })
    })
}

#[test]
fn so_often_is_the_device_programmed() {
    for (name, jiffy_ns, expected) in rows() {
        assert_eq!(tell(name, jiffy_ns, 0), expected, "{name}, a tick of {jiffy_ns} ns");
    }
}

#[test]
fn between_ticks_there_is_one_more_to_get_back_to_the_tick() {
    for (name, jiffy_ns, at_ticks) in rows().filter(|row| row.2.programming > 1) {
        let between = tell(name, jiffy_ns, MOVED_EVERY_NS / 2);
        assert_eq!(between.programming, at_ticks.programming + 1, "{name}");
        let writes_per_move = if name == "rearm-single" { 1 } else { 2 };
        assert_eq!(between.by_moves, at_ticks.by_moves + writes_per_move, "{name}");
    }
}

#[test]
fn lazy_programs_at_most_seven_percent_as_often_as_it_is_moved() {
    for (_, _, per_tick) in rows().filter(|row| row.0 == "rearm-lazy") {
        assert!((per_tick.by_moves + per_tick.by_others) * 100 <= per_tick.moves * 7);
    }
}

/// Whenever the moves stop, the timer fires once, and so much after its expiry at most.
#[test]
fn none_is_lost_and_so_late_are_they_at_most() {
    for (hz, name, latest_us) in [
        (1000, "rearm-single", 0),
        (1000, "rearm-eager-double", 0),
        (1000, "rearm-lazy", 0),
        // A wheel: less than its granule, here in steps of a move.
        (1000, "rearm-wheel", 1000 - 20),
        (250, "rearm-wheel", 4000 - 20),
        // The bug: the first move in a tick takes the device back to the next tick.
        (1000, "softirq-expires-next-before", 1000 - 300 - 20),
        (250, "softirq-expires-next-before", 4000 - 300 - 20),
        (1000, "softirq-expires-next-after", 0),
        (250, "softirq-expires-next-after", 0),
    ] {
        let latest = (0..250).map(|moves| lateness_ns(name, NS_PER_S / hz, moves)).max();
        assert_eq!(latest, Some(latest_us * US), "{name} at HZ {hz}");
    }
}
