//! The slack with which timers are armed: the most frequent value, and the range.

/// Different values that are counted. With more, the one that is rarest so far makes room and leaves its
/// count to the newcomer (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k
/// elements in data streams", 2005): a value with more than an eighth of all armings is always among
/// them.
const VALUES_MAX: usize = 8;

/// Slacks as they come, in nanoseconds; `u32::MAX` is 4.29 s or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slacks {
    counts: Vec<(u32, u64)>,
    range_ns: Option<(u32, u32)>,
}

impl Slacks {
    #[inline]
    pub(super) fn add(&mut self, ns: u32) {
        self.add_many(ns, 1);
        self.widen(ns, ns);
    }

    fn add_many(&mut self, ns: u32, times: u64) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == ns) {
            *count += times;
        } else if self.counts.len() < VALUES_MAX {
            self.counts.push((ns, times));
        } else if let Some(rarest) = self.counts.iter_mut().min_by_key(|(_, count)| *count) {
            *rarest = (ns, rarest.1 + times);
        }
    }

    fn widen(&mut self, least_ns: u32, most_ns: u32) {
        let (min, max) = self.range_ns.unwrap_or((least_ns, most_ns));
        self.range_ns = Some((min.min(least_ns), max.max(most_ns)));
    }

    /// Adds those of another.
    pub(super) fn merge(&mut self, other: &Self) {
        for (ns, count) in &other.counts {
            self.add_many(*ns, *count);
        }
        if let Some((min, max)) = other.range_ns {
            self.widen(min, max);
        }
    }

    /// The most frequent value, of equally frequent ones the least; `None` before the first. With more
    /// than eight different values it is exact only if it makes up more than an eighth.
    pub fn typical_ns(&self) -> Option<u32> {
        let most = self.counts.iter().max_by_key(|(ns, count)| (*count, std::cmp::Reverse(*ns)));
        most.map(|(ns, _)| *ns)
    }

    /// The least and the most.
    pub fn range_ns(&self) -> Option<(u32, u32)> {
        self.range_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_value_is_typical_and_the_range_is_of_all() {
        let mut slacks = Slacks::default();
        assert_eq!((slacks.typical_ns(), slacks.range_ns()), (None, None));
        for ns in [50_000, 1, 50_000, 7] {
            slacks.add(ns);
        }
        assert_eq!(slacks.typical_ns(), Some(50_000));
        assert_eq!(slacks.range_ns(), Some((1, 50_000)));
    }

    #[test]
    fn among_any_number_of_rare_values_the_frequent_one_is_found() {
        let mut slacks = Slacks::default();
        for round in 0..1000 {
            slacks.add(round);
            if round % 4 == 0 {
                slacks.add(50_000);
            }
        }
        assert_eq!(slacks.counts.len(), VALUES_MAX);
        assert_eq!(slacks.typical_ns(), Some(50_000));
        assert_eq!(slacks.range_ns(), Some((0, 50_000)));
    }

    #[test]
    fn two_together_are_as_one() {
        let (mut one, mut other) = (Slacks::default(), Slacks::default());
        for ns in [3, 3, 9] {
            one.add(ns);
        }
        for ns in [9, 9, 1] {
            other.add(ns);
        }
        one.merge(&other);
        assert_eq!((one.typical_ns(), one.range_ns()), (Some(9), Some((1, 9))));
    }
}
