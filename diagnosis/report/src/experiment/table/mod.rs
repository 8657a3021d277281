//! A view for each kind of table: its figures, and the plots above them. A new one is a file here and
//! a line in the registry, which also declares the file.

use super::grid::Grid;
use super::measured::Shown;
use crate::compare::words::plain;
use crate::plot::{self, LINES_MAX, Line};
use crate::units::count;
use maud::Markup;
use tardy_experiment::Table;
use tardy_stats::Counted;

/// How one kind of experiment is shown.
pub(super) trait View: Sync {
    /// The tables, the most important first; those without a row are not shown.
    fn grids(&self, shown: &Shown<'_>) -> Vec<Grid>;

    /// The plots, the most important first.
    fn plots(&self, shown: &Shown<'_>) -> Vec<Plot>;

    /// What a larger value is called, and a smaller one, at the beginning of a sentence that goes on
    /// “than …”.
    fn verbs(&self) -> [&'static str; 2] {
        ["Later", "Earlier"]
    }

    /// What its own figures answer, after the comparisons of latencies.
    fn says(&self, _shown: &Shown<'_>) -> Option<String> {
        None
    }
}

/// A picture under its heading.
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) note: String,
    /// The chart, with its legend.
    pub(super) chart: Markup,
}

macro_rules! registry {
    ($($table:ident => $file:ident),* $(,)?) => {
        $(mod $file;)*

        /// The view of a table.
        pub(super) fn view(table: Table) -> &'static dyn View {
            match table {
                $(Table::$table => &$file::$table,)*
            }
        }
    };
}

registry![
    MinAvgMax => min_avg_max,
    Spikes => spikes,
    Deviations => deviations,
    Shares => shares,
    Programmings => programmings,
    Curve => curve,
];

/// Samples with names, for a picture; more than a picture can hold are left out.
struct Lines {
    of: Vec<(String, Counted)>,
    left_out: usize,
}

impl Lines {
    /// One line per condition, all its series together.
    fn per_condition(shown: &Shown<'_>) -> Self {
        let of = |group: &&[super::measured::Measured]| {
            let whole = Counted::merged(group.iter().map(|one| &one.whole));
            (group[0].condition.clone(), whole)
        };
        Self::new(shown.by_condition().iter().map(of).collect())
    }

    /// One line per series of every condition.
    fn per_series(shown: &Shown<'_>) -> Self {
        let of = |one: &super::measured::Measured| (one.label.clone(), one.whole.clone());
        Self::new(shown.measured.iter().map(of).collect())
    }

    fn new(mut of: Vec<(String, Counted)>) -> Self {
        of.retain(|(_, values)| !values.is_empty());
        let left_out = of.len().saturating_sub(LINES_MAX);
        of.truncate(LINES_MAX);
        Self { of, left_out }
    }

    fn lines(&self) -> Vec<Line<'_>> {
        self.of
            .iter()
            .enumerate()
            .map(|(colour, (name, values))| Line {
                name,
                colour,
                values,
                resolution_ns: 1,
                known_share: 1.0,
            })
            .collect()
    }

    fn histogram(&self) -> Markup {
        plot::histogram(&self.lines())
    }

    fn ccdf(&self) -> Markup {
        plot::ccdf(&self.lines())
    }

    /// A note, with what is left out.
    fn note(&self, note: &str) -> String {
        match self.left_out {
            0 => note.to_owned(),
            left_out => format!("{note} {left_out} more have no colour left and are not drawn."),
        }
    }
}

const HISTOGRAM: &str = "Vertical: the share of a sample per microsecond, on a logarithmic \
    scale, so that a single late value is visible.";

const CCDF: &str = "The share of values above a time: the further right a line goes before it \
    falls, the later its tail. Shaded: where the true share lies, 95 % sure at each place, \
    treating values as independent.";

/// The largest of each condition, with how many it is of; maxima are told, not compared.
fn largest(shown: &Shown<'_>) -> Option<String> {
    let told: Vec<String> = shown
        .by_condition()
        .iter()
        .filter_map(|group| {
            let whole = Counted::merged(group.iter().map(|one| &one.whole));
            let (max_ns, n) = (whole.max_ns()?, count(whole.count()));
            Some(format!("“{}” {} (n = {n})", group[0].condition, plain(max_ns as f64)))
        })
        .collect();
    (!told.is_empty()).then(|| format!("The largest were: {}.", told.join(", ")))
}
