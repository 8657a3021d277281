//! Pictures of samples beside each other, a file per picture. None of them knows what is compared: they
//! take lines with names.

mod bars;
mod bins;
mod ccdf;
mod curve;
mod difference;
mod dots;
mod histogram;
mod rows;
mod share_axis;
mod signed_scale;

pub(crate) use bars::{Bar, BarRow, Mark, bars};
pub(crate) use ccdf::ccdf;
pub(crate) use curve::{CurveLine, CurvePoint, curve, curve_file};
pub(crate) use difference::{DifferenceLine, differences};
pub(crate) use dots::{Dot, DotRow, dots};
pub(crate) use histogram::histogram;

use crate::clean::{clean, clean_cut};
use crate::units::count;
use maud::{Markup, html};
use tardy_stats::Counted;

/// Lines that a picture can hold: as many as there are colours that can be told apart.
pub(crate) const LINES_MAX: usize = 6;

/// One sample of a picture.
pub(crate) struct Line<'a> {
    /// Its name, not yet clean.
    pub(crate) name: &'a str,
    /// Its colour, by its place in the style's list; the same in every picture of a page.
    pub(crate) colour: usize,
    /// Its values.
    pub(crate) values: &'a Counted,
    /// Values closer than this are not told apart.
    pub(crate) resolution_ns: u64,
    /// Where its values end to be known: the share of those that are.
    pub(crate) known_share: f64,
}

/// The colours' names with each sample's size.
pub(crate) fn legend(lines: &[Line<'_>]) -> Markup {
    html! {
        ul.legend {
            @for line in lines {
                li class=(format!("line-{}", line.colour % LINES_MAX)) title=(clean(line.name)) {
                    bdi { (clean_cut(line.name, 48)) } ", n = " (count(line.values.count()))
                }
            }
        }
    }
}

/// The least and the most of all lines; `None` where there is no value.
fn range_ns(lines: &[Line<'_>]) -> Option<(u64, u64)> {
    let least = lines.iter().filter_map(|line| line.values.min_ns()).min()?;
    let most = lines.iter().filter_map(|line| line.values.max_ns()).max()?;
    Some((least, most))
}

/// Whether the tail is so long that a linear axis would press the body into a few pixels.
fn is_long_tailed(lines: &[Line<'_>]) -> bool {
    let medians = lines.iter().filter_map(|line| line.values.quantile_ns(0.5));
    range_ns(lines).is_some_and(|(_, most)| most / 12 > medians.max().unwrap_or(1))
}

/// As many digits after the point as are not 0, three at most.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
