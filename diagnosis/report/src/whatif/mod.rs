//! Predictions: how well a recording is simulated, and what changes would do.

mod cells;
#[cfg(test)]
pub(crate) mod fixture;
mod json;
mod text;

pub(crate) use cells::{HEADS, cells, in_short, percent};
pub use json::WhatIfDocument;
pub(crate) use text::ranking;
pub use text::whatif_text;

use tardy_whatif::{Baseline, Prediction, Tried};

/// The best that a report shows.
const BEST: usize = 3;

/// What gains less is no advice.
const GAIN_MIN: f64 = 0.05;

/// What was asked of a recording, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a> {
    /// The recorded system, simulated as it was.
    pub baseline: &'a Baseline,
    /// The same without what a hypervisor took, where that is told apart: what is shown then.
    pub apart: Option<&'a Baseline>,
    /// The changes, the best first.
    pub tried: &'a [Tried],
    /// How many are shown; the rest is counted.
    pub shown: usize,
}

impl<'a> Predictions<'a> {
    /// The changes that are predicted to help most, the best first. One whose effect is smaller than what the
    /// simulation is off is none of them.
    pub(crate) fn best(&self) -> impl Iterator<Item = (&'a Tried, &'a Prediction)> {
        let helps = |tried: &&Tried| tried.gain().is_some_and(|gain| gain >= GAIN_MIN);
        let told = self.tried.iter().filter(helps);
        let told = told.filter_map(|tried| Some((tried, tried.prediction.as_ref().ok()?)));
        told.filter(|(_, prediction)| !prediction.is_unsure).take(BEST)
    }

    /// How well the recorded system is simulated, in what is shown.
    pub(crate) fn shown_baseline(&self) -> &'a Baseline {
        self.apart.unwrap_or(self.baseline)
    }
}

/// What a range is worth.
pub(crate) fn ranges() -> String {
    format!(
        "The ranges are made to contain the true figure in {:.0} of 100 predictions. A maximum has no reliable \
         range.",
        tardy_whatif::COVERAGE * 100.0
    )
}
