//! Quantiles of values that stand for an interval each.

use crate::Counted;

/// Distinct values in ascending order with how many there are up to each, each standing for the
/// interval of `width` around it in which its occurrences lie evenly: the quantile of grouped data.
/// So a quantile moves with every value that moves, even where a bin of 1 µs holds most of them; at a
/// resolution of 1 ns it is within half a nanosecond of the nearest rank's.
pub(super) struct Grouped<'a> {
    classes: &'a [(u64, u64)],
    /// How many there are up to and with each class.
    up_to: Vec<u64>,
    width: f64,
}

impl<'a> Grouped<'a> {
    pub(super) fn new(counted: &'a Counted, width: u64) -> Self {
        let mut sum = 0;
        let up_to = counted.classes().iter().map(|&(_, count)| {
            sum += count;
            sum
        });
        Self { classes: counted.classes(), up_to: up_to.collect(), width: width as f64 }
    }

    pub(super) fn count(&self) -> u64 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// The value that a share `q` does not exceed; of the nearest share there is where it is outside
    /// 0–1, and 0 where there is no value at all.
    pub(super) fn quantile(&self, q: f64) -> f64 {
        let aim = (q * self.count() as f64).clamp(0.0, self.count() as f64);
        let at = self.up_to.partition_point(|&up_to| (up_to as f64) < aim);
        let Some(&(ns, count)) = self.classes.get(at) else { return 0.0 };
        let below = (self.up_to[at] - count) as f64;
        ns as f64 + self.width * ((aim - below) / count as f64 - 0.5)
    }

    /// How many lie above `bound`; a class that it cuts counts by its share.
    pub(super) fn above(&self, bound: f64) -> f64 {
        let half = self.width / 2.0;
        let at = self.classes.partition_point(|&(ns, _)| ns as f64 + half <= bound);
        let below = if at == 0 { 0 } else { self.up_to[at - 1] };
        // Only classes closer to each other than their width are cut together.
        let cut = self.classes[at..].iter().take_while(|&&(ns, _)| ns as f64 - half < bound);
        let not_above: f64 =
            cut.map(|&(ns, count)| count as f64 * (1.0 - share_above(ns, self.width, bound))).sum();
        (self.count() - below) as f64 - not_above
    }

    /// How many are up to each class, with its value.
    pub(super) fn classes_up_to(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.classes.iter().zip(&self.up_to).map(|(&(ns, count), &up_to)| (ns, count, up_to))
    }
}

/// The share of the interval of `width` around `ns` that lies above `bound`.
pub(super) fn share_above(ns: u64, width: f64, bound: f64) -> f64 {
    ((ns as f64 - bound) / width + 0.5).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_the_nearest_ranks_and_split_their_own_interval() {
        let counted = Counted::new([(1000, 30), (2000, 60), (9000, 10)]);
        let grouped = Grouped::new(&counted, 1000);
        // 20 of the 60 that lie between 1500 and 2500.
        assert!((grouped.quantile(0.5) - (1500.0 + 1000.0 * 20.0 / 60.0)).abs() < 1e-9);
        for q in [0.001, 0.3, 0.31, 0.9, 0.95, 1.0] {
            let bound = grouped.quantile(q);
            let nearest = counted.quantile_ns(q).unwrap() as f64;
            assert!((bound - nearest).abs() <= 500.0, "{q}: {bound} {nearest}");
            let above: f64 = counted
                .classes()
                .iter()
                .map(|&(ns, count)| count as f64 * share_above(ns, 1000.0, bound))
                .sum();
            assert!((above / 100.0 - (1.0 - q)).abs() < 1e-9, "{q}: {above}");
            assert!((grouped.above(bound) - above).abs() < 1e-9);
        }
        assert!(Grouped::new(&Counted::default(), 1).quantile(0.5).abs() < f64::EPSILON);
        assert!((grouped.quantile(-1.0) - 500.0).abs() < 1e-9);
        assert!((grouped.above(0.0) - 100.0).abs() < 1e-9 && grouped.above(1e9).abs() < 1e-9);
    }
}
