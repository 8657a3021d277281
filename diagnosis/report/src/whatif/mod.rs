//! Predictions: how well a recording is simulated, and what changes would do.

mod cells;
#[cfg(test)]
pub(crate) mod fixture;
mod json;
mod text;

use cells::is_earlier;
pub(crate) use cells::{HEADS, cells, in_short, percent};
pub use json::WhatIfDocument;
pub(crate) use text::ranking;
pub use text::whatif_text;

use tardy_whatif::{Baseline, Prediction, Tried};

/// The best that a report shows.
const BEST: usize = 3;

/// What gains less is no advice.
const GAIN_MIN: f64 = 0.05;

/// A baseline that is further off than this in p99 is worth a warning.
const ERROR_LARGE: f64 = 0.25;

/// One that is further off than this predicts nothing that a report shows by itself.
const ERROR_MAX: f64 = 0.5;

/// What was asked of a recording, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a> {
    /// The recorded system, simulated as it was.
    pub baseline: &'a Baseline,
    /// The same without what a hypervisor took, where that is told apart: what is shown then.
    pub apart: Option<&'a Baseline>,
    /// The changes, the best first.
    pub tried: &'a [Tried],
    /// Which of them are shown by themselves in text.
    pub shown: Shown,
}

/// Which changes are shown by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All: somebody asked for them.
    All,
    /// As many at most of those that are predicted to help; the rest is named.
    Helping(usize),
}

impl<'a> Predictions<'a> {
    /// The changes that are predicted to help most, the best first. One whose effect is smaller than what the
    /// simulation is off is none of them, nor one that makes the mean or the worst 1 % later, nor a change of the
    /// host, which nobody can make in this system.
    pub(crate) fn best(&self) -> impl Iterator<Item = (&'a Tried, &'a Prediction)> {
        let helps = |tried: &&Tried| tried.gain().is_some_and(|gain| gain >= GAIN_MIN);
        let is_ground = self.is_ground();
        let told = self
            .tried
            .iter()
            .filter(move |_| is_ground)
            .filter(|tried| !tried.is_of_theft())
            .filter(helps);
        let told = told.filter_map(|tried| Some((tried, tried.prediction.as_ref().ok()?)));
        told.filter(|(tried, prediction)| !prediction.is_unsure && is_earlier(tried, prediction))
            .take(BEST)
    }

    /// Those that are shown by themselves, the best first.
    fn shown(&self) -> Vec<&'a Tried> {
        let Shown::Helping(count) = self.shown else { return self.tried.iter().collect() };
        self.tried.iter().filter(|tried| helps(tried)).take(count).collect()
    }

    /// A sentence on what is left out of all figures of [`Self::best`], if anything is.
    pub(crate) fn left_out(&self) -> Option<&'static str> {
        self.apart.map(|_| "These figures leave out what the hypervisor took.")
    }

    /// Whether the simulation is near enough to what was recorded to advise anything.
    pub(crate) fn is_ground(&self) -> bool {
        self.shown_baseline().error[2] <= ERROR_MAX
    }

    /// Whether the simulation misses what was recorded by so much that figures say little.
    pub(crate) fn is_far_off(&self) -> bool {
        self.shown_baseline().error[2] > ERROR_LARGE
    }

    /// How well the recorded system is simulated, in what is shown.
    pub(crate) fn shown_baseline(&self) -> &'a Baseline {
        self.apart.unwrap_or(self.baseline)
    }
}

/// Whether a change is predicted to help at all, by more than the simulation is off.
fn helps(tried: &Tried) -> bool {
    let is_sure = tried.prediction.as_ref().is_ok_and(|prediction| !prediction.is_unsure);
    is_sure && tried.gain().is_some_and(|gain| gain > 0.0)
}

/// What a range is worth.
pub(crate) fn ranges() -> String {
    format!(
        "The ranges are made to contain the true figure in {:.0} of 100 predictions. A maximum has no reliable \
         range.",
        tardy_whatif::COVERAGE * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixture::{baseline, tried};

    #[test]
    fn what_makes_anything_later_or_is_the_hosts_is_no_help() {
        let with = |change: &str, worst: f64, mean: f64| {
            let mut tried = tried(change, 0.5, 1.1, "nothing");
            let figures = &mut tried.prediction.as_mut().unwrap().figures;
            (figures[0].predicted_ns, figures[4].predicted_ns) =
                (figures[0].recorded_ns * mean, figures[4].recorded_ns * worst);
            tried
        };
        let all = [
            with("no-theft", 0.1, 0.1),
            with("remove(later)", 1.1, 0.5),
            with("remove(slower)", 0.5, 1.1),
            with("remove(hog)", 0.5, 0.5),
        ];
        let baseline = baseline();
        let predictions = Predictions {
            baseline: &baseline,
            apart: Some(&baseline),
            tried: &all,
            shown: Shown::All,
        };
        let names: Vec<String> = predictions.best().map(|(tried, _)| tried.name()).collect();
        assert_eq!(names, ["remove(hog)"]);
        assert!(predictions.left_out().is_some());
    }
}
