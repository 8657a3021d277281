//! Predictions as JSON: `tardy.whatif/1`.

use super::Predictions;
use serde::Serialize;
use tardy_whatif::{Baseline, Figures, Moved, Others, Prediction, Tried};

/// The document.
#[derive(Debug, Serialize)]
pub struct WhatIfDocument<'a> {
    schema: &'static str,
    /// The share of predictions whose range is to hold the true figure.
    coverage: f64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    baseline: BaselineJson<'a>,
    /// Without what a hypervisor took, recorded and simulated; absent where that is not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_without_theft: Option<BaselineJson<'a>>,
    changes: Vec<TriedJson>,
}

#[derive(Debug, Serialize)]
struct FiguresJson {
    n: u64,
    mean_ns: f64,
    p50_ns: f64,
    p99_ns: f64,
    p999_ns: f64,
    worst_percent_ns: f64,
    max_ns: f64,
}

impl From<Figures> for FiguresJson {
    fn from(figures: Figures) -> Self {
        let Figures { n, mean_ns, p50_ns, p99_ns, p999_ns, worst_percent_ns, max_ns } = figures;
        Self { n, mean_ns, p50_ns, p99_ns, p999_ns, worst_percent_ns, max_ns }
    }
}

#[derive(Debug, Serialize)]
struct BaselineJson<'a> {
    recorded: FiguresJson,
    /// Wakeups that are in no figure: events are missing near them.
    left_out: u64,
    waking_is_assumed: bool,
    simulated: FiguresJson,
    /// By figure, of the second half: |simulated / recorded − 1|.
    error: ErrorJson,
    causes: Vec<CauseJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ErrorJson {
    mean: f64,
    p50: f64,
    p99: f64,
    p999: f64,
    worst_percent: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct CauseJson<'a> {
    cause: &'a str,
    recorded_share: f64,
    simulated_share: f64,
}

#[derive(Debug, Serialize)]
struct MovedJson {
    figure: &'static str,
    recorded_ns: f64,
    predicted_ns: f64,
    /// Of one largest value there is no range.
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    /// The range that is to hold it in 95 of 100 predictions.
    low_95_ns: Option<f64>,
    high_95_ns: Option<f64>,
    /// The same before they were widened for what checked predictions were off.
    narrow_low_ns: f64,
    narrow_high_ns: f64,
}

/// By what share the mean of all others changes, and its range.
#[derive(Debug, Serialize)]
struct SharesJson {
    share: f64,
    low: f64,
    high: f64,
    narrow_low: f64,
    narrow_high: f64,
}

impl SharesJson {
    fn of(others: &Others) -> Self {
        let Others { low, high, narrow: (narrow_low, narrow_high), .. } = *others;
        Self { share: others.change(), low, high, narrow_low, narrow_high }
    }
}

#[derive(Debug, Serialize)]
struct TriedJson {
    change: String,
    /// Why it cannot be told; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<MovedJson>,
    /// Without what a hypervisor took, before and after.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures_without_theft: Vec<MovedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<FiguresJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others_mean_change: Option<SharesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others_mean_before_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    others_mean_after_ns: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    costs: Vec<&'static str>,
    /// The effect is smaller than what the simulation is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    within_error: Option<bool>,
    /// The figures at best, where the change does no more than remove segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_best: Option<FiguresJson>,
}

const FIGURES: [&str; 6] = ["mean", "p50", "p99", "p999", "worst_percent", "max"];

impl<'a> WhatIfDocument<'a> {
    /// Of predictions.
    pub fn new(predictions: &Predictions<'a>) -> Self {
        Self {
            schema: "tardy.whatif/1",
            coverage: tardy_whatif::COVERAGE,
            notes: predictions.notes,
            baseline: BaselineJson::new(predictions.baseline),
            baseline_without_theft: predictions.apart.map(BaselineJson::new),
            changes: predictions.tried.iter().map(TriedJson::new).collect(),
        }
    }
}

impl<'a> BaselineJson<'a> {
    fn new(baseline: &'a Baseline) -> Self {
        let [mean, p50, p99, p999, worst_percent, max] = baseline.error;
        let causes = baseline.causes.iter().map(|(cause, recorded_share, simulated_share)| {
            let (recorded_share, simulated_share) = (*recorded_share, *simulated_share);
            CauseJson { cause, recorded_share, simulated_share }
        });
        Self {
            recorded: baseline.recorded.into(),
            left_out: baseline.left_out,
            waking_is_assumed: baseline.waking_is_assumed,
            simulated: baseline.simulated.into(),
            error: ErrorJson { mean, p50, p99, p999, worst_percent, max },
            causes: causes.collect(),
        }
    }
}

impl TriedJson {
    fn new(tried: &Tried) -> Self {
        let prediction = tried.prediction.as_ref().ok();
        let apart = prediction.and_then(|prediction| prediction.apart.as_ref());
        let others = prediction.and_then(|prediction| prediction.others.as_ref());
        Self {
            change: tried.name(),
            refused: tried.prediction.as_ref().err().map(ToString::to_string),
            figures: moved(prediction, prediction.map(|prediction| &prediction.figures)),
            figures_without_theft: moved(prediction, apart),
            simulated: prediction.map(|prediction| prediction.simulated.into()),
            others_mean_change: others.map(SharesJson::of),
            others_mean_before_ns: others.map(|others| others.before_ns),
            others_mean_after_ns: others.map(|others| others.after_ns),
            costs: prediction.map_or_else(Vec::new, |prediction| prediction.prices.clone()),
            within_error: prediction.map(|prediction| prediction.is_unsure),
            at_best: tried.bound.map(|bound| bound.best.into()),
        }
    }
}

fn moved(prediction: Option<&Prediction>, figures: Option<&[Moved; 6]>) -> Vec<MovedJson> {
    let tells_p999 = prediction.is_some_and(Prediction::tells_p999);
    let figures = FIGURES.into_iter().zip(figures.into_iter().flatten());
    let figures = figures.filter(|(figure, _)| *figure != "p999" || tells_p999);
    let figures = figures.map(|(figure, moved)| {
        let has_range = figure != "max";
        let Moved { recorded_ns, predicted_ns, low_ns, high_ns, surer_ns, narrow_ns } = *moved;
        let (narrow_low_ns, narrow_high_ns) = narrow_ns;
        MovedJson {
            figure,
            recorded_ns,
            predicted_ns,
            low_ns: has_range.then_some(low_ns),
            high_ns: has_range.then_some(high_ns),
            low_95_ns: has_range.then_some(surer_ns.0),
            high_95_ns: has_range.then_some(surer_ns.1),
            narrow_low_ns,
            narrow_high_ns,
        }
    });
    figures.collect()
}
