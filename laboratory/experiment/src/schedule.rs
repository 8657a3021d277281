//! Which condition runs when.

use fastrand::Rng;

/// One block to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Its place in the order of all, from 0.
    pub(crate) index: usize,
    /// Which condition, by its place among all.
    pub(crate) condition: usize,
    /// Which round, from 0.
    pub(crate) round: u32,
}

/// Every condition once a round, each round in an order of its own: what drifts hits all conditions
/// alike, and what comes regularly hits none more than another. The same for the same arguments, so
/// that a run that was ended goes on with what is missing.
pub(crate) fn schedule(conditions: &[usize], rounds: u32, seed: u64) -> Vec<Slot> {
    let mut random = Rng::with_seed(seed);
    let mut order = conditions.to_vec();
    let mut slots = Vec::with_capacity(conditions.len() * rounds as usize);
    for round in 0..rounds {
        shuffle(&mut random, &mut order);
        for &condition in &order {
            slots.push(Slot { index: slots.len(), condition, round });
        }
    }
    slots
}

/// As [`Rng::shuffle`] does it where words have 64 bits, so that a run's folder reads the same on every
/// machine.
fn shuffle(random: &mut Rng, order: &mut [usize]) {
    for at in 1..order.len() {
        order.swap(at, random.u64(..=at as u64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_order_is_that_of_the_library_where_words_have_64_bits() {
        for seed in 0..20 {
            let (mut ours, mut its) = ((0..17).collect::<Vec<_>>(), (0..17).collect::<Vec<_>>());
            shuffle(&mut Rng::with_seed(seed), &mut ours);
            Rng::with_seed(seed).shuffle(&mut its);
            assert_eq!(ours, its);
        }
    }

    #[test]
    fn every_condition_runs_once_a_round_in_orders_that_differ_and_repeat() {
        let slots = schedule(&[0, 2, 3], 20, 7);
        assert_eq!(slots, schedule(&[0, 2, 3], 20, 7));
        assert_ne!(slots, schedule(&[0, 2, 3], 20, 8));
        assert!(slots.iter().enumerate().all(|(place, slot)| slot.index == place));
        let rounds: Vec<Vec<usize>> = slots
            .chunks(3)
            .map(|round| round.iter().map(|slot| slot.condition).collect())
            .collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 2, 3]);
        }
        assert!(rounds.iter().any(|round| round != &rounds[0]));
        // A longer run begins as a shorter one.
        assert_eq!(schedule(&[0, 2, 3], 40, 7)[..60], slots[..]);
    }
}
