//! What of one wakeup is a pattern's: who took how much of it.

use tardy_model::{Culprit, Prio};

/// Culprits of one wakeup that are looked through for one that is blamed again.
const LOOKED_THROUGH: usize = 64;

/// Places in which a culprit is looked for before all are looked through; a power of two.
const PLACES: usize = 64;

/// What of one wakeup is a pattern's.
#[derive(Debug)]
pub struct Evidence {
    pub(super) ns: u64,
    pub(super) count: u64,
    pub(super) at_ns: Option<u64>,
    pub(super) prio: Option<Prio>,
    pub(super) culprits: Vec<(Culprit, u64)>,
    /// By [`place_of`], which of the culprits has it, and in the evidence of which number.
    places: [(u32, u32); PLACES],
    /// How often this was cleared.
    number: u32,
}

impl Default for Evidence {
    fn default() -> Self {
        let (culprits, places) = (Vec::new(), [(0, 0); PLACES]);
        Self { ns: 0, count: 0, at_ns: None, prio: None, culprits, places, number: 1 }
    }
}

impl Evidence {
    /// A culprit took `ns` of the lateness.
    pub fn blame(&mut self, culprit: Culprit, ns: u64) {
        self.ns += ns;
        // Of many the last ones are looked through: one that comes again later stands twice, and is summed
        // with the rest.
        let from = self.culprits.len().saturating_sub(LOOKED_THROUGH);
        let place = &mut self.places[place_of(culprit)];
        // A place that nobody had yet is that of one who was not blamed yet.
        let is_taken = place.1 == self.number;
        let last = if is_taken { place.0 as usize } else { usize::MAX };
        let is_last = self.culprits.get(last).is_some_and(|(known, _)| *known == culprit);
        let at = if is_last {
            Some(last).filter(|last| *last >= from)
        } else if is_taken {
            (from..self.culprits.len()).find(|at| self.culprits[*at].0 == culprit)
        } else {
            None
        };
        let at = at.unwrap_or_else(|| {
            self.culprits.push((culprit, 0));
            self.culprits.len() - 1
        });
        self.culprits[at].1 += ns;
        *place = (at as u32, self.number);
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

/// The same place for the same culprit, and mostly another for another.
fn place_of(culprit: Culprit) -> usize {
    let number = match culprit {
        Culprit::Task(task) => task.0,
        Culprit::Timer(timer, _) => !timer.0,
        _ => 0,
    };
    number as usize % PLACES
}
