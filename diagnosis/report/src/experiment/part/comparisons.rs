//! Each condition against the first: differences with their intervals, p, and what may be said.

use super::{Part, write_sentences};
use crate::clean::clean;
use crate::compare::words::{is_same, probability, quantile_name, verdict_of, with_interval};
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::{count, counted, unbroken};
use maud::{Markup, html};
use std::io::{self, Write};
use tardy_experiment::{Pair, Place};
use tardy_stats::ab::{Basis, Difference};

pub(super) struct ComparisonsPart;

/// The quantiles that the table has; what else was compared is in the JSON.
const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// With more, the page shows what is said of each only when asked to.
const VERDICTS_OPEN_MAX: usize = 9;

impl Part for ComparisonsPart {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if shown.comparisons.pairs.is_empty() {
            return Ok(());
        }
        grid(shown).write(terminal, out)?;
        writeln!(out)?;
        write_sentences(&verdicts(shown), terminal, str::to_owned, out)
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        html! {
            @if !shown.comparisons.pairs.is_empty() {
                section #comparisons {
                    h2 { "Comparisons" }
                    (grid(shown).html())
                    @let verdicts = verdicts(shown);
                    details open[verdicts.len() <= VERDICTS_OPEN_MAX] {
                        summary { "What is shown of each" }
                        ul { @for verdict in verdicts { li { (unbroken(&verdict)) } } }
                    }
                }
            }
        }
    }
}

fn grid(shown: &Shown<'_>) -> Grid {
    let mut grid = Grid::new("Differences with 95 % intervals, and p");
    grid.column("", Holds::Name);
    grid.column("of", Holds::Name);
    grid.measured(["n"]);
    grid.column("mean", Holds::Difference);
    for q in QUANTILES {
        grid.column(quantile_name(q), Holds::Difference);
    }
    let mut has_unknown = false;
    for pair in &shown.comparisons.pairs {
        let Names { a, b, of } = Names::new(shown, pair);
        let comparison = &pair.comparison;
        let mut row = vec![
            format!("{b} − {a}"),
            of.to_owned(),
            format!("{}, {}", count(comparison.b.count), count(comparison.a.count)),
            cell(&comparison.mean),
        ];
        for q in QUANTILES {
            let found = comparison.quantiles.iter().find(|quantile| is_same(quantile.q, q));
            has_unknown |= found.is_none();
            row.push(found.map_or_else(|| "–".to_owned(), |quantile| cell(&quantile.difference)));
        }
        grid.row(row);
    }
    grid.note(format!(
        "p: the probability of a difference at least as far from 0 if both were equal; corrected \
         for all {} on this page (Holm), so that the chance of even one false alarm is at most {}. \
         Maxima are not compared, because they grow with n.",
        counted(shown.comparisons.tests as u64, "test"),
        shown.comparisons.alpha,
    ));
    if has_unknown {
        grid.note("“–”: too few values to bound that quantile.");
    }
    grid.without_empty_columns()
}

/// A difference and its p.
fn cell(difference: &Difference) -> String {
    format!("{}, p {}", with_interval(difference.b_minus_a), probability(difference.p_adjusted))
}

/// What two places differ in, and what they share.
struct Names<'a> {
    a: &'a str,
    b: &'a str,
    /// Empty where they share nothing that tells them from others.
    of: &'a str,
}

impl<'a> Names<'a> {
    fn new(shown: &'a Shown<'_>, pair: &'a Pair) -> Self {
        let condition = |place: &Place| shown.results.condition_name(place.condition);
        if pair.a.condition == pair.b.condition {
            let of = if shown.by_condition().len() > 1 { condition(&pair.a) } else { "" };
            return Self { a: &pair.a.series, b: &pair.b.series, of };
        }
        let of = if shown.series_names().len() > 1 { pair.b.series.as_str() } else { "" };
        Self { a: condition(&pair.a), b: condition(&pair.b), of }
    }
}

/// What may be said of a pair.
pub(in crate::experiment) fn verdict(shown: &Shown<'_>, pair: &Pair) -> String {
    let Names { a, b, of } = Names::new(shown, pair);
    let quoted = |name: &str| format!("“{name}”");
    let sentence = verdict_of(&quoted(a), &quoted(b), &pair.comparison, |_| true);
    if of.is_empty() { sentence } else { format!("{of}: {sentence}") }
}

/// A verdict per pair, then what was taken for independent, each once.
fn verdicts(shown: &Shown<'_>) -> Vec<String> {
    let pairs = &shown.comparisons.pairs;
    let mut said: Vec<String> = pairs.iter().map(|pair| clean(&verdict(shown, pair))).collect();
    let mut bases: Vec<String> =
        shown.comparisons.pairs.iter().map(|pair| basis(pair).to_owned()).collect();
    bases.sort();
    bases.dedup();
    said.extend(bases);
    said
}

fn basis(pair: &Pair) -> &'static str {
    match pair.comparison.basis {
        Basis::Blocks => {
            "Blocks were treated as independent, not single values, so dependence between \
             neighbours in time does not matter."
        }
        Basis::Values => {
            "There are too few blocks, so single values were treated as independent: if \
             neighbours in time resemble each other, the intervals are too narrow and p is too \
             small. More rounds help."
        }
    }
}
