//! The figures of all sides beside each other, and their differences from A.

use super::bounded::unbounded;
use super::words::{name, plain, probability, quantile_name, tells, tells_mean, with_interval};
use super::{Subject, words};
use crate::clean::{clean, cut_middle};
use crate::units::count;
use tardy_stats::ab::{Comparison, Difference};

/// Quantiles that a table shows, beside those that were asked for.
const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];

/// What a cell shows where nothing can be told.
pub(super) const UNKNOWN: &str = "-";

/// A line of the table, in words.
pub(super) struct Line {
    /// `mean`, `p99.9`.
    pub(super) name: String,
    /// The figure of each side.
    pub(super) sides: Vec<String>,
    /// Of each later side: the difference from A, and its p; `None` where it has no sense, as for
    /// maxima of samples of different size.
    pub(super) differences: Vec<Option<(String, String)>>,
}

/// All lines, in order: how many, in how many blocks, least, mean, quantiles, most.
pub(super) fn lines(subject: &Subject) -> Vec<Line> {
    let without = |name: &str, cell: &dyn Fn(usize) -> String| Line {
        name: name.to_owned(),
        sides: (0..subject.sides.len()).map(cell).collect(),
        differences: subject.comparisons.iter().map(|_| None).collect(),
    };
    let wholes: Vec<_> = subject.sides.iter().map(|side| side.sample.whole()).collect();
    let time = |ns: Option<u64>| ns.map_or_else(|| UNKNOWN.to_owned(), |ns| plain(ns as f64));
    let mut lines = vec![
        without("n", &|side| count(wholes[side].count())),
        without("blocks", &|side| count(subject.sides[side].sample.blocks.len() as u64)),
        without("min", &|side| time(subject.sides[side].min_ns())),
        Line {
            name: "mean".to_owned(),
            sides: (0..subject.sides.len())
                .map(|side| match subject.sides[side].over_bins {
                    _ if wholes[side].is_empty() => UNKNOWN.to_owned(),
                    0 => plain(wholes[side].mean_ns()),
                    _ => format!("beyond {}", plain(wholes[side].mean_ns())),
                })
                .collect(),
            differences: differences(subject, |place, comparison| {
                tells_mean(subject, place).then_some(comparison.mean).ok_or_else(unknown)
            }),
        },
    ];
    lines.extend(quantiles(subject).into_iter().map(|q| {
        Line {
            name: quantile_name(q),
            sides: (0..subject.sides.len())
                .map(|side| match wholes[side].quantile_ns(q) {
                    Some(ns) if !subject.sides[side].tells(q) => {
                        format!("beyond {}", plain(ns as f64))
                    }
                    // Of fewer, the quantile is the maximum, whatever it truly is.
                    Some(_) if (1.0 - q) * (wholes[side].count() as f64) < 1.0 => {
                        UNKNOWN.to_owned()
                    }
                    ns => time(ns),
                })
                .collect(),
            differences: differences(subject, |place, comparison| {
                let mut found = comparison.quantiles.iter();
                match found.find(|quantile| words::is_same(quantile.q, q)) {
                    _ if !tells(subject, place, q) => Err(unknown()),
                    Some(found) => Ok(found.difference),
                    None => Err(too_few(subject, place, q)),
                }
            }),
        }
    }));
    lines.push(without("max", &|side| time(subject.sides[side].max_ns())));
    lines
}

/// Those that are always shown and those that the comparisons hold, ascending.
pub(super) fn quantiles(subject: &Subject) -> Vec<f64> {
    let compared = subject.comparisons.iter().flat_map(|comparison| &comparison.quantiles);
    let mut all: Vec<f64> = QUANTILES.into_iter().chain(compared.map(|at| at.q)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by(|next, kept| words::is_same(*next, *kept));
    all
}

fn differences(
    subject: &Subject,
    of: impl Fn(usize, &Comparison) -> Result<Difference, String>,
) -> Vec<Option<(String, String)>> {
    let cells = |(at, comparison)| match of(at + 1, comparison) {
        Ok(difference) => {
            Some((with_interval(difference.b_minus_a), probability(difference.p_adjusted)))
        }
        Err(why) => Some((why, String::new())),
    };
    subject.comparisons.iter().enumerate().map(cells).collect()
}

fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// Before the names of sides whose values do not bound a quantile.
const TOO_FEW: &str = "too few in ";

/// `too few in after`, in a cell.
fn too_few(subject: &Subject, place: usize, q: f64) -> String {
    let [Some(a), Some(b)] = [0, place].map(|at| subject.sides.get(at)) else { return unknown() };
    match unbounded([a, b], q)[..] {
        [] => unknown(),
        [one] => format!("{TOO_FEW}{}", cut_middle(&clean(&one.sample.name), HEAD_NAME_WIDTH)),
        _ => format!("{TOO_FEW}both"),
    }
}

/// Columns of a name in the head of a difference.
const HEAD_NAME_WIDTH: usize = 12;

/// Heads of the differences' columns: `difference (95 % sure)`; of several sides `after − before (95 %)`.
pub(super) fn difference_head(subject: &Subject, place: usize) -> String {
    if subject.sides.len() == 2 {
        return "difference (95 % sure)".to_owned();
    }
    let name = |place| cut_middle(&name(subject, place), HEAD_NAME_WIDTH);
    format!("{} − {} (95 %)", name(place), name(0))
}

/// What the table's marks mean.
pub(super) fn legend(subject: &Subject, lines: &[Line]) -> String {
    let mut text = String::from(
        "p is corrected for all figures compared (Holm). A maximum grows with n, so maxima are not \
         compared.",
    );
    let is_cut = subject.sides.iter().any(|side| side.over_bins > 0);
    if is_cut {
        text.push_str(
            " “beyond”: it lies above the histogram's bins, or includes values that do; how far \
                is not known.",
        );
    }
    let cells = || lines.iter().flat_map(|line| line.differences.iter().flatten());
    if cells().any(|(cell, _)| cell.starts_with(TOO_FEW)) {
        text.push_str(
            " “too few in …”: that side has too few values to bound the quantile, or the latest of them come too close \
             together in time.",
        );
    }
    if cells().any(|(cell, _)| cell == UNKNOWN) {
        text.push_str(" “-”: not known, because of values above the bins.");
    }
    text
}
