//! How far predictions were off that were checked: intervals are widened until they hold what they say.
//!
//! `experience.csv` has a line for each figure of each prediction that was measured afterwards. The factor is
//! split conformal prediction's (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2005): the
//! quantile of |measured − predicted| over the half-width that the interval had before it was widened.

use crate::predict::COVERAGE;
use tardy_changes::Change;

/// Predictions that were checked: kind of change, predicted, low, high before widening, measured; ns.
const CHECKED: &str = include_str!("experience.csv");

/// Of fewer of one kind, those of all kinds count.
const KIND_MIN: usize = 8;

/// By how much intervals of such changes are widened, at least 1.
pub(crate) fn factor(changes: &[Change]) -> f64 {
    let names: Vec<&str> = changes.iter().map(Change::name).collect();
    let scores = |of: &dyn Fn(&str) -> bool| -> Vec<f64> {
        CHECKED.lines().skip(1).filter_map(|line| score(line, of)).collect()
    };
    let of_kind = scores(&|kind| names.contains(&kind));
    let scores = if of_kind.len() >= KIND_MIN { of_kind } else { scores(&|_| true) };
    quantile(scores).max(1.0)
}

/// How many half-widths the truth was from the prediction.
fn score(line: &str, of: &dyn Fn(&str) -> bool) -> Option<f64> {
    let fields: Vec<&str> = line.split(',').collect();
    let [kind, _, _, predicted, low, high, measured] = fields[..] else { return None };
    if !of(kind) {
        return None;
    }
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let (predicted, low, high) = (number(predicted)?, number(low)?, number(high)?);
    let measured = number(measured)?;
    let half = if measured < predicted { predicted - low } else { high - predicted };
    // An interval without any width cannot be widened.
    Some((measured - predicted).abs() / half.max(predicted * 0.005).max(1.0))
}

/// The quantile that holds the coverage, with the correction for a finite sample; 1 of nothing.
fn quantile(mut scores: Vec<f64>) -> f64 {
    scores.sort_by(f64::total_cmp);
    let rank = ((scores.len() + 1) as f64 * COVERAGE).ceil() as usize;
    match scores.len() {
        0 => 1.0,
        n => scores[rank.clamp(1, n) - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reads() {
        for line in CHECKED.lines().skip(1) {
            assert!(score(line, &|_| true).is_some(), "{line}");
        }
    }

    #[test]
    fn the_quantile_covers() {
        let scores: Vec<f64> = (1..=99).map(f64::from).collect();
        assert!((quantile(scores) - 90.0).abs() < 1e-9);
        assert!((quantile(vec![3.0]) - 3.0).abs() < 1e-9);
        assert!((quantile(Vec::new()) - 1.0).abs() < 1e-9);
    }
}
