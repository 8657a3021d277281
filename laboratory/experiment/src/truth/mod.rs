//! An experiment's figures as a small table: what a prediction is held against, and what curves are
//! drawn of.
//!
//! A row per condition and series; its form on file is in `file.rs`, how it is gathered from results
//! in `gather.rs`, and how far a prediction is off in `predicted.rs`.

mod date;
mod file;
mod gather;
mod predicted;

pub use file::TruthError;
pub use predicted::{Bounds, FigureError, Predicted};

use std::collections::BTreeMap;

/// Figures of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// Where they are from, by name, in their order: `command`, `kernel`, `clock`.
    pub head: Vec<(String, String)>,
    /// The names of what varies between conditions, in the order of their columns.
    pub parameters: Vec<String>,
    /// The names of figures beside latencies, in the order of their columns.
    pub figures: Vec<String>,
    /// The rows, by condition and series.
    pub rows: Vec<TruthRow>,
}

/// One series of one condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TruthRow {
    /// The condition's name.
    pub condition: String,
    /// Where it stands, by what varies.
    pub at: BTreeMap<String, String>,
    /// The series' name; empty where the figures are the condition's own.
    pub series: String,
    /// What is known of its latencies.
    latencies: [Option<u64>; Column::ALL.len()],
    /// Figures beside them.
    pub figures: BTreeMap<String, f64>,
}

/// What a row tells of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// How many values.
    N,
    /// In how many rounds they were measured.
    Rounds,
    /// The least, ns.
    Min,
    /// The mean, ns.
    Mean,
    /// The median, ns.
    P50,
    /// The 99th percentile, ns.
    P99,
    /// The 99.9th percentile, ns.
    P999,
    /// The most, ns.
    Max,
    /// The least of the rounds' means, ns.
    MeanLow,
    /// The most of the rounds' means, ns.
    MeanHigh,
    /// The least of the rounds' maxima, ns; the most of them is [`Column::Max`].
    MaxLow,
}

impl Column {
    /// All of them, in their order.
    pub const ALL: [Self; 11] = [
        Self::N,
        Self::Rounds,
        Self::Min,
        Self::Mean,
        Self::P50,
        Self::P99,
        Self::P999,
        Self::Max,
        Self::MeanLow,
        Self::MeanHigh,
        Self::MaxLow,
    ];

    /// Its head on file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::Rounds => "rounds",
            Self::Min => "min_ns",
            Self::Mean => "mean_ns",
            Self::P50 => "p50_ns",
            Self::P99 => "p99_ns",
            Self::P999 => "p999_ns",
            Self::Max => "max_ns",
            Self::MeanLow => "mean_low_ns",
            Self::MeanHigh => "mean_high_ns",
            Self::MaxLow => "max_low_ns",
        }
    }
}

const CONDITION: &str = "condition";
const SERIES: &str = "series";

/// Whether a column of the table has that name already, so that nothing else may.
pub(crate) fn is_taken(name: &str) -> bool {
    name.is_empty()
        || [CONDITION, SERIES].contains(&name)
        || Column::ALL.iter().any(|column| column.name() == name)
}

impl Truth {
    /// What its head says under that name.
    pub fn told(&self, name: &str) -> Option<&str> {
        self.head.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The rows of one condition.
    pub fn of<'a>(&'a self, condition: &str) -> impl Iterator<Item = &'a TruthRow> {
        self.rows.iter().filter(move |row| row.condition == condition)
    }
}

impl TruthRow {
    /// A row that tells nothing yet.
    pub fn new(condition: String, at: BTreeMap<String, String>, series: String) -> Self {
        Self { condition, at, series, ..Self::default() }
    }

    /// What it tells of latencies; `None` where it does not.
    pub fn get(&self, column: Column) -> Option<u64> {
        self.latencies[column as usize]
    }

    /// Sets what it tells.
    pub fn set(&mut self, column: Column, value: Option<u64>) {
        self.latencies[column as usize] = value;
    }
}
