//! The answer to an experiment's question, in a sentence or two that the comparisons bear.

use super::measured::Shown;
use super::table::view;
use crate::compare::words::{is_same, listed, plain, quantile_name};
use crate::units::count;
use std::collections::BTreeMap;
use tardy_experiment::{Fit, Pair, Place};
use tardy_stats::Interval;
use tardy_stats::ab::{Comparison, Verdict};

/// Names told in one sentence; the table has all.
const NAMES_MAX: usize = 4;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// B later in every figure that differs.
    Later,
    /// B earlier in every figure that differs.
    Earlier,
    /// Both, in different figures or series.
    BothWays,
    /// Nothing shown.
    NotShown,
    /// Nothing can be said.
    TooFew,
}

/// All that is compared of one condition, or method, against the one that it is compared with.
struct Subject<'a> {
    a: String,
    b: String,
    /// The condition that both are of, where they are methods and there is another one.
    under: Option<String>,
    pairs: Vec<&'a Pair>,
}

/// The answer. Nothing is said to differ without a test; what makes it doubtful comes first.
pub(super) fn sentences(shown: &Shown<'_>) -> Vec<String> {
    let mut sentences: Vec<String> = reserve(shown).into_iter().collect();
    if shown.measured.iter().all(|one| one.whole.is_empty()) {
        sentences.push("Nothing was measured, so there is no answer.".to_owned());
        return sentences;
    }
    let view = view(shown.results.experiment.table);
    let verbs = view.verbs();
    let mut by_outcome: BTreeMap<Outcome, Vec<Subject<'_>>> = BTreeMap::new();
    for subject in subjects(shown) {
        by_outcome.entry(subject.outcome()).or_default().push(subject);
    }
    for (outcome, subjects) in &by_outcome {
        // Those compared with the same one are told together.
        for group in subjects.chunk_by(|one, two| (&one.a, &one.under) == (&two.a, &two.under)) {
            sentences.push(told(*outcome, group, verbs));
        }
    }
    if by_outcome.is_empty() {
        sentences.push(alone(shown));
    }
    sentences.extend(view.says(shown));
    sentences
}

/// Why the answer must not be taken as it is.
fn reserve(shown: &Shown<'_>) -> Option<String> {
    let reserve = match shown.results.fitness.fit {
        Fit::Fit => return None,
        Fit::Doubtful => "With caution, because the machine was not quiet:",
        Fit::Unfit => {
            "Do not rely on this: something besides the conditions disturbed one of them more \
                than another."
        }
    };
    Some(reserve.to_owned())
}

/// Pairs gathered by the two that are compared, in their order. Of methods, those under the first
/// condition alone: the table has the others.
fn subjects<'a>(shown: &Shown<'a>) -> Vec<Subject<'a>> {
    let first = shown.measured.first().map(|one| one.place.condition);
    let mut subjects: Vec<Subject<'a>> = Vec::new();
    for pair in &shown.comparisons.pairs {
        let condition = |place: &Place| shown.results.condition_name(place.condition).to_owned();
        let are_methods = pair.a.condition == pair.b.condition;
        if are_methods && Some(pair.a.condition) != first {
            continue;
        }
        let (a, b) = if are_methods {
            (pair.a.series.clone(), pair.b.series.clone())
        } else {
            (condition(&pair.a), condition(&pair.b))
        };
        let has_others = shown.by_condition().len() > 1;
        let under = (are_methods && has_others).then(|| condition(&pair.a));
        let is_it =
            |other: &&mut Subject<'_>| (&other.a, &other.b, &other.under) == (&a, &b, &under);
        match subjects.iter_mut().find(is_it) {
            Some(subject) => subject.pairs.push(pair),
            None => subjects.push(Subject { a, b, under, pairs: vec![pair] }),
        }
    }
    subjects
}

impl Subject<'_> {
    fn outcome(&self) -> Outcome {
        let of = |outcome| self.pairs.iter().any(|pair| outcome_of(&pair.comparison) == outcome);
        match (of(Outcome::Later), of(Outcome::Earlier)) {
            _ if of(Outcome::BothWays) => Outcome::BothWays,
            (true, true) => Outcome::BothWays,
            (true, false) => Outcome::Later,
            (false, true) => Outcome::Earlier,
            (false, false) if of(Outcome::NotShown) => Outcome::NotShown,
            (false, false) => Outcome::TooFew,
        }
    }

    /// Series that come to this outcome, where there are others.
    fn series(&self, outcome: Outcome) -> Vec<&str> {
        let names = self
            .pairs
            .iter()
            .filter(|pair| outcome_of(&pair.comparison) == outcome)
            .map(|pair| pair.b.series.as_str());
        names.collect()
    }
}

fn outcome_of(comparison: &Comparison) -> Outcome {
    match &comparison.verdict {
        Verdict::TooFew { .. } => Outcome::TooFew,
        Verdict::NoDifferenceShown { .. } => Outcome::NotShown,
        Verdict::Differ { .. } => {
            let shown = differences(comparison);
            let later = shown.iter().filter(|one| one.b_minus_a.value > 0.0).count();
            match later {
                // The ranks alone: the first of them is A, which wins pairs where it is later.
                _ if shown.is_empty() && comparison.ranks.a < 0.5 => Outcome::Later,
                _ if shown.is_empty() => Outcome::Earlier,
                0 => Outcome::Earlier,
                all if all == shown.len() => Outcome::Later,
                _ => Outcome::BothWays,
            }
        }
    }
}

/// A figure that differs.
#[derive(Clone, Copy, Debug)]
struct Differing {
    /// Which quantile; `None` for the mean.
    q: Option<f64>,
    b_minus_a: Interval,
}

/// The figures that differ: the mean, then quantiles, ascending.
fn differences(comparison: &Comparison) -> Vec<Differing> {
    let Verdict::Differ { mean, quantiles, .. } = &comparison.verdict else { return Vec::new() };
    let differs = |q: f64| quantiles.iter().any(|&other| is_same(other, q));
    let mean = mean.then_some(Differing { q: None, b_minus_a: comparison.mean.b_minus_a });
    let quantiles = comparison.quantiles.iter().filter(|one| differs(one.q));
    mean.into_iter()
        .chain(
            quantiles.map(|one| Differing { q: Some(one.q), b_minus_a: one.difference.b_minus_a }),
        )
        .collect()
}

fn told(outcome: Outcome, subjects: &[Subject<'_>], [more, less]: [&str; 2]) -> String {
    let a = subjects.first().map_or("", |subject| &subject.a);
    let mut clauses: Vec<String> =
        subjects.iter().take(NAMES_MAX).map(|subject| clause(outcome, subject)).collect();
    if subjects.len() > NAMES_MAX {
        clauses.push(format!("{} more", count((subjects.len() - NAMES_MAX) as u64)));
    }
    // Clauses with figures have commas of their own.
    let has_figures = !matches!(outcome, Outcome::NotShown | Outcome::TooFew);
    let names = if has_figures { clauses.join("; ") } else { listed(&clauses) };
    let under = subjects.first().and_then(|subject| subject.under.as_deref());
    let under = under.map_or_else(String::new, |condition| format!("Under “{condition}”, "));
    let said = match outcome {
        Outcome::Later => format!("{more} than “{a}”: {names}."),
        Outcome::Earlier => format!("{less} than “{a}”: {names}."),
        Outcome::BothWays => {
            let (more, less) = (more.to_lowercase(), less.to_lowercase());
            format!("Partly {more}, partly {less} than “{a}”: {names}.")
        }
        Outcome::NotShown => format!(
            "No difference between “{a}” and {names} was found, which does not prove that they \
             are equal."
        ),
        Outcome::TooFew => format!("There are too few values to compare “{a}” with {names}."),
    };
    if under.is_empty() { said } else { under + &lower_first(&said) }
}

/// With its first letter small.
fn lower_first(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// `“storm” by 5.20 µs in the mean and 34.0 µs at p99.9 (T0, T1)`.
fn clause(outcome: Outcome, subject: &Subject<'_>) -> String {
    let name = format!("“{}”", subject.b);
    if matches!(outcome, Outcome::NotShown | Outcome::TooFew) {
        return name;
    }
    // Of a method, one figure: there are many of them.
    let told = if subject.under.is_some() { 1 } else { 2 };
    let figures = extremes(&subject.pairs).into_iter().take(told);
    let figures: Vec<String> = figures.map(|figure| figure.in_words(outcome)).collect();
    if figures.is_empty() {
        return name;
    }
    let which = subject.series(outcome);
    let is_part = outcome != Outcome::BothWays && which.len() < subject.pairs.len();
    let series = if is_part && which.len() <= NAMES_MAX {
        format!(" ({} alone)", which.join(", "))
    } else if is_part {
        format!(" ({} of {})", which.len(), subject.pairs.len())
    } else {
        String::new()
    };
    format!("{name} by {}{series}", listed(&figures))
}

/// A figure that differs, over all series in which it does.
struct Figure {
    place: String,
    least: f64,
    most: f64,
}

impl Figure {
    fn over(same: &[Differing]) -> Self {
        let place = match same.first().and_then(|one| one.q) {
            None => "in the mean".to_owned(),
            Some(q) if is_same(q, 0.5) => "at the median".to_owned(),
            Some(q) => format!("at {}", quantile_name(q)),
        };
        let values = same.iter().map(|one| one.b_minus_a.value);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        Self { place, least, most: values.fold(f64::NEG_INFINITY, f64::max) }
    }

    fn in_words(&self, outcome: Outcome) -> String {
        let sign = if outcome == Outcome::Earlier { -1.0 } else { 1.0 };
        let (one, two) = (self.least * sign, self.most * sign);
        let (least, most) = (plain(one.min(two)), plain(one.max(two)));
        if least == most {
            return format!("{most} {}", self.place);
        }
        // One unit for both, where it is the same.
        let least = match (least.split_once(' '), most.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => number,
            _ => &least,
        };
        format!("{least} to {most} {}", self.place)
    }
}

/// The first figure that differs in any series (the mean, where it does) and the last (furthest into
/// the tail), each over the series in which it differs.
fn extremes(pairs: &[&Pair]) -> Vec<Figure> {
    let mut all: Vec<Differing> =
        pairs.iter().flat_map(|pair| differences(&pair.comparison)).collect();
    // The mean before all quantiles.
    let order = |one: &Differing| one.q.unwrap_or(-1.0);
    all.sort_by(|one, two| order(one).total_cmp(&order(two)));
    let mut figures: Vec<Figure> =
        all.chunk_by(|one, two| is_same(order(one), order(two))).map(Figure::over).collect();
    if figures.len() > 2 {
        figures.drain(1..figures.len() - 1);
    }
    figures
}

/// Where there is nothing to compare with.
fn alone(shown: &Shown<'_>) -> String {
    let Some(one) = shown.measured.iter().find(|one| !one.whole.is_empty()) else {
        return String::new();
    };
    let ns = |ns: Option<u64>| plain(ns.unwrap_or_default() as f64);
    format!(
        "There is nothing to compare “{}” with: its median is {}, its maximum {} of {}.",
        one.label,
        ns(one.whole.quantile_ns(0.5)),
        ns(one.whole.max_ns()),
        count(one.whole.count())
    )
}
