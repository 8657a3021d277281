//! How late it may still get, the same in every document.

use crate::confidence::{Beyond, Distribution, sentence};
use serde::Serialize;
use tardy_stats::tail::{Candidate, Level, Maximum, Refusal};

/// An estimate, or why there is none: one of the two is `null`.
#[derive(Debug, Serialize)]
pub(super) struct TailDocument {
    estimate: Option<EstimateDocument>,
    refused: Option<RefusalDocument>,
    /// The same in words.
    sentence: String,
}

#[derive(Debug, Serialize)]
struct RefusalDocument {
    /// A word that stays.
    reason: &'static str,
    /// A sentence for people.
    text: String,
}

#[derive(Debug, Serialize)]
struct EstimateDocument {
    samples: u64,
    extremal_index: f64,
    /// The lowest threshold that holds.
    chosen: ThresholdDocument,
    shape_low: f64,
    shape_high: f64,
    /// "1 in so many" is told up to here.
    reach: f64,
    levels: Vec<LevelDocument>,
    next: Option<MaximumDocument>,
    thresholds: Vec<ThresholdDocument>,
}

#[derive(Debug, Serialize)]
struct ThresholdDocument {
    threshold_ns: u64,
    exceedances: u64,
    shape: f64,
    scale_ns: u64,
    anderson_darling: f64,
    p: f64,
}

#[derive(Debug, Serialize)]
struct LevelDocument {
    one_in: f64,
    ns: u64,
    low_ns: u64,
    high_ns: u64,
}

#[derive(Debug, Serialize)]
struct MaximumDocument {
    samples: u64,
    median_ns: u64,
    low_ns: u64,
    high_ns: u64,
}

impl TailDocument {
    /// The tail of a distribution.
    pub(super) fn new(distribution: &Distribution) -> Self {
        let beyond = distribution.beyond();
        let sentence = sentence(&beyond);
        match beyond {
            Ok(beyond) => Self { estimate: Some(beyond.into()), refused: None, sentence },
            Err(why) => Self { estimate: None, refused: Some(why.into()), sentence },
        }
    }
}

impl From<Refusal> for RefusalDocument {
    fn from(why: Refusal) -> Self {
        Self { reason: why.name(), text: why.to_string() }
    }
}

impl From<Beyond> for EstimateDocument {
    fn from(Beyond { tail, levels, next }: Beyond) -> Self {
        Self {
            samples: tail.count,
            extremal_index: tail.extremal_index,
            chosen: tail.chosen.into(),
            shape_low: digits(tail.shape_low),
            shape_high: digits(tail.shape_high),
            reach: tail.reach(),
            levels: levels.into_iter().map(LevelDocument::from).collect(),
            next: next.map(MaximumDocument::from),
            thresholds: tail.tried.into_iter().map(ThresholdDocument::from).collect(),
        }
    }
}

impl From<Candidate> for ThresholdDocument {
    fn from(candidate: Candidate) -> Self {
        Self {
            threshold_ns: candidate.threshold_ns,
            exceedances: candidate.exceedances,
            shape: digits(candidate.gpd.shape),
            scale_ns: candidate.gpd.scale_ns.round() as u64,
            anderson_darling: digits(candidate.statistic),
            p: digits(candidate.p),
        }
    }
}

impl From<Level> for LevelDocument {
    fn from(Level { one_in, ns, low_ns, high_ns }: Level) -> Self {
        Self { one_in, ns, low_ns, high_ns }
    }
}

impl From<Maximum> for MaximumDocument {
    fn from(Maximum { of, median_ns, low_ns, high_ns }: Maximum) -> Self {
        Self { samples: of, median_ns, low_ns, high_ns }
    }
}

/// Three digits after the point: more are neither known nor the same on every machine.
fn digits(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
