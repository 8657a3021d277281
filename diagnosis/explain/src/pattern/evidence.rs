//! What of one wakeup is a pattern's: who took how much of it.

use super::Part;
use crate::label::LabelId;
use tardy_model::Prio;

/// What of one wakeup is a pattern's.
#[derive(Debug)]
pub struct Evidence {
    pub(super) ns: u64,
    pub(super) count: u64,
    pub(super) at_ns: Option<u64>,
    pub(super) prio: Option<Prio>,
    pub(super) culprits: Vec<(LabelId, u64)>,
    /// By label, its place among the culprits, and in the evidence of which number it had that.
    places: Vec<(u32, u32)>,
    /// How often this was cleared, from 1 on.
    number: u32,
}

impl Default for Evidence {
    fn default() -> Self {
        let (culprits, places) = (Vec::new(), Vec::new());
        Self { ns: 0, count: 0, at_ns: None, prio: None, culprits, places, number: 1 }
    }
}

impl Evidence {
    /// Who is to blame for a part of the lateness took all of it.
    #[inline]
    pub fn blame(&mut self, part: &Part<'_>) {
        self.add(part.label, part.segment.ns);
    }

    #[inline]
    fn add(&mut self, culprit: LabelId, ns: u64) {
        self.ns += ns;
        let at = culprit.0 as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, (0, 0));
        }
        let (place, number) = self.places[at];
        if number == self.number {
            self.culprits[place as usize].1 += ns;
        } else {
            self.places[at] = (self.culprits.len() as u32, self.number);
            self.culprits.push((culprit, ns));
        }
    }

    /// How many have been blamed.
    pub fn culprits_count(&self) -> u64 {
        self.culprits.len() as u64
    }

    /// How many of whatever the pattern counts: timers, boosts, nanoseconds at once.
    pub fn count(&mut self, count: u64) {
        self.count = count;
    }

    /// When the event happened that tells it.
    pub fn at(&mut self, time_ns: u64) {
        self.at_ns.get_or_insert(time_ns);
    }

    /// The priority that matters in it.
    pub fn prio(&mut self, prio: Prio) {
        self.prio = Some(prio);
    }

    pub(super) fn clear(&mut self) {
        self.ns = 0;
        self.count = 0;
        self.prio = None;
        self.at_ns = None;
        self.culprits.clear();
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.places.clear();
            self.number = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_many_culprits_stands_once() {
        let mut evidence = Evidence::default();
        for round in 1..=3u32 {
            evidence.clear();
            let count = 500 * round;
            for _ in 0..2 {
                (0..count).for_each(|number| evidence.add(LabelId(7 * number), 1));
            }
            assert_eq!(evidence.culprits_count(), u64::from(count));
            assert!(evidence.culprits.iter().all(|(_, ns)| *ns == 2));
            assert_eq!(evidence.ns, u64::from(2 * count));
        }
    }

    #[test]
    fn nobody_is_taken_for_one_of_so_many_evidences_before() {
        let mut evidence = Evidence::default();
        evidence.add(LabelId(3), 1);
        evidence.number = u32::MAX;
        evidence.clear();
        evidence.add(LabelId(3), 5);
        assert_eq!(evidence.culprits, [(LabelId(3), 5)]);
    }
}
