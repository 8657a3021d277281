//! How late all wakeups were, and each victim's own.

use crate::label::LabelId;
use tardy_stats::Latencies;

/// Victims with a distribution of their own (250 KB each); all others are in that of all only.
const VICTIMS_MAX: usize = 128;

/// Latenesses of a victim that are gathered before they are counted. A distribution is larger than what a
/// cache keeps of it from one wakeup to the next: what is counted together finds it there.
const GATHERED: usize = 512;

/// No victim's place: not asked for yet; and there is none left.
const NONE: u8 = u8::MAX;
const NONE_LEFT: u8 = NONE - 1;

/// All distributions.
#[derive(Debug, Default)]
pub(crate) struct Distributions {
    victims: Vec<OfVictim>,
    /// By label, where in `victims`.
    places: Vec<u8>,
    /// Of victims without one of their own, and how many they are.
    others: Latencies,
    others_count: u64,
}

#[derive(Debug)]
struct OfVictim {
    victim: LabelId,
    latencies: Latencies,
    gathered: Vec<u64>,
}

impl OfVictim {
    fn count(&mut self) {
        self.gathered.drain(..).for_each(|ns| self.latencies.record(ns));
    }
}

impl Distributions {
    /// A wakeup of a victim has ended.
    #[inline]
    pub(crate) fn record(&mut self, victim: LabelId, ns: u64) {
        let Some(place) = self.place(victim) else { return self.others.record(ns) };
        let of = &mut self.victims[place];
        of.gathered.push(ns);
        if of.gathered.len() == GATHERED {
            of.count();
        }
    }

    fn place(&mut self, victim: LabelId) -> Option<usize> {
        const { assert!(VICTIMS_MAX <= NONE_LEFT as usize, "a place is told from none") };
        let at = victim.0 as usize;
        match self.places.get(at) {
            None => self.places.resize(at + 1, NONE),
            Some(&NONE) => {}
            Some(&NONE_LEFT) => return None,
            Some(place) => return Some(usize::from(*place)),
        }
        let place = self.victims.len();
        if place == VICTIMS_MAX {
            self.places[at] = NONE_LEFT;
            self.others_count += 1;
            return None;
        }
        self.places[at] = place as u8;
        let gathered = Vec::with_capacity(GATHERED);
        self.victims.push(OfVictim { victim, latencies: Latencies::default(), gathered });
        Some(place)
    }

    /// Victims without one of their own.
    pub(crate) fn others_count(&self) -> u64 {
        self.others_count
    }

    /// That of all, and the victims' own, the first to come first.
    pub(crate) fn finish(mut self) -> (Latencies, Vec<(LabelId, Latencies)>) {
        let mut all = self.others;
        for of in &mut self.victims {
            of.count();
            all.merge(&of.latencies);
        }
        (all, self.victims.into_iter().map(|of| (of.victim, of.latencies)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lateness_is_counted_once_in_all_and_once_in_its_victims_own() {
        let mut distributions = Distributions::default();
        let (victims, each) = (VICTIMS_MAX as u32 + 10, GATHERED as u64 + 7);
        for ns in 0..each {
            (0..victims).for_each(|victim| distributions.record(LabelId(3 * victim), 1000 + ns));
        }
        assert_eq!(distributions.others_count(), 10);
        let (all, own) = distributions.finish();
        assert_eq!((all.count(), all.max_ns()), (u64::from(victims) * each, 1000 + each - 1));
        assert_eq!(own.len(), VICTIMS_MAX);
        for (at, (victim, latencies)) in own.iter().enumerate() {
            assert_eq!(*victim, LabelId(3 * at as u32));
            let figures = (latencies.count(), latencies.min_ns(), latencies.max_ns());
            assert_eq!(figures, (each, 1000, 1000 + each - 1));
        }
    }
}
