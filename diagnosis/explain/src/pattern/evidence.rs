//! What of one wakeup is a pattern's: who took how much of it.

use tardy_model::{Culprit, Prio};

/// Places in which culprits are looked for at first; a power of two. There are always twice as many places as
/// culprits, of which a wakeup has at most as many as a CPU's past has spans.
const PLACES_MIN: usize = 64;

/// What of one wakeup is a pattern's.
#[derive(Debug)]
pub struct Evidence {
    pub(super) ns: u64,
    pub(super) count: u64,
    pub(super) at_ns: Option<u64>,
    pub(super) prio: Option<Prio>,
    pub(super) culprits: Vec<(Culprit, u64)>,
    /// From [`first_place`] on, up to one that is free, which of the culprits has a place, and in the evidence of
    /// which number. Their count is a power of two.
    places: Vec<(u32, u32)>,
    /// How often this was cleared.
    number: u32,
}

impl Default for Evidence {
    fn default() -> Self {
        let (culprits, places) = (Vec::new(), vec![(0, 0); PLACES_MIN]);
        Self { ns: 0, count: 0, at_ns: None, prio: None, culprits, places, number: 1 }
    }
}

impl Evidence {
    /// A culprit took `ns` of the lateness.
    pub fn blame(&mut self, culprit: Culprit, ns: u64) {
        self.ns += ns;
        let place = self.place(culprit);
        let (at, number) = self.places[place];
        if number == self.number {
            self.culprits[at as usize].1 += ns;
            return;
        }
        self.places[place] = (self.culprits.len() as u32, self.number);
        self.culprits.push((culprit, ns));
        if self.culprits.len() * 2 > self.places.len() {
            self.grow();
        }
    }

    /// The place that a culprit has, or that is free for it.
    fn place(&self, culprit: Culprit) -> usize {
        let last = self.places.len() - 1;
        let mut place = first_place(culprit, last);
        loop {
            let (at, number) = self.places[place];
            if number != self.number || self.culprits[at as usize].0 == culprit {
                return place;
            }
            place = (place + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.places.len() * 2;
        self.places.clear();
        self.places.resize(places, (0, self.number.wrapping_sub(1)));
        for at in 0..self.culprits.len() {
            let place = self.place(self.culprits[at].0);
            self.places[place] = (at as u32, self.number);
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
    }
}

/// The same place for the same culprit, and mostly another for another; `last` is one less than a power of two.
fn first_place(culprit: Culprit, last: usize) -> usize {
    let number = match culprit {
        Culprit::Task(task) => task.0,
        Culprit::Timer(timer, _) => !timer.0,
        Culprit::SoftirqIn(_, task) => task.0 ^ 1 << 31,
        _ => 0,
    };
    // Neighbours in number lie apart: 2^32 divided by the golden ratio.
    (number.wrapping_mul(0x9E37_79B9) >> 16) as usize & last
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::{TaskId, TimerId};

    #[test]
    fn each_of_many_culprits_stands_once() {
        let mut evidence = Evidence::default();
        for round in 1..=3u32 {
            evidence.clear();
            let count = 500 * round;
            for _ in 0..2 {
                for number in 0..count {
                    evidence.blame(Culprit::Task(TaskId(number)), 1);
                    // They share a task, and are not the same.
                    evidence.blame(Culprit::Timer(TimerId(number % 7), TaskId(number)), 1);
                    evidence.blame(Culprit::Cpu(tardy_model::CpuId(number as u16)), 1);
                }
            }
            assert_eq!(evidence.culprits_count(), u64::from(3 * count));
            assert!(evidence.culprits.iter().all(|(_, ns)| *ns == 2));
            assert_eq!(evidence.ns, u64::from(6 * count));
        }
    }
}
