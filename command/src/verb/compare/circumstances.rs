//! What a reader must know of the sides before relying on any figure.

use super::opened::Opened;
use std::collections::BTreeSet;
use tardy_report::{SideSample, Subject, quantile_name, units};
use tardy_stats::ab::Basis;

/// Samples so many times as large as another one have a larger maximum for that alone.
const TIMES_LARGER: u64 = 2;

/// What a reader must know, a sentence each.
pub(super) fn warnings(sides: &[Opened], subjects: &[Subject]) -> Vec<String> {
    let reserve = |side: &Opened| Some(format!("{}: {}", side.facts.name, side.reserve.as_ref()?));
    let mut warnings: Vec<String> = sides.iter().filter_map(reserve).collect();
    let of = |told: fn(&Subject) -> Vec<String>| subjects.iter().flat_map(told);
    let told: Vec<String> = of(bins).chain(of(sizes)).chain(of(order)).collect();
    for warning in told {
        // Threads of one file mostly have the same to say.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// `before 1, after 2`.
fn each(subject: &Subject, of: impl Fn(&SideSample) -> String) -> String {
    let told = subject.sides.iter().map(|side| format!("{} {}", side.sample.name, of(side)));
    told.collect::<Vec<_>>().join(", ")
}

/// Sides whose values are not known in order of time.
fn order(subject: &Subject) -> Vec<String> {
    let is_by_values =
        subject.comparisons.iter().any(|comparison| comparison.basis == Basis::Values);
    let unordered: Vec<String> = subject
        .sides
        .iter()
        .filter(|side| !side.sample.is_ordered())
        .map(|side| side.sample.name.clone())
        .collect();
    if !is_by_values {
        return Vec::new();
    }
    let why = if unordered.is_empty() {
        "A side has too few blocks".to_owned()
    } else {
        format!("The order of {} in time is not known", unordered.join(" and "))
    };
    vec![format!(
        "{why}, so all values are treated as independent. If neighbours in time resemble each \
         other, the intervals are too narrow and p is too small. Recordings and experiments do not \
         have this problem: they are compared by blocks."
    )]
}

fn bins(subject: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    let width = |side: &SideSample| side.sample.resolution_ns;
    let widths: BTreeSet<u64> = subject.sides.iter().map(width).collect();
    if widths.len() > 1 {
        let widths = each(subject, |side| units::duration(width(side)));
        found.push(format!(
            "The resolutions differ: {widths}. The finer side is rounded to the coarser one; \
             smaller differences mean nothing."
        ));
    }
    for side in subject.sides.iter().filter(|side| side.over_bins > 0) {
        let n = side.sample.count();
        let known = 1.0 - side.over_bins as f64 / n as f64;
        found.push(format!(
            "{}: the tail is cut, {} of {} values lie above the histogram's bins. Quantiles up \
             to {} are compared; of higher ones and of the mean only a lower bound is known. \
             Measure with more bins (cyclictest -h) to compare them.",
            side.sample.name,
            units::count(side.over_bins),
            units::count(n),
            quantile_name((known * 1e6).floor() / 1e6)
        ));
    }
    found
}

/// Maxima of samples of different size.
fn sizes(subject: &Subject) -> Vec<String> {
    let counts: Vec<u64> = subject.sides.iter().map(|side| side.sample.count()).collect();
    let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else {
        return Vec::new();
    };
    if *most < least.saturating_mul(TIMES_LARGER) {
        return Vec::new();
    }
    let told = each(subject, |side| units::count(side.sample.count()));
    vec![format!(
        "The numbers of values differ: {}. A larger sample has a larger maximum for that reason \
            alone.",
        told
    )]
}

#[cfg(test)]
mod tests {
    use super::super::opened::Data;
    use super::*;
    use std::collections::BTreeMap;
    use tardy_report::SideFacts;
    use tardy_stats::{Counted, Sample};

    fn side(name: &str, reserve: Option<&str>) -> Opened {
        Opened {
            facts: SideFacts { name: name.to_owned(), ..SideFacts::default() },
            settings: BTreeMap::new(),
            account: Err(String::new()),
            reserve: reserve.map(str::to_owned),
            names: Vec::new(),
            data: Data::Series(Vec::new()),
        }
    }

    #[test]
    fn what_disturbed_an_experiment_is_a_warning() {
        let sides = [side("before", None), side("after", Some("not fit: a disturbance"))];
        assert_eq!(warnings(&sides, &[]), ["after: not fit: a disturbance"]);
        assert!(warnings(&sides[..1], &[]).is_empty());
    }

    #[test]
    fn samples_that_are_not_alike_are_told() {
        let sample = |name: &str, n: u64, resolution_ns, over_bins| SideSample {
            sample: Sample::unordered(name, Counted::new([(10_000, n)]), resolution_ns),
            over_bins,
            ..SideSample::default()
        };
        let subject = Subject {
            sides: vec![sample("A", 1_000, 1_000, 0), sample("B", 5_000, 10_000, 50)],
            ..Subject::default()
        };
        let told = warnings(&[], &[subject.clone(), subject]);
        let [widths, over, sizes] = &told[..] else { panic!("{told:?}") };
        assert!(widths.contains("A 1.0 µs, B 10.0 µs"), "{widths}");
        assert!(over.contains("50 of 5,000") && over.contains("up to p99 "), "{over}");
        assert!(sizes.contains("A 1,000, B 5,000"), "{sizes}");
    }
}
