//! Findings as JSON documents. `docs/reference/json.md` is the schema; within a schema's number,
//! fields are only ever added.

mod advice;
mod autocorrelation;
mod cost;
mod details;
mod explain;
mod figures;
mod groups;
mod histograms;
mod kind;
mod measure;
mod merge;
mod patterns;
mod pi;
mod quantiles;
mod rearm;
mod run;
mod sleep;
mod staircase;
mod tail;
mod timers;
mod waits;
mod why;

pub use crate::compare::CompareDocument;
pub use crate::experiment::{ExperimentDocument, PredictedDocument};
pub use explain::{ExplainDocument, ExplainJson, ExplainTotals, WakeupDocument};
pub use histograms::HistogramsDocument;
pub use measure::{MeasureDocument, ThreadDocument};
pub use merge::{MergedSegment, merge_segments};
pub use pi::PiDocument;
pub use rearm::{RearmDocument, RearmMethodDocument};
pub use run::RunDocument;
pub use sleep::{MethodDocument, SleepDocument};
pub use staircase::{StaircaseDocument, StepDocument};
pub use timers::{LateDocument, TimerCountsDocument, TimerDocument, TimerUseDocument, TopDocument};
pub use why::WhyDocument;
