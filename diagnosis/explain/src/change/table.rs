//! The table of a change.

use super::account::{Key, Sum, Taken};
use super::rounded::{nearest, rounded};
use std::collections::BTreeMap;
use tardy_model::Cause;

/// Why the lateness of one side's wakeups is not that of the other's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// How much later the second side is: in the mean of all, and of the worst 1 %.
    pub total: ChangeOf,
    /// How many wakeups those are: of all, and of the worst, on each side.
    pub wakeups: [[u64; 2]; 2],
    /// What each cause adds; rows sum to the total. The ones that add or take away most come first.
    pub causes: Vec<ChangeRow<Cause>>,
    /// What each group of culprits adds; rows sum to the total too.
    pub culprits: Vec<ChangeRow<Who>>,
}

/// A group of culprits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Its kind, as [`Label::kind`](crate::Label).
    pub kind: &'static str,
    /// What it is called; empty where nobody is known.
    pub name: String,
}

/// How much more it is per wakeup on the second side, in nanoseconds; below 0 where it is less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeOf {
    /// Of all wakeups.
    pub mean_ns: i64,
    /// Of the worst 1 %.
    pub worst_ns: i64,
}

/// What one of them adds to a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow<T> {
    /// Whose row it is.
    pub of: T,
    /// What it adds.
    pub adds: ChangeOf,
}

impl Change {
    /// The change from `a` to `b`; `None` where a side has no wakeup.
    pub fn between(a: &Taken, b: &Taken) -> Option<Self> {
        let all = Column::new(&a.all, &b.all)?;
        let worst = Column::new(&a.worst, &b.worst)?;
        Some(Self {
            total: ChangeOf { mean_ns: all.total(), worst_ns: worst.total() },
            wakeups: [[a.all.wakeups, b.all.wakeups], [a.worst.wakeups, b.worst.wakeups]],
            causes: rows(&all, &worst, |key| key.cause),
            culprits: rows(&all, &worst, |key| Who { kind: key.kind, name: key.name.clone() }),
        })
    }
}

impl ChangeOf {
    /// Both together, for a row of the rest.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            mean_ns: self.mean_ns.saturating_add(other.mean_ns),
            worst_ns: self.worst_ns.saturating_add(other.worst_ns),
        }
    }
}

/// What everybody adds to one mean: numerators over one denominator.
struct Column<'a> {
    by: BTreeMap<&'a Key, i128>,
    denominator: i128,
}

impl<'a> Column<'a> {
    fn new(a: &'a Sum, b: &'a Sum) -> Option<Self> {
        let (of_a, of_b) = (i128::from(a.wakeups), i128::from(b.wakeups));
        if of_a == 0 || of_b == 0 {
            return None;
        }
        // b / of_b − a / of_a.
        let mut by: BTreeMap<&Key, i128> = BTreeMap::new();
        for (key, ns) in &b.by {
            *by.entry(key).or_default() += i128::from(*ns) * of_a;
        }
        for (key, ns) in &a.by {
            *by.entry(key).or_default() -= i128::from(*ns) * of_b;
        }
        Some(Self { by, denominator: of_a * of_b })
    }

    fn total(&self) -> i64 {
        narrow(nearest(self.by.values().sum(), self.denominator))
    }

    /// What each of `all` adds, where `of` says whose a key is.
    fn rounded<T: Ord>(&self, all: &[T], of: impl Fn(&Key) -> T) -> Vec<i64> {
        let mut numerators = vec![0; all.len()];
        for (key, numerator) in &self.by {
            if let Ok(at) = all.binary_search(&of(key)) {
                numerators[at] += numerator;
            }
        }
        rounded(&numerators, self.denominator).into_iter().map(narrow).collect()
    }

    /// How much is moved at all, up or down.
    fn moved(adds: &[i64]) -> f64 {
        adds.iter().map(|ns| ns.unsigned_abs() as f64).sum::<f64>().max(1.0)
    }
}

/// Latenesses are `u64`, so a difference of means that an `i64` cannot hold is of made-up times.
fn narrow(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn rows<T: Ord + Clone>(
    all: &Column<'_>,
    worst: &Column<'_>,
    of: impl Fn(&Key) -> T,
) -> Vec<ChangeRow<T>> {
    let mut everybody: Vec<T> = all.by.keys().chain(worst.by.keys()).map(|key| of(key)).collect();
    everybody.sort();
    everybody.dedup();
    let (mean, worst) = (all.rounded(&everybody, &of), worst.rounded(&everybody, &of));
    // What matters is what is much in either.
    let (of_mean, of_worst) = (Column::moved(&mean), Column::moved(&worst));
    let weight = |adds: &ChangeOf| {
        let share = |ns: i64, of: f64| ns.unsigned_abs() as f64 / of;
        share(adds.mean_ns, of_mean).max(share(adds.worst_ns, of_worst))
    };
    let mut rows: Vec<ChangeRow<T>> = everybody
        .into_iter()
        .zip(mean.into_iter().zip(worst))
        .map(|(of, (mean_ns, worst_ns))| ChangeRow { of, adds: ChangeOf { mean_ns, worst_ns } })
        .collect();
    rows.sort_by(|a, b| weight(&b.adds).total_cmp(&weight(&a.adds)).then_with(|| a.of.cmp(&b.of)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAUSES: [&str; 4] = ["slack", "stacked_timers", "irq_delay", "unexplained"];

    fn key(cause: usize, name: u8) -> Key {
        Key { cause: Cause(CAUSES[cause]), kind: "task", name: name.to_string() }
    }

    fn taken(wakeups: u64, by: &[(usize, u8, u64)]) -> Taken {
        let by: BTreeMap<Key, u64> =
            by.iter().map(|(cause, name, ns)| (key(*cause, *name), *ns)).collect();
        let all = Sum { wakeups, by };
        Taken { worst: all.clone(), all }
    }

    #[test]
    fn what_one_side_alone_has_is_a_row_too() {
        let a = taken(10, &[(0, 1, 501_000), (2, 2, 20)]);
        let b = taken(20, &[(1, 3, 64_000), (2, 2, 40)]);
        let change = Change::between(&a, &b).unwrap();
        assert_eq!(change.total, ChangeOf { mean_ns: -46_900, worst_ns: -46_900 });
        let told: Vec<_> = change.causes.iter().map(|row| (row.of.0, row.adds.mean_ns)).collect();
        assert_eq!(told, [("slack", -50_100), ("stacked_timers", 3_200), ("irq_delay", 0)]);
        let told: Vec<_> =
            change.culprits.iter().map(|row| (row.of.name.as_str(), row.adds.mean_ns)).collect();
        assert_eq!(told, [("1", -50_100), ("3", 3_200), ("2", 0)]);
        assert_eq!(change.wakeups, [[10, 20], [10, 20]]);
        assert_eq!(Change::between(&Taken::default(), &b), None);
    }

    fn side() -> impl Strategy<Value = Taken> {
        let by = prop::collection::vec((0..CAUSES.len(), 0..9_u8, 0..1_u64 << 40), 0..30);
        (1..10_000_u64, by).prop_map(|(wakeups, by)| taken(wakeups, &by))
    }

    proptest! {
        #[test]
        fn rows_sum_to_the_change_to_the_nanosecond(a in side(), b in side()) {
            let change = Change::between(&a, &b).unwrap();
            let of = |adds: &mut dyn Iterator<Item = ChangeOf>| {
                adds.fold(ChangeOf::default(), ChangeOf::plus)
            };
            prop_assert_eq!(of(&mut change.causes.iter().map(|row| row.adds)), change.total);
            prop_assert_eq!(of(&mut change.culprits.iter().map(|row| row.adds)), change.total);
            let mean = |side: &Taken| side.all.ns() as f64 / side.all.wakeups as f64;
            // The change is that of the means, to the rounding; f64 holds these to less than that.
            let by_means = mean(&b) - mean(&a);
            prop_assert!((change.total.mean_ns as f64 - by_means).abs() <= 0.5 + by_means.abs() * 1e-9);
            // From B to A it is the same with the other sign, but for halves.
            let back = Change::between(&b, &a).unwrap();
            prop_assert!((back.total.mean_ns + change.total.mean_ns).abs() <= 1);
        }
    }
}
