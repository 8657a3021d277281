//! How much of a group's weight each CPU has (`calc_group_shares` in `kernel/sched/fair.c`).
//!
//! A group weighs on a CPU as much of its own weight as the CPU has of its load: of what its threads there weigh, as a
//! mean that forgets half in 33.6 ms (`kernel/sched/pelt.c`).

/// The least that a group weighs (`MIN_SHARES`).
const WEIGHT_MIN: u64 = 2;

/// Means are kept up in steps of this length, ns.
pub(super) const STEP_NS: u64 = 1 << 10;

/// A mean forgets half in so many steps: 32 periods of 1.05 ms.
const HALF_LIFE: u64 = 1 << 15;

/// What is left of a mean after one step, of 2^32: 2^(−1/32768).
const LEFT: u64 = 4_294_876_445;

/// Means are kept in such parts of a weight.
const SHIFT: u32 = 16;

/// What weighs on a CPU in a group.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    at_ns: u64,
    weight: u64,
    mean: u64,
}

impl Load {
    /// The mean, at a time.
    fn mean(&self, now_ns: u64) -> u64 {
        let left = left_after(self.steps_to(now_ns));
        let full = self.weight << SHIFT;
        let apart = i128::from(self.mean) - i128::from(full);
        (i128::from(full) + ((apart * i128::from(left)) >> 32)) as u64
    }

    /// The whole steps from its last time to another.
    fn steps_to(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.at_ns) / STEP_NS
    }

    /// So much weighs from now on.
    fn weighs(&mut self, now_ns: u64, weight: u64) {
        self.mean = self.mean(now_ns);
        // What is left of a step belongs to the next one.
        self.at_ns += self.steps_to(now_ns) * STEP_NS;
        self.weight = weight;
    }
}

/// What is left of a mean after so many steps, of 2^32.
pub(super) fn left_after(steps: u64) -> u64 {
    if steps / HALF_LIFE >= 32 {
        return 0;
    }
    let (mut left, mut power, mut steps_left) = (1 << 32, LEFT, steps % HALF_LIFE);
    while steps_left > 0 {
        if steps_left & 1 == 1 {
            left = (left * power) >> 32;
        }
        power = (power * power) >> 32;
        steps_left >>= 1;
    }
    left >> (steps / HALF_LIFE)
}

/// The loads of all groups on all CPUs.
#[derive(Debug)]
pub(crate) struct Loads {
    cpus: usize,
    weights: Vec<u64>,
    /// Those of one group after each other.
    loads: Vec<Load>,
}

impl Loads {
    /// Of groups of such weights.
    pub(crate) fn new(weights: Vec<u64>, cpus: u16) -> Self {
        let cpus = usize::from(cpus);
        Self { cpus, loads: vec![Load::default(); weights.len() * cpus], weights }
    }

    /// So much weighs on a CPU in a group from now on. Says how much of the group's weight the CPU has.
    pub(super) fn weighs(&mut self, now_ns: u64, group: u32, cpu: usize, weight: u64) -> u64 {
        let group = group as usize;
        let of_group = &mut self.loads[group * self.cpus..][..self.cpus];
        of_group[cpu].weighs(now_ns, weight);
        let own = of_group[cpu].mean.max(weight << SHIFT);
        let others = of_group.iter().enumerate().filter(|(at, _)| *at != cpu);
        let others: u64 = others.map(|(_, load)| load.mean(now_ns)).sum();
        let all = u128::from(own) + u128::from(others);
        let whole = self.weights[group];
        let part = u128::from(whole) * u128::from(own) / all.max(1);
        (part as u64).clamp(WEIGHT_MIN, whole.max(WEIGHT_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn half_is_forgotten_in_32_periods() {
        let half = left_after(HALF_LIFE);
        assert_eq!(half, 1 << 31);
        let just_before = left_after(HALF_LIFE - 1);
        assert!((half..half + (1 << 18)).contains(&just_before), "{just_before}");
        assert_eq!(left_after(64 * HALF_LIFE), 0);
    }

    #[test]
    fn a_mean_is_kept_however_often_it_is_looked_at() {
        // A fifth of each 100 µs, and a fifth of each 300 ns.
        for period_ns in [100_000, 300] {
            let (mut load, mut now_ns) = (Load::default(), 0);
            while now_ns < 400 * MS {
                load.weighs(now_ns, 1000);
                load.weighs(now_ns + period_ns / 5, 0);
                now_ns += period_ns;
            }
            let mean = load.mean(now_ns) >> SHIFT;
            assert!((190..=210).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn a_group_weighs_where_its_threads_are() {
        let mut loads = Loads::new(vec![1024], 2);
        assert_eq!(loads.weighs(0, 0, 0, 1024), 1024, "alone on one CPU");
        assert_eq!(loads.weighs(1_000 * MS, 0, 1, 1024), 512, "as much on two");
        assert_eq!(loads.weighs(1_000 * MS, 0, 1, 3072), 768, "three of four on this one");
        // The other CPU's threads sleep for a second.
        loads.weighs(1_000 * MS, 0, 0, 0);
        assert_eq!(loads.weighs(1_000 * MS, 0, 1, 3072), 768, "what was there counts at first");
        assert_eq!(loads.weighs(2_000 * MS, 0, 1, 3072), 1024);
        assert_eq!(loads.weighs(2_000 * MS, 0, 0, 0), WEIGHT_MIN);
    }
}
