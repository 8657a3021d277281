//! A prediction beside what was measured, for people and for programs.

use super::grid::{Grid, Holds};
use super::measured::us;
use crate::text::Terminal;
use crate::units::count;
use serde::Serialize;
use std::io::{self, Write};
use tardy_experiment::{Bounds, Column, FigureError, Predicted};

/// What is compared, as it is called.
const FIGURES: [(Column, &str); 3] =
    [(Column::Mean, "mean"), (Column::P99, "p99"), (Column::Max, "max")];

/// Writes the error of each figure, and the largest ones. Whether each is within its bound is told
/// where there are `bounds`.
///
/// # Errors
/// Where `out` cannot be written.
pub fn predicted_text(
    predicted: &Predicted,
    bounds: Option<&Bounds>,
    terminal: Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let terminal = terminal.clamped();
    let mut grid = Grid::new("Predicted and measured, times in µs");
    grid.column("condition", Holds::Name);
    grid.column("series", Holds::Words);
    grid.column("figure", Holds::Words);
    grid.measured(["measured", "predicted", "error"]);
    grid.column("", Holds::Words);
    for error in &predicted.errors {
        grid.row(vec![
            error.condition.clone(),
            error.series.clone(),
            name(error.column).to_owned(),
            us(error.measured_ns as f64),
            us(error.predicted_ns as f64),
            share(error),
            if bounds.is_some() && !error.is_within { "beyond its bound" } else { "" }.to_owned(),
        ]);
    }
    for sentence in sentences(predicted, bounds) {
        grid.note(sentence);
    }
    if predicted.errors.is_empty() {
        writeln!(out, "No condition is both measured and predicted.")?;
    }
    grid.without_empty_columns().write(terminal, out)
}

fn name(column: Column) -> &'static str {
    FIGURES.iter().find(|(one, _)| *one == column).map_or("", |(_, name)| name)
}

/// `+3.1 %`; nothing where what was measured is 0.
fn share(error: &FigureError) -> String {
    let percent = |error: f64| {
        let text = format!("{:+.1} %", error * 100.0);
        text.replace('-', "−")
    };
    error.error.map_or_else(String::new, percent)
}

fn sentences(predicted: &Predicted, bounds: Option<&Bounds>) -> Vec<String> {
    let worst: Vec<String> = FIGURES
        .iter()
        .filter_map(|(column, name)| {
            let worst = predicted.worst(*column)?;
            Some(format!("{name} {} ({})", share(worst), worst.condition))
        })
        .collect();
    let mut sentences = Vec::new();
    if !worst.is_empty() {
        sentences.push(format!("The largest errors: {}.", worst.join(", ")));
    }
    if let Some(bounds) = bounds {
        let within = predicted.errors.iter().filter(|error| error.is_within).count();
        let shares = [(bounds.mean, "the mean"), (bounds.p99, "p99"), (bounds.max, "the maximum")];
        let shares = shares.iter().filter(|(share, _)| share.is_finite());
        let mut told: Vec<String> =
            shares.map(|(share, of)| format!("{} % of {of}", share * 100.0)).collect();
        if bounds.floor_ns > 0 {
            told.push(format!("or {} ns", count(bounds.floor_ns)));
        }
        sentences.push(format!(
            "{} of {} figures are within their bounds: {}.",
            count(within as u64),
            count(predicted.errors.len() as u64),
            told.join(", ")
        ));
    }
    let named = |what: &str, rows: &[(String, String)]| {
        let names: Vec<String> = rows.iter().map(|(one, two)| format!("{one} {two}")).collect();
        let names: Vec<&str> = names.iter().map(|name| name.trim()).collect();
        (!rows.is_empty()).then(|| format!("{what}: {}.", names.join(", ")))
    };
    sentences.extend(named("Measured but not predicted", &predicted.not_predicted));
    sentences.extend(named("Predicted but not measured", &predicted.not_measured));
    sentences
}

/// `tardy.predicted/1`.
#[derive(Debug, Serialize)]
pub struct PredictedDocument<'a> {
    schema: &'static str,
    /// Whether all that was measured is predicted within the bounds; `None` where there are none.
    is_right: Option<bool>,
    errors: Vec<ErrorDocument<'a>>,
    not_predicted: Vec<RowDocument<'a>>,
    not_measured: Vec<RowDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ErrorDocument<'a> {
    condition: &'a str,
    series: &'a str,
    figure: &'static str,
    measured_ns: u64,
    predicted_ns: u64,
    error: Option<f64>,
    is_within: Option<bool>,
}

#[derive(Debug, Serialize)]
struct RowDocument<'a> {
    condition: &'a str,
    series: &'a str,
}

impl<'a> PredictedDocument<'a> {
    /// Of a prediction, judged where there are bounds.
    pub fn new(predicted: &'a Predicted, bounds: Option<&Bounds>) -> Self {
        let error = |error: &'a FigureError| ErrorDocument {
            condition: &error.condition,
            series: &error.series,
            figure: name(error.column),
            measured_ns: error.measured_ns,
            predicted_ns: error.predicted_ns,
            error: error.error,
            is_within: bounds.map(|_| error.is_within),
        };
        let rows = |rows: &'a [(String, String)]| {
            rows.iter().map(|(condition, series)| RowDocument { condition, series }).collect()
        };
        Self {
            schema: "tardy.predicted/1",
            is_right: bounds.map(|_| predicted.is_right()),
            errors: predicted.errors.iter().map(error).collect(),
            not_predicted: rows(&predicted.not_predicted),
            not_measured: rows(&predicted.not_measured),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_experiment::Truth;

    const BOUNDS: Bounds = Bounds { mean: 0.05, p99: 0.1, max: 0.2, floor_ns: 100 };

    fn predicted() -> Predicted {
        let head = "# tardy figures 1\ncondition,series,mean_ns,p99_ns,max_ns\n";
        let of = |rows: &str| Truth::parse(&format!("{head}{rows}"), "rows").unwrap();
        of("idle,cyclic-0,7200,8800,10000\nhard-40,cyclic-0,14500,22000,37000\nnet,a,1,1,1\n")
            .against(&of("idle,,7200,8000,9900\nhard-40,,12000,21000,60000\n<b>,,1,1,1\n"), &BOUNDS)
    }

    #[test]
    fn as_a_reader_sees_it() {
        let text = |bounds| {
            let mut out = Vec::new();
            predicted_text(&predicted(), bounds, Terminal::default(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        insta::assert_snapshot!(text(Some(&BOUNDS)));
        let plain = text(None);
        assert!(!plain.contains("bound") && plain.contains("−17.2 %"), "{plain}");
    }

    #[test]
    fn as_a_program_reads_it() {
        let predicted = predicted();
        let document = PredictedDocument::new(&predicted, Some(&BOUNDS));
        let value = serde_json::to_value(&document).unwrap();
        assert_eq!(value["schema"], "tardy.predicted/1");
        assert_eq!(
            (&value["is_right"], &value["errors"][3]["is_within"]),
            (&false.into(), &false.into())
        );
        assert_eq!(value["errors"][3]["figure"], "mean");
        assert_eq!(value["not_predicted"][0]["condition"], "net");
        let unjudged = serde_json::to_value(PredictedDocument::new(&predicted, None)).unwrap();
        assert!(unjudged["is_right"].is_null() && unjudged["errors"][0]["is_within"].is_null());
    }
}
