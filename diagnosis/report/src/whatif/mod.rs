//! Predictions: how well a recording is simulated, and what changes would do.

mod cells;
#[cfg(test)]
pub(crate) mod fixture;
mod json;
mod text;

use crate::units::counted;
use cells::is_earlier;
pub(crate) use cells::{HEADS, P99, cells, in_short, percent};
pub use json::WhatIfDocument;
pub(crate) use text::ranking;
pub use text::whatif_text;

use tardy_whatif::{Baseline, Prediction, Tried};

/// What is over predictions, wherever they are, and over those of changes that somebody asked for.
pub(crate) const HEADING: &str = "Predicted: what would help";
const HEADING_ASKED: &str = "Predicted";

/// The best that a report shows.
const BEST: usize = 3;

/// What gains less is no advice.
pub(crate) const GAIN_MIN: f64 = 0.05;

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
    /// What must be known of the recording, in sentences. A report has them elsewhere.
    pub notes: &'a [String],
    /// Which of them are shown by themselves in text.
    pub shown: Shown,
}

/// Which changes are shown by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All that were tried.
    All,
    /// All: somebody asked for them by name.
    Asked,
    /// As many at most of those that are predicted to help; the rest is named.
    Helping(usize),
}

impl Shown {
    /// In a report, beside all else.
    pub const IN_REPORTS: Self = Self::Helping(BEST);
}

impl<'a> Predictions<'a> {
    /// The changes that are predicted to help most, the best first; none where the simulation is no ground for it. A
    /// change of the host, which nobody can make in this system, is none of them.
    pub(crate) fn best(&self) -> impl Iterator<Item = (&'a Tried, &'a Prediction)> {
        let all = if self.is_ground() { self.tried } else { &[] };
        let told = all.iter().filter(|tried| !tried.is_of_theft() && helps(tried));
        told.filter_map(|tried| Some((tried, tried.prediction.as_ref().ok()?))).take(BEST)
    }

    /// Those that are shown by themselves, the best first: by the same rule, but also what the host can change, which is
    /// no advice.
    fn shown(&self) -> Vec<&'a Tried> {
        match self.shown {
            Shown::All | Shown::Asked => self.tried.iter().collect(),
            Shown::Helping(_) if !self.is_ground() => Vec::new(),
            Shown::Helping(count) => self.tried.iter().filter(|it| helps(it)).take(count).collect(),
        }
    }

    /// What must be known before any figure is believed: by how much the simulation is off, where that is much.
    pub(crate) fn warning(&self) -> Option<String> {
        let error = self.shown_baseline().error[P99];
        let off = format!("the simulation misses the recorded p99 by {}", percent(error));
        match error {
            ..=ERROR_LARGE => None,
            ..=ERROR_MAX => {
                Some(format!("Take these figures as a direction, not as numbers: {off}."))
            }
            _ if !matches!(self.shown, Shown::Helping(_)) => {
                Some(format!("Do not rely on these figures: {off}."))
            }
            _ => Some(format!("Nothing is predicted by itself, because {off}.")),
        }
    }

    /// A sentence on what is left out of all figures of [`Self::best`], if anything is.
    pub(crate) fn left_out(&self) -> Option<String> {
        let taken = self.apart.map(|_| "what the hypervisor took".to_owned());
        let missing = self.near_missing().map(|of| format!("{of} near which events are missing"));
        let all: Vec<String> = taken.into_iter().chain(missing).collect();
        (!all.is_empty()).then(|| format!("These figures leave out {}.", all.join(", and ")))
    }

    /// How many wakeups are in no figure, because nobody knows what delayed them, if any are.
    fn near_missing(&self) -> Option<String> {
        let left_out = self.baseline.left_out;
        (left_out > 0).then(|| counted(left_out, "wakeup"))
    }

    /// Whether the simulation is near enough to what was recorded to advise anything.
    pub(crate) fn is_ground(&self) -> bool {
        self.shown_baseline().error[P99] <= ERROR_MAX
    }

    /// How well the recorded system is simulated, in what is shown.
    pub(crate) fn shown_baseline(&self) -> &'a Baseline {
        self.apart.unwrap_or(self.baseline)
    }
}

/// Whether a change is predicted to help by so much that it is shown by itself: not one whose effect is smaller than what
/// the simulation is off, nor one that makes the mean or the worst 1 % later.
fn helps(tried: &Tried) -> bool {
    let is_told = |prediction: &Prediction| !prediction.is_unsure && is_earlier(tried, prediction);
    tried.prediction.as_ref().is_ok_and(is_told)
        && tried.gain().is_some_and(|gain| gain >= GAIN_MIN)
}

/// What the figures are, and what a range is worth.
pub(crate) fn ranges() -> String {
    format!(
        "Worst 1 %: by how much the mean of the latest 1 % of wakeups changes. The ranges are made to contain the true \
         figure in {:.0} of 100 predictions. A maximum has no reliable range.",
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
            notes: &[],
            tried: &all,
            shown: Shown::All,
        };
        let names: Vec<String> = predictions.best().map(|(tried, _)| tried.name()).collect();
        assert_eq!(names, ["remove(hog)"]);
        assert!(predictions.left_out().is_some() && predictions.warning().is_none());
        let touched = Baseline { left_out: 17, ..baseline.clone() };
        let left_out = Predictions { baseline: &touched, ..predictions }.left_out();
        let told = "These figures leave out what the hypervisor took, and 17 wakeups near which events are missing.";
        assert_eq!(left_out.as_deref(), Some(told));
        // The table of its own goes by the same rule, but also has what the host can change.
        let shown = |predictions: Predictions<'_>| {
            let shown = Predictions { shown: Shown::Helping(9), ..predictions }.shown();
            shown.iter().map(|tried| tried.name()).collect::<Vec<_>>()
        };
        assert_eq!(shown(predictions), ["no-theft", "remove(hog)"]);
        // A simulation that is far off is told of, and no ground for either.
        let with_error = |error: f64| {
            let mut baseline = baseline.clone();
            baseline.error[P99] = error;
            baseline
        };
        let far = with_error(0.4);
        let predictions = Predictions { apart: Some(&far), ..predictions };
        assert_eq!(shown(predictions).len(), 2);
        let warning = predictions.warning().unwrap();
        assert!(warning.contains("as a direction") && warning.contains("p99 by 40 %"), "{warning}");
        let no_ground = with_error(0.6);
        let predictions = Predictions { apart: Some(&no_ground), ..predictions };
        assert!(shown(predictions).is_empty() && predictions.best().next().is_none());
        let warning = |shown| Predictions { shown, ..predictions }.warning().unwrap();
        assert!(warning(Shown::Helping(3)).starts_with("Nothing is predicted by itself"));
        assert!(warning(Shown::All).starts_with("Do not rely on these figures"));
    }
}
