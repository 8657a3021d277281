//! `tardy explain`: late wakeups of a recording.

use super::why;
use crate::confine::Kept;
use crate::explanation::{self, Streamed, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::output::{self, Output};
use crate::pager::{self, TextFlags};
use crate::prediction::{self, PredictFlags};
use crate::share::Share;
use crate::{arguments, nobody, recordings, session};
use clap::Args;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tardy_explain::{Options, Watch};
use tardy_report::{Context, Data, Terminal, units};
use tardy_stats::Latencies;

/// Whose wakeups.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WatchFlags {
    /// Whose wakeups: this thread's, or those of the threads of this process (repeatable)
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid)]
    pub(crate) pid: Vec<u32>,

    /// Whose wakeups: those of threads with this name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) comm: Vec<String>,

    /// Whose wakeups: those of all threads except tardy's own
    #[arg(long)]
    pub(crate) all: bool,
}

/// The characters of a page's name at most.
const PAGE_NAME_MAX: usize = 100;

impl WatchFlags {
    /// Whether anybody is chosen, rather than whom the recording was made to watch.
    pub(crate) fn is_chosen(&self) -> bool {
        self.all || !self.pid.is_empty() || !self.comm.is_empty()
    }

    /// The page in a recording: where others are chosen than it was made for, one of their own, so that the
    /// recording's own stays.
    pub(crate) fn page(&self, recording: &Path) -> PathBuf {
        if !self.is_chosen() {
            return session::page_path(recording);
        }
        let all = self.all.then(|| "-all".to_owned());
        let pids = self.pid.iter().map(|pid| format!("-{pid}"));
        let comms = self.comm.iter().map(|comm| format!("-{comm}"));
        let chosen: String = all.into_iter().chain(pids).chain(comms).collect();
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = chosen.chars().map(plain).take(PAGE_NAME_MAX).collect();
        recording.join(format!("report{name}.html"))
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch { all: self.all, pids: self.pid.clone(), comms: self.comm.clone(), command: None }
    }
}

/// How many of the worst wakeups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorstCount {
    Some(usize),
    All,
}

/// Wakeups that are kept whole in memory at most; `all` streams.
pub(super) const WORST_MAX: usize = 10_000;

fn worst_count(text: &str) -> Result<WorstCount, String> {
    if text == "all" {
        return Ok(WorstCount::All);
    }
    match text.parse() {
        Ok(count) if count <= WORST_MAX => Ok(WorstCount::Some(count)),
        _ => Err(format!("write a number up to {WORST_MAX}, or all")),
    }
}

/// Flags of `tardy explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The recording's folder, or another tool's trace (tardy import --formats) [default: the latest in
    /// recordings/]
    #[arg(value_name = "REC")]
    recording: Option<PathBuf>,

    #[command(flatten)]
    import: ImportFlags,

    /// How many of the worst wakeups to show [default: 3; with --json or --full: 20]; all, with --json
    #[arg(long, value_name = "N|all", value_parser = worst_count)]
    worst: Option<WorstCount>,

    /// Show the N-th worst wakeup as a story: what happened, in order; 1 is the worst
    #[arg(long, value_name = "N", value_parser = why::number, conflicts_with = "worst")]
    why: Option<usize>,

    #[command(flatten)]
    watch: WatchFlags,

    /// Also show who arms timers, what happens to them, and what they cost the explained threads
    #[arg(long)]
    timers: bool,

    /// Exit with 3 if any wakeup was later than this (a bare number is µs), with 4 if there was no wakeup at all
    #[arg(long, value_name = "TIME", value_parser = arguments::interval_ns)]
    fail_over: Option<u64>,

    /// Write the JSON, or the text, to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Also write wakeups.parquet and segments.parquet into the recording: a row per explained wakeup, and per
    /// segment of its balance
    #[arg(long, conflicts_with = "no_write")]
    tables: bool,

    /// Do not write report.html into the recording
    #[arg(long)]
    no_write: bool,

    #[command(flatten)]
    predict: PredictFlags,

    #[command(flatten)]
    text: TextFlags,

    #[command(flatten)]
    output: Output,
}

impl Explain {
    pub(crate) fn execute(mut self) -> Result<Outcome, Failure> {
        let recording = recordings::or_latest(self.recording.take(), &self.output)?;
        let share = Share::claim();
        Kept::for_results(self.out.as_deref())
            .reading(&recording)
            .with_pager(!self.output.json && self.out.is_none() && !self.text.no_pager)
            .alone();
        let mut input = Input::open(&recording, &self.import)?;
        let stream = self.worst == Some(WorstCount::All);
        if stream && self.out.is_none() && crate::output::raw().is_terminal() {
            input.show_no_progress();
        }
        if stream && !self.output.json {
            return Err(Failure::usage(
                "--worst all needs --json; text shows a number of them. --tables writes all \
                 wakeups into the recording, for queries",
            ));
        }
        if self.tables && input.folder().is_none() {
            return Err(Failure::usage(format!(
                "--tables writes into a recording's folder, and {} is a file: tardy export -o \
                 DIR.parquet writes the same tables to a folder of their own",
                recording.display()
            )));
        }
        let worst = match self.worst {
            Some(WorstCount::Some(count)) => count,
            // `--why` may ask for one that is not among as many as are kept by themselves.
            _ => Options::default().worst.max(self.why.unwrap_or_default()),
        };
        let json = stream.then(|| Streamed::begin(self.out.as_deref())).transpose()?;
        output::must_be_writable([self.out.as_deref()])?;
        let may_write = !self.no_write && input.folder().is_some();
        // Beside the events, where that is ours to write to.
        let place = if may_write {
            output::place_for(&recording, &self.output)?
        } else {
            recording.clone()
        };
        let tables = self.tables.then(|| place.clone());
        let observed =
            !self.output.json && !self.watch.all && !self.predict.no_whatif && self.why.is_none();
        let wanted = Wanted { tables, json, timers: self.timers, observed };
        let options = Options { watch: self.watch.watch(), worst };
        let mut explained = explanation::explain(&mut input, options, wanted)?;
        let found = &explained.explanation;
        match nobody::must_have_wakeups(found, &self.watch, &recording, &self.import) {
            // Nothing that was looked at is no proof.
            Err(why) if self.fail_over.is_some() => {
                output::beside(&why.to_string());
                return Ok(Outcome::Undecided);
            }
            looked => looked?,
        }
        let predicted = prediction::for_report(&mut explained, &input.manifest(), &self.output);
        let (explanation, timers) = (explained.explanation, explained.timers);
        let count = explanation.latencies.count();
        let write = may_write && count > 0;
        let page = self.watch.page(&place);
        let context = Context {
            again: explanation::again(&recording, &self.watch),
            whom: explanation::whom(&recording, &self.watch),
            ended: explanation::ended(&input, &explanation),
            page: write.then(|| page.clone()),
            ..explanation::context(&input, explained.notes)
        };
        let mut data = Data::new(&context);
        data.explanation = Some(&explanation);
        data.timers = timers.as_ref();
        data.predictions = prediction::shown(predicted.as_ref());
        if write {
            output::write_page(&page, &tardy_report::page(&data))?;
            if !self.watch.is_chosen() {
                recordings::remember(&recording, &explanation)?;
            }
        }
        drop(share);
        if let Some(number) = self.why {
            let file = self.out.as_deref();
            why::tell(&explanation, number, &self.output, file, self.text)?;
        } else if self.output.json && !stream {
            let document = tardy_report::json::ExplainDocument::new(&explanation, worst)
                .with_timers(timers.as_ref());
            output::write_json(&document, self.out.as_deref())?;
        } else if !self.output.json {
            data.limits.worst = worst;
            if let Some(WorstCount::Some(count)) = self.worst {
                data.limits.stories = count;
            }
            tell(&data, self.out.as_deref(), self.text)?;
        }
        explained.tables?;
        Ok(match self.fail_over {
            Some(_) if count == 0 => Outcome::Undecided,
            Some(bound) if explanation.latencies.max_ns() > bound => {
                output::beside(&exceeded(&explanation.latencies, bound));
                Outcome::BoundExceeded
            }
            _ => Outcome::Fine,
        })
    }
}

/// What a log has to say of a bound that does not hold.
fn exceeded(latencies: &Latencies, bound_ns: u64) -> String {
    let over = units::count(latencies.over(bound_ns).max(1));
    let (all, latest) = (units::counted(latencies.count(), "wakeup"), latencies.max_ns());
    let (bound, latest) = (units::duration(bound_ns), units::duration(latest));
    format!("FAILED: {over} of {all} were later than {bound}, the latest by {latest}")
}

/// Writes the first screen, or all.
pub(super) fn tell(data: &Data<'_>, file: Option<&Path>, flags: TextFlags) -> Result<(), Failure> {
    let terminal = match file {
        None => Terminal::of_stdout(),
        Some(_) => Terminal::default(),
    };
    let mut text = Vec::new();
    if flags.full {
        tardy_report::terminal(data, terminal, &mut text)?;
    } else {
        tardy_report::screen(data, terminal, &mut text)?;
    }
    pager::write(&text, file, flags)
}
