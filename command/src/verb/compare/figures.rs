//! Two tables of figures: a prediction held against what was measured.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use std::path::Path;
use tardy_experiment::{Bounds, Truth};
use tardy_lab::written::interval_ns;
use tardy_report::json::PredictedDocument;
use tardy_report::{Terminal, predicted_text};

/// Bounds of figures that `--within` does not name.
const UNBOUNDED: Bounds =
    Bounds { mean: f64::INFINITY, p99: f64::INFINITY, max: f64::INFINITY, floor_ns: 0 };

/// The most percent: more is no bound.
const PERCENT_MAX: f64 = 1e6;

/// Whether these are tables of figures rather than distributions.
///
/// # Errors
/// Where some are and some are not, or where they are not two.
pub(super) fn are_tables(sides: &[String]) -> Result<bool, Failure> {
    let tables = sides.iter().filter(|side| Truth::is_one(Path::new(side))).count();
    match (tables, sides.len()) {
        (0, _) => Ok(false),
        (2, 2) => Ok(true),
        _ => Err(Failure::usage(
            "a table of figures contains no distribution: give two tables, the measured one and \
             the predicted one",
        )),
    }
}

/// How far the second is from the first.
pub(super) fn compare(
    sides: &[String],
    bounds: Option<&Bounds>,
    output: &Output,
    file: Option<&Path>,
) -> Result<Outcome, Failure> {
    let [measured, predicted] = sides else { return Err(Failure::usage("give two tables")) };
    let measured = Truth::read(Path::new(measured))?;
    let predicted = Truth::read(Path::new(predicted))?;
    let found = measured.against(&predicted, bounds.unwrap_or(&UNBOUNDED));
    if output.json {
        output::write_json(&PredictedDocument::new(&found, bounds), file)?;
    } else {
        let terminal = if file.is_some() { Terminal::default() } else { Terminal::of_stdout() };
        let mut out = output::writer(file);
        predicted_text(&found, bounds, terminal, &mut out)?;
        out.finish()?;
    }
    let is_beyond = bounds.is_some() && !found.is_right();
    Ok(if is_beyond { Outcome::BoundExceeded } else { Outcome::Fine })
}

/// `mean=5%,p99=10%,max=20%,floor=200ns`.
///
/// # Errors
/// What is wrong, and how it is written.
pub(super) fn parse_bounds(text: &str) -> Result<Bounds, String> {
    let forms = "write mean=5%,p99=10%,max=20%; with floor=200ns, smaller differences always count as \
         right";
    let mut bounds = UNBOUNDED;
    for part in text.split(',') {
        let wrong = || format!("{part:?} is not a bound: {forms}");
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        let value = value.trim();
        let share = || {
            let percent: f64 = value.strip_suffix('%')?.trim_end().parse().ok()?;
            (0.0..=PERCENT_MAX).contains(&percent).then_some(percent / 100.0)
        };
        match name.trim() {
            "mean" => bounds.mean = share().ok_or_else(wrong)?,
            "p99" => bounds.p99 = share().ok_or_else(wrong)?,
            "max" => bounds.max = share().ok_or_else(wrong)?,
            "floor" => bounds.floor_ns = interval_ns(value)?,
            _ => return Err(wrong()),
        }
    }
    Ok(bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_shares_and_a_floor() {
        let bounds = parse_bounds("mean=5%, max = 20 %,floor=200ns").unwrap();
        assert_eq!((bounds.mean, bounds.max, bounds.floor_ns), (0.05, 0.2, 200));
        assert!(bounds.p99.is_infinite(), "what is not named is not bounded");
        for wrong in ["", "5%", "mean=5", "mean=-5%", "mean=inf%", "p50=5%", "floor=5 ells"] {
            assert!(parse_bounds(wrong).is_err(), "{wrong}");
        }
    }
}
