//! What timers are used for: each workload makes a script of any size, the same one from the same seed.

mod bursts;
mod cancel;
mod hold;
mod late;
mod rearm;
mod storm;
mod writer;

use crate::script::Script;
use writer::Writer;

/// What timers are set to on average, in ticks: a second, where a tick is a microsecond.
pub const TIMEOUT_TICKS: u64 = 1_000_000;

/// One use of timers.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// How it is asked for.
    pub name: &'static str,
    /// What it does, in a clause.
    pub about: &'static str,
    /// How many timers it has, where that is not for the caller to say.
    pub size: Option<u32>,
    /// Writes operations until there are enough.
    make: fn(&mut Writer),
}

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "hold-exponential",
        about: "take the first, insert one: increments exponential",
        size: None,
        make: |writer| hold::make(writer, hold::exponential),
    },
    Workload {
        name: "hold-uniform",
        about: "the same, increments uniform from 0 to twice the mean",
        size: None,
        make: |writer| hold::make(writer, hold::uniform),
    },
    Workload {
        name: "hold-bimodal",
        about: "the same, nine of ten increments a tenth of the mean, one nine times the mean",
        size: None,
        make: |writer| hold::make(writer, hold::bimodal),
    },
    Workload {
        name: "hold-equal",
        about: "the same, all increments equal",
        size: None,
        make: |writer| hold::make(writer, hold::equal),
    },
    Workload {
        name: "rearm",
        about: "a random timer is moved later, and again, before it fires; one of a hundred fires",
        size: None,
        make: rearm::make,
    },
    Workload {
        name: "cancel",
        about: "insert, cancel before expiry; one of ten fires",
        size: None,
        make: cancel::make,
    },
    Workload {
        name: "storm",
        about: "one timer due in 300 ticks, moved every 20, among 40 that sleep 0 to 1000 ticks",
        size: Some(storm::TIMERS),
        make: storm::make,
    },
    Workload {
        name: "bursts",
        about: "10,000 are due at once, and are inserted again for one time",
        size: None,
        make: bursts::make,
    },
];

/// Not to be timed: everything at once, and timers of many times due at a look. Only here does it show
/// in which order they come.
pub const LATE: Workload = Workload {
    name: "late",
    about: "for checks: everything at once, looked at rarely",
    size: None,
    make: late::make,
};

impl Workload {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// At least `operations` operations with `size` timers, or as many as it has.
    pub fn script(&self, size: u32, operations: u64, seed: u64) -> Script {
        let mut writer = Writer::new(self.size.unwrap_or(size), operations, seed);
        (self.make)(&mut writer);
        writer.script()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Operation;

    /// Of what is timed: (inserted, cancelled, moved, fired).
    fn counts(name: &str, size: u32, operations: u64) -> [u64; 4] {
        let script = Workload::named(name).unwrap().script(size, operations, 1);
        let mut counts = [0; 4];
        for record in script.timed() {
            let operation = record.operation();
            let kind = match operation {
                Operation::Insert { .. } => 0,
                Operation::Cancel { .. } => 1,
                Operation::Rearm { .. } => 2,
                Operation::Pop { .. } => 3,
            };
            counts[kind] += operation.weight();
        }
        counts
    }

    #[test]
    fn all_but_one_of_a_hundred_moved_timers_never_fire() {
        let [inserted, cancelled, moved, fired] = counts("rearm", 1000, 200_000);
        assert_eq!((inserted, cancelled), (fired, 0));
        let share = fired as f64 / (fired + moved) as f64;
        assert!((0.008..0.012).contains(&share), "{share}");
    }

    #[test]
    fn nine_of_ten_are_cancelled() {
        let [inserted, cancelled, moved, fired] = counts("cancel", 1000, 200_000);
        assert_eq!((inserted, moved), (cancelled + fired, 0));
        let share = fired as f64 / inserted as f64;
        assert!((0.09..0.11).contains(&share), "{share}");
    }

    #[test]
    fn the_storm_moves_one_timer_that_never_fires() {
        // 50 moves per 1000 ticks, and 40 timers of 500 ticks in the mean, each popped and inserted.
        let [inserted, cancelled, moved, fired] = counts("storm", 0, 100_000);
        assert_eq!((inserted, cancelled), (fired, 0));
        let per_move = fired as f64 / moved as f64;
        assert!((1.5..1.7).contains(&per_move), "{per_move}");
    }

    #[test]
    fn the_same_seed_makes_the_same_script() {
        for workload in WORKLOADS {
            let words = |seed| format!("{:?}", workload.script(100, 1000, seed));
            assert_eq!(words(7), words(7), "{}", workload.name);
            if workload.name != "bursts" {
                assert_ne!(words(7), words(8), "{}", workload.name);
            }
        }
    }
}
