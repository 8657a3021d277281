//! `tardy sim fit`: numbers of a system chosen so that its figures come out as they were measured.
//!
//! What it is fitted on is chosen by row, so that all other rows are left to be predicted.

mod target;

use super::cases::{Case, Changes, Given, template};
use super::runs::{self, PolicyRuns};
use super::table;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use clap::Args;
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tardy_sim::file::{Template, Values};
use tardy_sim::fit::least;
use target::{Off, Targets};

/// Flags of `tardy sim fit`.
#[derive(Debug, Args)]
pub(super) struct Fit {
    #[command(flatten)]
    given: Given,

    /// The measured figures: a table (tardy experiment --csv), or another tool's histogram
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Fit only on these conditions of the table: idle,hard-40. The result says which were used
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    rows: Vec<String>,

    /// Figures to fit: mean, p50, p90, p99, p999, p9999, p99999, p999999, max
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["mean", "p50", "p99"])]
    figures: Vec<String>,

    /// Number of simulations at most
    #[arg(long, value_name = "N", default_value_t = 300)]
    steps: u32,

    /// Number of threads that simulate; the results do not depend on it [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Write the machine with the fitted numbers to this file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    changes: Changes,

    #[command(flatten)]
    output: Output,
}

/// A try, and how far off it is.
struct Fitted {
    values: Values,
    off: Vec<Off>,
}

impl Fit {
    pub(super) fn execute(self) -> Result<Outcome, Failure> {
        let path = &self.given.file;
        let mut template = template(path)?;
        if template.free.is_empty() {
            return Err(Failure::usage(format!(
                "{} has no free parameter: write [free] with wakeup = [\"200ns\", \"1us\", \
                 \"5us\"], and \"{{wakeup}}\" in its place",
                path.display()
            )));
        }
        let targets = Targets::read(&self.to, &self.rows, &self.figures)?;
        targets.choose(&mut template)?;
        let interrupt = Interrupt::catch()?;
        let mut failed = None;
        let mut tries = 0_u32;
        let mut best: Option<(f64, Fitted)> = None;
        let free = template.free.clone();
        least(&free, self.steps, |at| {
            let values: Values = free
                .iter()
                .zip(at)
                .map(|(free, value)| (free.name.clone(), free.written(*value)))
                .collect();
            match self.tried(path, &template, &targets, &values, &interrupt) {
                Ok(off) => {
                    let value: f64 = off.iter().map(Off::weighed).sum();
                    tries += 1;
                    if best.as_ref().is_none_or(|(least, _)| value < *least) {
                        self.output.remark(&format!("{tries}: {value:.2} {values:?}"));
                        best = Some((value, Fitted { values, off }));
                    }
                    Some(value)
                }
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        });
        if let Some(error) = failed.filter(|_| best.is_none() || !interrupt.is_asked()) {
            return Err(error);
        }
        let (_, fitted) = best.ok_or_else(|| Failure::new("nothing was simulated"))?;
        self.tell(&template, &fitted)
    }

    fn tried(
        &self,
        path: &Path,
        template: &Template,
        targets: &Targets,
        values: &Values,
        interrupt: &Interrupt,
    ) -> Result<Vec<Off>, Failure> {
        let cases: Vec<Case> = self.changes.of(path, template, values)?;
        let results: Vec<PolicyRuns<'_>> = runs::all(&cases, self.jobs, true, interrupt)?;
        targets.off(&table::table(&results, ""))
    }

    fn tell(&self, template: &Template, fitted: &Fitted) -> Result<Outcome, Failure> {
        if self.output.json {
            let figures = fitted.off.iter().map(|off| {
                let (condition, series, figure) = (&off.condition, &off.series, &off.figure);
                serde_json::json!({ "condition": condition, "series": series, "figure": figure,
                    "measured_ns": off.measured_ns, "fitted_ns": off.simulated_ns })
            });
            let document = serde_json::json!({ "schema": "tardy.sim-fit/1", "values": fitted.values,
                "figures": figures.collect::<Vec<_>>() });
            output::write_json(&document, None)?;
        } else {
            let mut out = output::writer(None);
            for off in &fitted.off {
                writeln!(out, "  {}", off.line())?;
            }
            for (name, value) in &fitted.values {
                writeln!(out, "{name} = {value}")?;
            }
            out.finish()?;
        }
        if let Some(file) = &self.out {
            output::write_file(file, &self.machine(template, fitted)?)?;
            self.output.remark(&file.display().to_string());
        }
        Ok(Outcome::Fine)
    }

    /// The machine as a file, with what it was fitted on.
    fn machine(&self, template: &Template, fitted: &Fitted) -> Result<String, Failure> {
        let condition = &template.conditions[0];
        let refuse = |error: tardy_sim::file::FileError| Failure::new(error.to_string());
        let file = template.file(condition, &fitted.values).map_err(refuse)?;
        let machine = template.machine(condition, &fitted.values).map_err(refuse)?;
        let mut text = format!("# {}: the machine, as fitted.\n#\n", file.title);
        let to = self.to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let rows = if self.rows.is_empty() {
            String::new()
        } else {
            format!("rows {} of ", self.rows.join(", "))
        };
        let system = self.given.file.display();
        let _ = writeln!(
            text,
            "# By tardy sim fit {system}, on {rows}{to}: {}.",
            self.figures.join(", ")
        );
        let _ = writeln!(
            text,
            "# Chosen: {}.",
            fitted.values.keys().cloned().collect::<Vec<_>>().join(", ")
        );
        for off in &fitted.off {
            let _ = writeln!(text, "#   {}", off.line());
        }
        text.push_str(&machine);
        Ok(text)
    }
}
