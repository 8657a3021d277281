//! What besides the thing that is compared differs between the sides.

use super::opened::Opened;
use std::collections::BTreeSet;
use tardy_report::{Subject, letter, quantile_name, units};
use tardy_stats::ab::Basis;

/// Settings that differ are listed up to this many.
const SETTINGS_MAX: usize = 8;

/// Samples so many times as large as another one have a larger maximum for that alone.
const TIMES_LARGER: u64 = 2;

/// What a reader must know, a sentence each.
pub(super) fn warnings(sides: &[Opened], subjects: &[Subject]) -> Vec<String> {
    let mut warnings = differing(sides);
    warnings.extend(settings(sides));
    warnings.extend(sides.iter().enumerate().filter_map(|(place, side)| {
        Some(format!("{}: {}", letter(place), side.reserve.as_ref()?))
    }));
    let each = |told: fn(&Subject) -> Vec<String>| subjects.iter().flat_map(told);
    let told: Vec<String> = each(order).chain(each(bins)).chain(each(sizes)).collect();
    for warning in told {
        // Threads of one file mostly have the same to say.
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Circumstances that are told of several sides, and are not the same.
fn differing(sides: &[Opened]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in sides.iter().flat_map(|side| &side.facts.circumstances) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let of = |side: &Opened, name: &str| {
        side.facts.circumstances.iter().find(|(known, _)| known == name).map(|told| told.1.clone())
    };
    let mut found: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let told: Vec<Option<String>> = sides.iter().map(|side| of(side, name)).collect();
            differs(&told).map(|values| format!("{name} differs: {values}"))
        })
        .collect();
    if let [only] = &mut found[..] {
        only.push_str(". What differs is what may be the reason");
    } else if let Some(last) = found.last_mut() {
        last.push_str(". Which of these is the reason the figures do not tell");
    }
    for sentence in &mut found {
        sentence.push('.');
    }
    found
}

/// `A 1, B 2`, where at least two are told and differ.
fn differs(told: &[Option<String>]) -> Option<String> {
    let distinct: BTreeSet<&String> = told.iter().flatten().collect();
    let each = told.iter().enumerate();
    let values: Vec<String> = each
        .filter_map(|(place, value)| Some(format!("{} {}", letter(place), value.as_ref()?)))
        .collect();
    (distinct.len() > 1).then(|| values.join(", "))
}

fn settings(sides: &[Opened]) -> Option<String> {
    let names: BTreeSet<&String> = sides.iter().flat_map(|side| side.settings.keys()).collect();
    let mut found: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let told: Vec<_> = sides.iter().map(|side| side.settings.get(name).cloned()).collect();
            differs(&told).map(|values| format!("{name} ({values})"))
        })
        .collect();
    let more = found.len().saturating_sub(SETTINGS_MAX);
    found.truncate(SETTINGS_MAX);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    (!found.is_empty()).then(|| format!("Settings differ: {}.", found.join("; ")))
}

/// Sides whose values are not known in order of time.
fn order(subject: &Subject) -> Vec<String> {
    let is_by_values =
        subject.comparisons.iter().any(|comparison| comparison.basis == Basis::Values);
    let unordered: Vec<String> = subject
        .sides
        .iter()
        .enumerate()
        .filter(|(_, side)| !side.sample.is_ordered())
        .map(|(place, _)| letter(place))
        .collect();
    if !is_by_values {
        return Vec::new();
    }
    let why = if unordered.is_empty() {
        "A side has too few blocks".to_owned()
    } else {
        format!("The order in time of {} is not known", unordered.join(" and "))
    };
    vec![format!(
        "{why}, so all values are taken for independent. Where neighbours in time resemble each other, \
         intervals are too narrow and p too small: recordings and experiments are compared by blocks \
         instead."
    )]
}

fn bins(subject: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    let widths: Vec<Option<String>> =
        subject.sides.iter().map(|side| Some(units::duration(side.sample.resolution_ns))).collect();
    if let Some(widths) = differs(&widths) {
        found.push(format!(
            "What is told apart differs: {widths}. The finer is cut down to the coarser; smaller \
             differences mean nothing."
        ));
    }
    for (place, side) in subject.sides.iter().enumerate().filter(|(_, side)| side.over_bins > 0) {
        let n = side.sample.count();
        let known = 1.0 - side.over_bins as f64 / n as f64;
        found.push(format!(
            "{}: {} of {} values lie above the histogram's bins. The mean and quantiles above {} are \
             not compared; more bins (cyclictest -h) would tell them.",
            letter(place),
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
    let told: Vec<String> = counts
        .iter()
        .enumerate()
        .map(|(place, n)| format!("{} {}", letter(place), units::count(*n)))
        .collect();
    vec![format!(
        "Numbers of values differ: {}. The larger one's maximum is larger for that alone.",
        told.join(", ")
    )]
}

#[cfg(test)]
mod tests {
    use super::super::opened::Data;
    use super::*;
    use tardy_report::{SideFacts, SideSample};
    use tardy_stats::{Counted, Sample};

    fn side(circumstances: &[(&str, &str)], settings: &[(&str, &str)]) -> Opened {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Opened {
            facts: SideFacts {
                circumstances: circumstances.iter().map(pair).collect(),
                ..SideFacts::default()
            },
            settings: settings.iter().map(pair).collect(),
            reserve: None,
            names: Vec::new(),
            data: Data::Series(Vec::new()),
        }
    }

    #[test]
    fn only_what_is_told_of_several_and_differs_is_a_warning() {
        let sides = [
            side(&[("kernel", "6.1"), ("host", "zynq")], &[("timer_migration", "1"), ("nmi", "0")]),
            side(&[("kernel", "6.2"), ("host", "zynq")], &[("timer_migration", "0"), ("nmi", "0")]),
            side(&[("interval", "1 ms")], &[]),
        ];
        assert_eq!(
            warnings(&sides, &[]),
            [
                "kernel differs: A 6.1, B 6.2. What differs is what may be the reason.",
                "Settings differ: timer_migration (A 1, B 0)."
            ]
        );
        assert!(warnings(&sides[..1], &[]).is_empty());
    }

    #[test]
    fn what_disturbed_an_experiment_is_a_warning() {
        let reserve = Some("not fit to be compared: a disturbance".to_owned());
        let sides = [side(&[], &[]), Opened { reserve, ..side(&[], &[]) }];
        assert_eq!(warnings(&sides, &[]), ["B: not fit to be compared: a disturbance"]);
    }

    #[test]
    fn samples_that_are_not_alike_are_told() {
        let sample = |n: u64, resolution_ns, over_bins| SideSample {
            sample: Sample::unordered("A", Counted::new([(10_000, n)]), resolution_ns),
            over_bins,
            ..SideSample::default()
        };
        let subject = Subject {
            sides: vec![sample(1_000, 1_000, 0), sample(5_000, 10_000, 50)],
            ..Subject::default()
        };
        let told = warnings(&[], &[subject.clone(), subject]);
        let [widths, over, sizes] = &told[..] else { panic!("{told:?}") };
        assert!(widths.contains("A 1.0 µs, B 10.0 µs"), "{widths}");
        assert!(over.contains("B: 50 of 5,000") && over.contains("above p99 "), "{over}");
        assert!(sizes.contains("A 1,000, B 5,000"), "{sizes}");
    }
}
