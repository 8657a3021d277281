//! `tardy compare`: do recordings, traces, histograms or experiments differ, and by how much?

mod changes;
mod circumstances;
mod figures;
pub(in crate::verb) mod gate;
mod judge;
mod opened;
mod read;
mod rows;
mod tail;

use crate::confine::Kept;
use crate::failure::{Failure, Outcome};
use crate::input::ImportFlags;
use crate::output::{self, Output};
use crate::pager::{self, TextFlags};
use crate::progress;
use crate::recordings;
use crate::share::Share;
use clap::Args;
use opened::Opened;
use std::path::{Path, PathBuf};
use tardy_experiment::Bounds;
use tardy_report::json::CompareDocument;
use tardy_report::{Compared, Gate, GateVerdict, SettingsCompared, Subject, Terminal};
use tardy_stats::ab::{Against, Question, several};

/// Sides at most: as many as there are colours on the page that can be told apart.
const SIDES_MAX: usize = 6;

/// The blocks that a recording is cut into where nothing else is asked for: enough for p to stay small
/// when they are corrected, and each still long enough to hold what neighbours share.
const BLOCKS: u16 = 32;

/// Flags of `tardy compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy compare before/ after/                        two recordings\n\
    tardy compare slack=run-1 none=run-2                the same, by names of your own\n\
    tardy compare old.hist new.hist --page diff.html    two of cyclictest's histograms\n\
    tardy compare run:quiet run:storm                   two conditions of an experiment\n\
    tardy compare A B --fail-over +5us@p99.9            exit with 3 if B is shown to be later by more,\n\
    \x20                                                   with 4 if the samples cannot decide it\n\
    tardy compare measured.csv predicted.csv            how far off a prediction is")]
pub(crate) struct Compare {
    /// What to compare; the first is compared with each of the others: recordings, traces, histogram files
    /// (from cyclictest, rtla, oslat), experiments (DIR, or DIR:CONDITION). NAME=PATH gives a side a name of
    /// its own; PATH:THREAD selects one thread or row [default: the two latest in recordings/]
    #[arg(value_names = ["A", "B"], num_args = 2..)]
    sides: Vec<String>,

    /// Compare only the thread, row or method with this name, on every side
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,

    /// Pool all threads of a side, even if their names match
    #[arg(long, conflicts_with = "thread")]
    merge: bool,

    /// The number of blocks, each a stretch of time, into which a recording is divided
    #[arg(long, value_name = "N", default_value_t = BLOCKS, value_parser = clap::value_parser!(u16).range(1..=256))]
    blocks: u16,

    /// Exit with 3 if B is later than A by more than this: +5us@p99.9, +10%@mean (repeatable)
    #[arg(long, value_name = "BOUND@FIGURE", value_parser = gate::parse, allow_hyphen_values = true)]
    fail_over: Vec<Gate>,

    /// How to treat a gate that the samples can neither pass nor fail [default: exit with 4]
    #[arg(long, value_name = "WHAT", requires = "fail_over")]
    undecided: Option<Undecided>,

    /// For two tables of figures: exit with 3 if the second differs from the first by more than this:
    /// mean=5%,p99=10%,max=20%,floor=200ns
    #[arg(long, value_name = "BOUNDS", value_parser = figures::parse_bounds)]
    within: Option<Bounds>,

    /// Chooses the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Write a page with pictures to this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Write the JSON, or the text, to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    text: TextFlags,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    output: Output,
}

/// A word where two sides are one file: that they do not differ says nothing.
fn same(sides: &[Opened]) -> Vec<String> {
    let path = |side: &Opened| std::fs::canonicalize(&side.facts.given).ok();
    let paths: Vec<_> = sides.iter().map(path).collect();
    let mut found = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        let before = paths[..at].iter().position(|other| other.is_some() && *other == paths[at]);
        found.extend(before.map(|before| {
            let (a, b) = (&sides[before].facts.name, &side.facts.name);
            format!("{a} and {b} are the same file: {}.", side.facts.given)
        }));
    }
    found
}

/// A side as it was given, with the name of a recording that is kept in full: `before=run-1`.
fn meant(side: &str) -> String {
    if Path::new(side).exists() {
        return side.to_owned();
    }
    let (name, path) = side.split_once('=').map_or((None, side), |(name, path)| (Some(name), path));
    let path = recordings::meant(path.into()).display().to_string();
    name.map_or(path.clone(), |name| format!("{name}={path}"))
}

/// What an undecided gate counts as.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Undecided {
    /// Exit with 0.
    Pass,
    /// Exit with 3.
    Fail,
}

impl Compare {
    pub(crate) fn execute(mut self) -> Result<Outcome, Failure> {
        if self.sides.is_empty() {
            let latest = recordings::latest::<2>()?;
            self.sides = latest.map(|side| side.display().to_string()).to_vec();
        }
        self.sides = self.sides.iter().map(|side| meant(side)).collect();
        if self.sides.len() > SIDES_MAX {
            return Err(Failure::usage(format!(
                "{} sides are too many: at most {SIDES_MAX} can be compared at once",
                self.sides.len()
            )));
        }
        if figures::are_tables(&self.sides)? {
            let file = self.out.as_deref();
            return figures::compare(&self.sides, self.within.as_ref(), &self.output, file);
        }
        if self.within.is_some() {
            return Err(Failure::usage(
                "--within compares two tables of figures (tardy experiment --csv); use \
                 --fail-over for recordings and histograms",
            ));
        }
        let out = self.out.as_deref().or(self.page.as_deref());
        let share = Share::claim();
        let mut kept = Kept::for_results(out);
        for given in &self.sides {
            let path = given.split_once('=').map_or(&**given, |(_, path)| path);
            kept = kept.reading(Path::new(given)).reading(Path::new(path));
        }
        kept.with_pager(!self.output.json && self.out.is_none() && !self.text.no_pager).alone();
        let mut sides = Vec::with_capacity(self.sides.len());
        for given in &self.sides {
            sides.push(read::read(given, self.thread.as_deref(), &self.import)?);
        }
        opened::name_apart(&mut sides);
        let matched = rows::matched(&sides, self.merge)?;
        let steps = Some(matched.rows.len() as u64).filter(|rows| *rows > 1);
        let hidden = self.output.hides_progress();
        let compared = progress::while_running(hidden, "comparing", steps, |done| {
            self.compare(&sides, matched, done)
        });
        drop(share);
        self.tell(&compared)?;
        if compared.has(GateVerdict::Failed) {
            return Ok(Outcome::BoundExceeded);
        }
        Ok(match self.undecided {
            _ if compared.gates.is_empty() && !compared.has_comparison() => Outcome::Undecided,
            _ if !compared.has(GateVerdict::Undecided) => Outcome::Fine,
            Some(Undecided::Pass) => Outcome::Fine,
            Some(Undecided::Fail) => Outcome::BoundExceeded,
            None => Outcome::Undecided,
        })
    }

    fn compare(&self, sides: &[Opened], matched: rows::Matched, done: &dyn Fn(u64)) -> Compared {
        let mut warnings = same(sides);
        warnings.extend(matched.notes);
        let mut subjects = Vec::with_capacity(matched.rows.len());
        let mut gates = Vec::new();
        let question = self.question(sides, matched.rows.len());
        for (at, row) in matched.rows.iter().enumerate() {
            done(at as u64);
            let samples: Vec<_> = sides
                .iter()
                .zip(&row.places)
                .map(|(side, rows)| side.sample(rows, side.facts.name.clone(), self.blocks.into()))
                .collect();
            let plain: Vec<_> = samples.iter().map(|side| side.sample.clone()).collect();
            let comparisons = several(&plain, Against::First, &question);
            let mut subject = Subject {
                name: row.name.clone(),
                sides: samples,
                comparisons: comparisons.into_iter().map(|versus| versus.comparison).collect(),
                // Of all together it is told already.
                changes: match matched.rows.len() {
                    1 => Vec::new(),
                    _ => changes::of(sides, std::slice::from_ref(row)),
                },
            };
            for side in &mut subject.sides {
                side.tail = tail::sentence(side);
            }
            gates.extend(judge::judge(&subject, &self.fail_over, &question));
            subjects.push(subject);
        }
        warnings.extend(circumstances::warnings(sides, &subjects));
        let facts = sides.iter().map(|side| side.facts.clone()).collect();
        let settings: Vec<_> = sides.iter().map(Opened::settings).collect();
        Compared {
            sides: facts,
            settings: SettingsCompared::of(&settings),
            changes: changes::of(sides, &matched.rows),
            subjects,
            gates,
            warnings,
            page: self.page.clone(),
        }
    }

    /// The chance of a false alarm is shared out among the subjects; a subject's sides and figures
    /// share what it got (Holm).
    fn question(&self, sides: &[Opened], subjects: usize) -> Question {
        let usual = Question::default();
        let mut quantiles = usual.quantiles.clone();
        quantiles.extend(self.fail_over.iter().filter_map(gate::quantile));
        quantiles.sort_by(f64::total_cmp);
        quantiles.dedup();
        Question {
            quantiles,
            alpha: usual.alpha / subjects.max(1) as f64,
            seed: self.seed,
            paired: opened::are_of_one_run(sides),
            ..usual
        }
    }

    fn tell(&self, compared: &Compared) -> Result<(), Failure> {
        if let Some(page) = &self.page {
            output::write_file(page, &tardy_report::compare_page(compared))?;
        }
        let file = self.out.as_deref();
        if self.output.json {
            return output::write_json(&CompareDocument::from(compared), file);
        }
        let terminal = match file {
            None => Terminal::of_stdout(),
            Some(_) => Terminal::default(),
        };
        let mut text = Vec::new();
        if self.text.full {
            tardy_report::compare_text(compared, terminal, &mut text)?;
        } else {
            tardy_report::compare_screen(compared, terminal, &mut text)?;
        }
        pager::write(&text, file, self.text)
    }
}
