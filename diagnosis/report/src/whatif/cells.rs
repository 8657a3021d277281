//! A prediction as the cells of a table.

use crate::clean::clean_cut;
use crate::confidence::becomes;
use crate::units::duration_mean;
use std::fmt;
use tardy_whatif::{Figures, Moved, Others, Prediction, Tried};

/// Columns of a change's name.
const NAME_COLUMNS: usize = 40;

/// In place of a figure for which there are too few wakeups, or none.
const NOT_TOLD: &str = "\u{2013}";

/// Where figures are among [`Figures::all`].
const MEAN: usize = 0;
const WORST: usize = 4;
pub(crate) const P99: usize = 2;
const P999: usize = 3;
const MAX: usize = 5;

/// What the figure of the worst 1 % is, where there is room to say it: they also have a bound, and causes.
pub(super) const MEAN_OF_WORST: &str = "worst 1 % mean";

/// The names of [`Figures::all`], in the same order.
pub(super) fn names() -> [&'static str; 6] {
    let mut names = Figures::NAMES;
    names[WORST] = MEAN_OF_WORST;
    names
}

/// What [`cells`] are.
pub(crate) const HEADS: [&str; 7] = [
    "change",
    "worst 1 %",
    Figures::NAMES[MEAN],
    Figures::NAMES[P99],
    Figures::NAMES[P999],
    Figures::NAMES[MAX],
    "others, mean",
];

/// A change of the host itself shows in what the host took, every other one without it.
fn figures<'a>(tried: &Tried, prediction: &'a Prediction) -> &'a [Moved; 6] {
    if tried.is_of_theft() { &prediction.figures } else { prediction.own() }
}

/// A cell: a figure, and its range where it has one. Clean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) figure: String,
    pub(crate) range: String,
}

impl Cell {
    fn of(moved: &Moved) -> Self {
        let range = crate::confidence::range(moved.low_ns as u64, moved.high_ns as u64);
        Self { figure: duration_mean(moved.predicted_ns), range }
    }
}

impl From<String> for Cell {
    fn from(figure: String) -> Self {
        Self { figure, range: String::new() }
    }
}

/// `18.0 µs (12.0–30.0 µs)`.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.figure.as_str(), self.range.as_str()) {
            (figure, "") => write!(f, "{figure}"),
            (figure, range) => write!(f, "{figure} ({range})"),
        }
    }
}

/// The change, what becomes of the victims' lateness, and of that of all others. Clean.
pub(crate) fn cells(tried: &Tried, prediction: &Prediction) -> [Cell; 7] {
    let figures = figures(tried, prediction);
    [
        clean_cut(&tried.name(), NAME_COLUMNS).into(),
        signed(figures[WORST].change()).into(),
        Cell::of(&figures[MEAN]),
        Cell::of(&figures[P99]),
        if prediction.tells_p999() { Cell::of(&figures[P999]) } else { NOT_TOLD.to_owned().into() },
        // Of one largest value no range can be relied on.
        duration_mean(figures[MAX].predicted_ns).into(),
        prediction.others.as_ref().map_or_else(|| NOT_TOLD.to_owned().into(), others),
    ]
}

/// How one reads in a line. Clean.
pub(crate) struct InShort {
    pub(crate) change: String,
    /// The mean of the worst 1 %, recorded and predicted.
    pub(crate) worst: String,
    /// What becomes of the mean.
    pub(crate) mean: String,
    /// Whether the worst 1 % falls, wherever in its range it is.
    pub(crate) is_sure: bool,
}

pub(crate) fn in_short(tried: &Tried, prediction: &Prediction) -> InShort {
    let figures = figures(tried, prediction);
    let worst = &figures[WORST];
    InShort {
        change: clean_cut(&tried.in_words(), NAME_COLUMNS),
        worst: format!(
            "{MEAN_OF_WORST} {} ({})",
            becomes(worst.recorded_ns.round() as u64, worst.predicted_ns.round() as u64),
            Cell::of(worst).range,
        ),
        mean: format!("mean of all {}", signed(figures[MEAN].change())),
        is_sure: worst.high_ns < worst.recorded_ns,
    }
}

/// Whether neither the mean nor the worst 1 % is predicted to be later than it was.
pub(super) fn is_earlier(tried: &Tried, prediction: &Prediction) -> bool {
    let figures = figures(tried, prediction);
    [MEAN, WORST].iter().all(|at| figures[*at].predicted_ns <= figures[*at].recorded_ns)
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What becomes of the others' mean: `+2 % (−1 to +6 %)`.
fn others(others: &Others) -> Cell {
    let (low, high) = (signed(others.low), signed(others.high));
    let low = low.trim_end_matches(" %");
    Cell { figure: signed(others.change()), range: format!("{low} to {high}") }
}

fn signed(share: f64) -> String {
    format!("{:+.0} %", share * 100.0).replace('-', "\u{2212}")
}
