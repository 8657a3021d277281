//! What was measured of something, and the distribution that is drawn from.

use super::pace::{Found, When};
use tardy_sim::{Cost, Entity, Stream};

/// Of more, as many are kept, each with the same chance.
const KEPT_MAX: usize = 1 << 15;

/// Parts of the distribution: each holds as many samples.
const BINS: usize = 256;

/// So many of the longest are drawn as they were.
const TAIL: usize = 256;

/// So many times what nine of ten do not exceed, or this, is far.
const FAR: u64 = 20;
const FAR_FROM_NS: u64 = 1_000;

/// As many far ones are no accident.
const STRANGE_MAX: usize = 8;

/// Of fewer, one in ten may be an accident: what half of them do not exceed counts.
const FEW: usize = 10 * STRANGE_MAX;

/// Durations, ns, and what is known of each: when and where it was measured, or something else.
#[derive(Clone, Debug)]
pub(crate) struct Samples<Known = When> {
    kept: Vec<u64>,
    known: Vec<Known>,
    seen: u64,
    is_closed: bool,
}

impl<Known> Default for Samples<Known> {
    fn default() -> Self {
        Self { kept: Vec::new(), known: Vec::new(), seen: 0, is_closed: false }
    }
}

/// Half of them are below; there is one at least.
pub(super) fn median(ns: &mut [u64]) -> u64 {
    let middle = ns.len() / 2;
    *ns.select_nth_unstable(middle).1
}

impl Samples {
    /// Each becomes what it would have been at the usual pace of its CPU.
    pub(crate) fn at_usual_pace(&mut self, paces: &Found) {
        for (ns, when) in self.kept.iter_mut().zip(&self.known) {
            *ns = paces.at_usual_ns(*when, *ns);
        }
    }
}

impl<Known: Copy> Samples<Known> {
    pub(crate) fn add(&mut self, known: Known, ns: u64) {
        if self.is_closed {
            return;
        }
        self.seen += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(ns);
            self.known.push(known);
            return;
        }
        // Reservoir sampling (Vitter's algorithm R); what is drawn depends on the number of the sample alone.
        let mut stream = Stream::new(self.seen, Entity::Maker, 1);
        let at = stream.below(self.seen) as usize;
        if at < KEPT_MAX {
            (self.kept[at], self.known[at]) = (ns, known);
        }
    }

    /// Those of others that are kept are kept here too, all of them, and count as what was seen: what is taken apart and put
    /// together again stays the same.
    pub(crate) fn join(&mut self, others: impl Iterator<Item = (u64, Known)>) {
        for (ns, known) in others {
            self.kept.push(ns);
            self.known.push(known);
        }
        self.seen = self.kept.len() as u64;
    }

    /// What comes from now on is not taken, unless there is nothing yet.
    pub(crate) fn close(&mut self) {
        self.is_closed = self.seen > 0;
    }

    /// Those that are kept, which weigh so much together.
    pub(crate) fn weighted(&self, weight: f64) -> impl Iterator<Item = (u64, f64)> {
        let each = weight / self.kept.len().max(1) as f64;
        self.kept.iter().map(move |ns| (*ns, each))
    }

    pub(crate) fn count(&self) -> u64 {
        self.seen
    }

    fn sorted(&self) -> Vec<u64> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted
    }

    /// Half are below; `None` where there is none.
    pub(crate) fn median(&self) -> Option<u64> {
        let sorted = self.sorted();
        sorted.get(sorted.len() / 2).copied()
    }

    /// Their mean, but for those far above half of them, which something else held up; `None` where there is none.
    pub(crate) fn mean(&self) -> Option<u64> {
        let most_ns = self.median()?.saturating_mul(4);
        let near = || self.kept.iter().filter(|ns| **ns <= most_ns);
        Some(near().sum::<u64>() / near().count().max(1) as u64)
    }

    /// The distribution, less something that is drawn elsewhere; nothing where there is none.
    pub(crate) fn cost(&self, less_ns: u64) -> Cost {
        Self::together(std::iter::once((self, less_ns)))
    }

    /// Those that are no longer than so.
    pub(crate) fn up_to(&self, most_ns: u64) -> Self {
        self.those(|ns, _| ns <= most_ns)
    }

    /// Some of those that are kept, by how long they are and what is known of them.
    pub(crate) fn those(&self, is_one: impl Fn(u64, Known) -> bool) -> Self {
        let each = self.each().filter(|(ns, known)| is_one(*ns, *known));
        let (kept, known): (Vec<u64>, Vec<Known>) = each.unzip();
        Self { seen: kept.len() as u64, kept, known, is_closed: false }
    }

    /// Each made so many times as long.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let kept = self.kept.iter().map(|ns| (*ns as f64 * factor) as u64).collect();
        Self { kept, known: self.known.clone(), ..*self }
    }

    /// Those that are kept, and what is known of them.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u64, Known)> {
        self.kept.iter().copied().zip(self.known.iter().copied())
    }

    /// The same of several, each less something.
    pub(crate) fn together<'a>(all: impl Iterator<Item = (&'a Self, u64)>) -> Cost
    where
        Known: 'a,
    {
        let less = |(samples, less_ns): (&'a Self, u64)| {
            samples.kept.iter().map(move |ns| ns.saturating_sub(less_ns))
        };
        let mut sorted: Vec<u64> = all.flat_map(less).collect();
        sorted.sort_unstable();
        sorted.truncate(sorted.len() - strange(&sorted));
        // Between the longest ones lies nothing that was measured: each is a bin of its own.
        let (body, tail) = sorted.split_at(sorted.len().saturating_sub(TAIL));
        let parts = body.chunks(body.len().div_ceil(BINS).max(1)).chain(tail.chunks(1));
        let bins = parts.map(|part| (part[0], part[part.len() - 1], part.len() as u64));
        Cost::histogram(bins.collect()).unwrap_or(Cost::ZERO)
    }
}

/// How many at the end of a sorted sample are far beyond all others, and too few to say how often such come: something
/// else was in their way. Where a victim met them, they are in what is not modelled.
fn strange(sorted: &[u64]) -> usize {
    let at = if sorted.len() < FEW { sorted.len() / 2 } else { sorted.len() * 9 / 10 };
    let Some(most) = sorted.get(at) else { return 0 };
    let far_ns = (*most).max(FAR_FROM_NS) * FAR;
    let far = sorted.len() - sorted.partition_point(|ns| *ns <= far_ns);
    if far < STRANGE_MAX { far } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Paces;
    use super::*;

    fn now() -> When {
        Paces::when(0, 0)
    }

    #[test]
    fn what_is_drawn_is_as_what_was_measured() {
        let mut samples = Samples::default();
        for ns in 0..100_000u64 {
            samples.add(now(), 1_000 + ns % 100 + if ns % 1_000 == 0 { 50_000 } else { 0 });
        }
        let cost = samples.cost(1_000);
        let mut stream = Stream::new(1, Entity::Maker, 2);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| cost.draw(&mut stream)).collect();
        drawn.sort_unstable();
        assert!((40..60).contains(&drawn[50_000]), "{}", drawn[50_000]);
        let far = drawn.iter().filter(|ns| **ns >= 50_000).count();
        assert!((50..200).contains(&far), "{far}");
        assert_eq!(Samples::<When>::default().cost(0).draw(&mut stream), 0);
    }

    #[test]
    fn what_is_put_together_again_is_as_it_was() {
        let mut all = Samples::default();
        (0..2 * KEPT_MAX as u64).for_each(|ns| all.add(now(), ns));
        let mut again = all.those(|ns, _| ns % 2 == 0);
        again.join(all.those(|ns, _| ns % 2 == 1).each());
        again.join(all.each());
        assert_eq!(again.count(), 2 * KEPT_MAX as u64);
        let sum = |samples: &Samples| samples.each().map(|(ns, _)| ns).sum::<u64>();
        assert_eq!(sum(&again), 2 * sum(&all));
    }

    #[test]
    fn an_accident_is_not_drawn_again() {
        for count in [2, 5, 20, 200] {
            let mut samples = Samples::default();
            (0..count).for_each(|ns| samples.add(now(), 1_000 + ns));
            samples.add(now(), 3_000_000);
            let cost = samples.cost(0);
            let mut stream = Stream::new(1, Entity::Maker, 2);
            assert!((0..1_000).all(|_| cost.draw(&mut stream) < 2_000), "{count}");
        }
    }
}
