//! `tardy.compare/1`.

use super::changed_document::{ChangeDocument, SettingsDocument};
use super::gate::{Bound, Figure, GateOutcome, GateVerdict, JudgedGate};
use super::words::{letter, quantile_name, tells, tells_mean, verdict_sentence};
use super::{Compared, SideFacts, SideSample, Subject, table};
use serde::Serialize;
use std::collections::BTreeMap;
use tardy_stats::ab::{BandPoint, Basis, Comparison, Difference, QuantileDifference, Verdict};
use tardy_stats::{Interval, Quantile};

/// A comparison: `compare --json`. What is not known is `null`.
#[derive(Debug, Serialize)]
pub struct CompareDocument<'a> {
    schema: &'static str,
    sides: Vec<SideDocument<'a>>,
    settings: SettingsDocument<'a>,
    /// Of all that is compared together; one per later side.
    changes: Vec<ChangeDocument<'a>>,
    subjects: Vec<SubjectDocument<'a>>,
    gates: Vec<GateDocument<'a>>,
    /// Whether a gate failed.
    failed: bool,
    /// Whether none did, and one is undecided.
    undecided: bool,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct SideDocument<'a> {
    side: String,
    name: &'a str,
    given: &'a str,
    kind: &'static str,
    circumstances: BTreeMap<&'a str, &'a str>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct SubjectDocument<'a> {
    /// `null` where all threads are taken together.
    name: Option<&'a str>,
    sides: Vec<SampleDocument<'a>>,
    comparisons: Vec<ComparisonDocument<'a>>,
    /// Empty where there is no other subject.
    changes: Vec<ChangeDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct SampleDocument<'a> {
    side: String,
    samples: u64,
    blocks: usize,
    resolution_ns: u64,
    over_bins: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    max_ns: Option<u64>,
    quantiles: Vec<ValueDocument>,
    tail: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ValueDocument {
    name: String,
    q: f64,
    ns: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparisonDocument<'a> {
    a: String,
    b: String,
    verdict: &'static str,
    sentence: String,
    differs: DiffersDocument,
    detectable_ns: Option<f64>,
    why: Option<&'a str>,
    basis: &'static str,
    alpha: f64,
    mean: Option<DifferenceDocument>,
    quantiles: Vec<QuantileDocument>,
    ranks: RanksDocument,
    band: Vec<BandDocument>,
}

/// The figures that are shown to differ; all `false` and empty where none is.
#[derive(Debug, Default, Serialize)]
struct DiffersDocument {
    mean: bool,
    quantiles: Vec<String>,
    ranks: bool,
}

#[derive(Debug, Serialize)]
struct DifferenceDocument {
    a_ns: f64,
    b_ns: f64,
    b_minus_a: IntervalDocument,
    p: f64,
    p_holm: f64,
}

#[derive(Debug, Serialize)]
struct IntervalDocument {
    ns: f64,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
}

#[derive(Debug, Serialize)]
struct QuantileDocument {
    name: String,
    q: f64,
    a: OwnDocument,
    b: OwnDocument,
    #[serde(flatten)]
    difference: DifferenceDocument,
}

#[derive(Debug, Serialize)]
struct OwnDocument {
    ns: u64,
    low_ns: Option<u64>,
    high_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct RanksDocument {
    /// How often a value of B is above one of A, ties half.
    b_above_a: f64,
    z: f64,
    /// Taking all values for independent.
    p_values: f64,
    /// On the comparison's basis.
    p: f64,
    p_holm: f64,
}

#[derive(Debug, Serialize)]
struct BandDocument {
    q: f64,
    #[serde(flatten)]
    b_minus_a: IntervalDocument,
}

#[derive(Debug, Serialize)]
struct GateDocument<'a> {
    subject: Option<&'a str>,
    b: String,
    figure: String,
    bound_ns: Option<u64>,
    bound_share: Option<f64>,
    outcome: &'static str,
    /// B − A, or B − (1 + share) · A.
    difference: Option<IntervalDocument>,
    verdict: &'static str,
    /// How many values a side would decide an undecided one.
    needed: Option<u64>,
    sentence: String,
}

impl<'a> From<&'a Compared> for CompareDocument<'a> {
    fn from(compared: &'a Compared) -> Self {
        let sides = compared.sides.iter().enumerate();
        Self {
            schema: "tardy.compare/1",
            sides: sides.map(|(place, side)| SideDocument::new(place, side)).collect(),
            settings: (&compared.settings).into(),
            changes: ChangeDocument::of(&compared.changes),
            subjects: compared.subjects.iter().map(SubjectDocument::from).collect(),
            gates: compared.gates.iter().map(GateDocument::from).collect(),
            failed: compared.has(GateVerdict::Failed),
            undecided: !compared.has(GateVerdict::Failed) && compared.has(GateVerdict::Undecided),
            warnings: &compared.warnings,
        }
    }
}

impl<'a> SideDocument<'a> {
    fn new(place: usize, side: &'a SideFacts) -> Self {
        let circumstances = side.circumstances.iter();
        Self {
            side: letter(place),
            name: &side.name,
            given: &side.given,
            kind: side.kind.name(),
            circumstances: circumstances.map(|(name, value)| (&name[..], &value[..])).collect(),
            notes: &side.notes,
        }
    }
}

/// A name, or nothing where it is empty.
fn named(name: &str) -> Option<&str> {
    (!name.is_empty()).then_some(name)
}

impl<'a> From<&'a Subject> for SubjectDocument<'a> {
    fn from(subject: &'a Subject) -> Self {
        let quantiles = table::quantiles(subject);
        let sides = subject.sides.iter().enumerate();
        let comparisons = subject.comparisons.iter().enumerate();
        Self {
            name: named(&subject.name),
            sides: sides
                .map(|(place, side)| SampleDocument::new(place, side, &quantiles))
                .collect(),
            comparisons: comparisons
                .map(|(at, comparison)| ComparisonDocument::of_side(subject, at + 1, comparison))
                .collect(),
            changes: ChangeDocument::of(&subject.changes),
        }
    }
}

impl<'a> SampleDocument<'a> {
    fn new(place: usize, side: &'a SideSample, quantiles: &[f64]) -> Self {
        let whole = side.sample.whole();
        let is_whole = side.over_bins == 0 && !whole.is_empty();
        let value = |q: f64| ValueDocument {
            name: quantile_name(q),
            q,
            ns: whole.quantile_ns(q).filter(|_| side.tells(q)),
        };
        Self {
            side: letter(place),
            samples: whole.count(),
            blocks: side.sample.blocks.len(),
            resolution_ns: side.sample.resolution_ns,
            over_bins: side.over_bins,
            min_ns: side.min_ns(),
            mean_ns: is_whole.then(|| whole.mean_ns()),
            max_ns: side.max_ns(),
            quantiles: quantiles.iter().map(|q| value(*q)).collect(),
            tail: side.tail.as_deref(),
        }
    }
}

impl<'a> ComparisonDocument<'a> {
    fn of_side(subject: &Subject, place: usize, comparison: &'a Comparison) -> Self {
        let tells = |q: Option<f64>| match q {
            Some(q) => tells(subject, place, q),
            None => tells_mean(subject, place),
        };
        let sentence = verdict_sentence(subject, place);
        Self::new(letter(0), letter(place), sentence, comparison, tells)
    }

    /// Of two sides with names. A quantile, or the mean for `None`, that `tells` does not hold for is
    /// left out.
    pub(crate) fn new(
        a: String,
        b: String,
        sentence: String,
        comparison: &'a Comparison,
        tells: impl Fn(Option<f64>) -> bool,
    ) -> Self {
        let told = comparison.quantiles.iter().filter(|at| tells(Some(at.q)));
        let band = comparison.band.iter().filter(|at| tells(Some(at.q)));
        let (mut differs, mut detectable, mut why) = (DiffersDocument::default(), None, None);
        let verdict = match &comparison.verdict {
            Verdict::Differ { mean, quantiles, ranks } => {
                let quantiles = quantiles.iter().filter(|q| tells(Some(**q)));
                differs = DiffersDocument {
                    mean: *mean && tells(None),
                    quantiles: quantiles.map(|q| quantile_name(*q)).collect(),
                    ranks: *ranks,
                };
                "differ"
            }
            Verdict::NoDifferenceShown { detectable_ns } => {
                detectable = finite(*detectable_ns);
                "no_difference_shown"
            }
            Verdict::TooFew { why: reason } => {
                why = Some(&reason[..]);
                "too_few"
            }
        };
        let ranks = &comparison.ranks;
        Self {
            a,
            b,
            verdict,
            sentence,
            differs,
            detectable_ns: detectable,
            why,
            basis: match comparison.basis {
                Basis::Blocks => "blocks",
                Basis::Values => "values",
            },
            alpha: comparison.alpha,
            mean: tells(None).then(|| (&comparison.mean).into()),
            quantiles: told.map(QuantileDocument::from).collect(),
            ranks: RanksDocument {
                b_above_a: 1.0 - ranks.a,
                z: -ranks.z,
                p_values: ranks.p,
                p: comparison.ranks_p,
                p_holm: comparison.ranks_p_adjusted,
            },
            band: band.map(BandDocument::from).collect(),
        }
    }
}

fn finite(ns: f64) -> Option<f64> {
    ns.is_finite().then_some(ns)
}

impl From<&Interval> for IntervalDocument {
    fn from(interval: &Interval) -> Self {
        let Interval { value, low, high } = *interval;
        Self { ns: value, low_ns: finite(low), high_ns: finite(high) }
    }
}

impl From<&Difference> for DifferenceDocument {
    fn from(difference: &Difference) -> Self {
        Self {
            a_ns: difference.a,
            b_ns: difference.b,
            b_minus_a: (&difference.b_minus_a).into(),
            p: difference.p,
            p_holm: difference.p_adjusted,
        }
    }
}

impl From<&Quantile> for OwnDocument {
    fn from(quantile: &Quantile) -> Self {
        let Quantile { ns, low_ns, high_ns } = *quantile;
        Self { ns, low_ns, high_ns }
    }
}

impl From<&QuantileDifference> for QuantileDocument {
    fn from(at: &QuantileDifference) -> Self {
        Self {
            name: quantile_name(at.q),
            q: at.q,
            a: (&at.a).into(),
            b: (&at.b).into(),
            difference: (&at.difference).into(),
        }
    }
}

impl From<&BandPoint> for BandDocument {
    fn from(point: &BandPoint) -> Self {
        Self { q: point.q, b_minus_a: (&point.b_minus_a).into() }
    }
}

impl<'a> From<&'a JudgedGate> for GateDocument<'a> {
    fn from(judged: &'a JudgedGate) -> Self {
        let (outcome, difference) = match &judged.outcome {
            GateOutcome::Over { difference } => ("over", Some(difference)),
            GateOutcome::Under { difference } => ("under", Some(difference)),
            GateOutcome::Open { difference } => ("open", Some(difference)),
            GateOutcome::NotJudged { .. } => ("not_judged", None),
        };
        let (bound_ns, bound_share) = match judged.gate.bound {
            Bound::Ns(ns) => (Some(ns), None),
            Bound::Share(share) => (None, Some(share)),
        };
        Self {
            subject: named(&judged.subject),
            b: letter(judged.side),
            figure: Figure::name(judged.gate.figure),
            bound_ns,
            bound_share,
            outcome,
            difference: difference.map(IntervalDocument::from),
            verdict: judged.verdict().name(),
            needed: judged.needed,
            sentence: judged.sentence(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixture;
    use serde_json::Value;

    fn json(compared: &Compared) -> Value {
        serde_json::to_value(CompareDocument::from(compared)).unwrap()
    }

    #[test]
    fn compare_document() {
        let mut compared = fixture::compared(&[0, 5_000]);
        compared.subjects[0].comparisons[0].band.truncate(2);
        let document = CompareDocument::from(&compared);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn what_is_not_known_is_null() {
        let mut compared = fixture::compared(&[0, 5_000]);
        compared.subjects[0].name = "cyclic-0".to_owned();
        let n = compared.subjects[0].sides[1].sample.count();
        compared.subjects[0].sides[1].over_bins = n / 50;
        let interval = &mut compared.subjects[0].comparisons[0].quantiles[0].difference.b_minus_a;
        interval.low = f64::NEG_INFINITY;
        let document = json(&compared);
        let subject = &document["subjects"][0];
        assert_eq!(subject["name"], "cyclic-0");
        assert_eq!(subject["sides"][1]["mean_ns"], Value::Null);
        let comparison = &subject["comparisons"][0];
        assert_eq!(comparison["mean"], Value::Null);
        assert_eq!(comparison["differs"]["mean"], false);
        let told = comparison["quantiles"].as_array().unwrap();
        assert_eq!(told.len(), 2, "p99 and above lie above the bins: {told:?}");
        assert_eq!(told[0]["b_minus_a"]["low_ns"], Value::Null);
    }

    #[test]
    fn the_other_verdicts_have_names_too() {
        let verdict = |subject| {
            let compared = Compared { subjects: vec![subject], ..Compared::default() };
            json(&compared)["subjects"][0]["comparisons"][0].clone()
        };
        let alike = verdict(fixture::alike());
        assert_eq!(
            (&alike["verdict"], &alike["basis"]),
            (&"no_difference_shown".into(), &"values".into())
        );
        assert_eq!(alike["detectable_ns"], 312.0);
        assert_eq!(verdict(fixture::too_few())["verdict"], "too_few");
    }
}
