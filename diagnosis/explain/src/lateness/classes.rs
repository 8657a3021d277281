//! A distribution in 4 KB: as many as there are threads on a system are kept.

/// Classes to a doubling: a quantile is within 3 %.
const TO_A_DOUBLING: u64 = 32;
const SHIFT: u32 = TO_A_DOUBLING.ilog2();

/// Below this all are one class, and above the other all are in the last.
const LEAST_SHIFT: u32 = 8;
const MOST_SHIFT: u32 = 40;

const CLASSES: usize = ((MOST_SHIFT - LEAST_SHIFT) as u64 * TO_A_DOUBLING) as usize + 1;

/// Counts of latenesses by class; the largest as it is.
#[derive(Debug)]
pub(super) struct Classes {
    counts: Box<[u32; CLASSES]>,
    count: u64,
    max_ns: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Self { counts: Box::new([0; CLASSES]), count: 0, max_ns: 0 }
    }
}

fn class_of(ns: u64) -> usize {
    let high = ns.max(1).ilog2();
    if high < LEAST_SHIFT {
        return 0;
    }
    let within = (ns >> (high - SHIFT)) & (TO_A_DOUBLING - 1);
    let at = u64::from(high - LEAST_SHIFT) * TO_A_DOUBLING + within + 1;
    (at as usize).min(CLASSES - 1)
}

/// The largest of a class.
fn until_ns(class: usize) -> u64 {
    if class == 0 {
        return (1 << LEAST_SHIFT) - 1;
    }
    let (doublings, within) =
        ((class as u64 - 1) / TO_A_DOUBLING, (class as u64 - 1) % TO_A_DOUBLING);
    let high = doublings as u32 + LEAST_SHIFT;
    ((TO_A_DOUBLING + within + 1) << (high - SHIFT)) - 1
}

impl Classes {
    pub(super) fn add(&mut self, ns: u64) {
        let count = &mut self.counts[class_of(ns)];
        *count = count.saturating_add(1);
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The end of the class in which the quantile lies, or the maximum where that is less.
    pub(super) fn quantile_ns(&self, q: f64) -> u64 {
        let enough = (self.count as f64 * q).ceil() as u64;
        let mut seen = 0;
        for (class, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= enough {
                return until_ns(class).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_ends_after_each_of_its_own_and_within_a_thirty_second() {
        for ns in [0, 255, 256, 257, 1000, 54_321, 1_000_000, 1 << 30, (1 << 40) - 1] {
            let until_ns = until_ns(class_of(ns));
            assert!(until_ns >= ns, "{ns}");
            assert!(ns < 256 || until_ns - ns <= ns / 32 + 1, "{ns}: {until_ns}");
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_of_what_was_added() {
        let mut classes = Classes::default();
        assert_eq!(classes.quantile_ns(0.99), 0);
        (1..=1000).for_each(|us| classes.add(us * 1000));
        assert_eq!((classes.count(), classes.max_ns()), (1000, 1_000_000));
        for (q, ns) in [(0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let found = classes.quantile_ns(q) as f64;
            assert!((found / ns - 1.0).abs() < 0.04, "{q}: {found}");
        }
    }
}
