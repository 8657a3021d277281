//! Which quantiles a side bounds, and why not the others.

use super::gate::values_needed;
use super::{Figure, SideSample};
use crate::units::counted;
use tardy_stats::ab::quantile;

/// Those sides whose values do not bound a quantile: it has no 95 % interval there.
pub(super) fn unbounded(sides: [&SideSample; 2], q: f64) -> Vec<&SideSample> {
    let is_unbounded = |side: &&SideSample| {
        quantile(&side.sample, q).is_none_or(|quantile| quantile.high_ns.is_none())
    };
    sides.into_iter().filter(is_unbounded).collect()
}

/// Why the difference of a quantile is not known, in a clause: too few values, or too many of the late ones close to each
/// other.
pub fn why_unbounded(sides: [&SideSample; 2], q: f64) -> String {
    let figure = Figure::Quantile(q).name();
    let clause = |side: &SideSample| {
        let (name, n) = (&side.sample.name, side.sample.count());
        let values = counted(n, "value");
        if n < values_needed(q) {
            format!("{name} has {values}")
        } else {
            format!("{name} has {values}, of which the latest come close together in time")
        }
    };
    let clauses: Vec<String> = unbounded(sides, q).into_iter().map(clause).collect();
    if clauses.is_empty() {
        return format!("the sides do not bound {figure}: measure longer");
    }
    format!("{}, too few to bound {figure}: measure longer", clauses.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_stats::Sample;

    fn side(name: &str, series: &[u64]) -> SideSample {
        SideSample { sample: Sample::of_series(name, series, 20), ..SideSample::default() }
    }

    #[test]
    fn the_side_and_the_reason_are_named() {
        let scattered: Vec<u64> = (0..10_000).map(|at| at * 7_919 % 10_000).collect();
        // All late ones are in one of twenty blocks.
        let clumped: Vec<u64> =
            (0..10_000).map(|at| if at < 30 { 1_000_000 } else { at * 7_919 % 10_000 }).collect();
        let (few, many, clumped) =
            (side("few", &scattered[..500]), side("many", &scattered), side("clumped", &clumped));
        assert_eq!(
            why_unbounded([&few, &many], 0.999),
            "few has 500 values, too few to bound p99.9: measure longer"
        );
        assert_eq!(
            why_unbounded([&many, &clumped], 0.999),
            "clumped has 10,000 values, of which the latest come close together in time, too few to bound p99.9: \
             measure longer"
        );
        assert!(unbounded([&many, &many], 0.99).is_empty());
    }
}
