//! `tardy export`: a recording, or its explanation, as a file for other tools.

use crate::confine::Kept;
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::nobody;
use crate::output::{self, Output};
use crate::recordings;
use crate::share::Share;
use crate::verb::explain::WatchFlags;
use clap::Args;
use serde::Serialize;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use tardy_explain::{Explainer, Named, Options, Sink};
use tardy_export::{About, Format, formats};
use tardy_model::Batch;

/// Flags of `tardy export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The recording's folder, or another tool's trace (tardy import --formats) [default: the latest in
    /// recordings/]
    #[arg(value_name = "REC")]
    recording: Option<PathBuf>,

    /// The format [default: from the file extension of -o]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// The file or the folder to write; - is standard output
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    watch: WatchFlags,

    /// In csv, prefix a quote to names that a spreadsheet would take for formulas (=…, +…, -…, @…)
    #[arg(long)]
    no_formulas: bool,

    /// List the formats
    #[arg(long)]
    formats: bool,

    #[command(flatten)]
    output: Output,
}

/// `tardy.export/1`.
#[derive(Debug, Serialize)]
struct ExportDocument<'a> {
    schema: &'static str,
    format: &'static str,
    path: &'a Path,
    events: u64,
    lost: u64,
    wakeups: u64,
    notes: &'a [String],
}

/// `tardy.formats/1`.
#[derive(Debug, Serialize)]
struct FormatsDocument {
    schema: &'static str,
    formats: Vec<FormatDocument>,
}

#[derive(Debug, Serialize)]
struct FormatDocument {
    name: &'static str,
    endings: &'static [&'static str],
    meaning: &'static str,
}

/// Where to is for the user to say: formats go by it.
fn nowhere() -> Failure {
    let endings: Vec<&str> =
        formats().filter_map(|format| format.endings().first().copied()).collect();
    Failure::usage(format!(
        "name the file to write: tardy export -o FILE, whose ending chooses the format ({}); tardy export \
         --formats describes them",
        endings.join(", ")
    ))
}

impl Export {
    pub(crate) fn execute(mut self) -> Result<Outcome, Failure> {
        if self.formats {
            return list(self.output.json);
        }
        let Some(out) = &self.out else { return Err(nowhere()) };
        let path = &recordings::or_latest(self.recording.take(), &self.output)?;
        let format = choose(self.format.as_deref(), out)?;
        let is_stdout = out == Path::new("-");
        if is_stdout && self.output.json {
            return Err(Failure::usage("-o - and --json both write to standard output"));
        }
        if self.no_formulas && format.name() != "csv" {
            return Err(Failure::usage(
                "--no-formulas is for --format csv: no other format is opened by spreadsheets",
            ));
        }
        let _share = Share::claim();
        let kept = Kept::for_results(Some(&**out).filter(|_| !is_stdout)).reading(path);
        kept.with_programs(format.name() == "duckdb").alone();
        let mut input = Input::open(path, &self.import)?;
        if is_stdout && crate::output::raw().is_terminal() {
            input.show_no_progress();
        }
        let export =
            format.create(out, &About { no_formulas: self.no_formulas, ..about(&input) })?;
        let options = Options { watch: input.watch(self.watch.watch()), worst: 0 };
        let mut explainer = Explainer::new(options, Exporting { export, failure: None });
        let mut batch = Batch::default();
        while input.read(&mut batch)? {
            explainer.sink_mut().batch(&batch)?;
            explainer.batch(&batch);
            batch.clear();
        }
        let (explanation, sink) = explainer.finish();
        let export = sink.check()?;
        // Events are there without a wakeup of anybody.
        if self.watch.is_chosen() {
            nobody::must_have_wakeups(&explanation, &self.watch, path, &self.import)?;
        }
        export.finish(&explanation)?;
        let mut notes = input.manifest().notes;
        notes.extend(input.closing().notes);
        let wakeups = explanation.latencies.count();
        if self.output.json {
            let document = ExportDocument {
                schema: "tardy.export/1",
                format: format.name(),
                path: out,
                events: explanation.events,
                lost: explanation.lost,
                wakeups,
                notes: &notes,
            };
            output::write_json(&document, None)?;
        } else {
            for note in &notes {
                self.output.remark(&format!("note: {note}"));
            }
            let events = explanation.events;
            self.output.remark(&format!(
                "{}: {}; {events} events, {wakeups} wakeups",
                out.display(),
                format.meaning(),
            ));
        }
        Ok(Outcome::Fine)
    }
}

/// Where what is exported comes from.
fn about(input: &Input) -> About {
    let manifest = input.manifest();
    let host = manifest.host;
    About {
        clock: manifest.clock,
        host: host.name,
        kernel_release: host.kernel_release,
        machine: host.arch,
        cpus: host.cpus_online,
        hz: host.hz,
        written_by: concat!("tardy ", env!("CARGO_PKG_VERSION")).to_owned(),
        no_formulas: false,
    }
}

/// The format by its name, else by how the file is called.
fn choose(name: Option<&str>, out: &Path) -> Result<&'static dyn Format, Failure> {
    let found = match name {
        Some(name) => tardy_export::named(name),
        None => tardy_export::of_ending(out),
    };
    found.ok_or_else(|| {
        let names: Vec<_> = formats().map(Format::name).collect();
        let names = names.join(", ");
        Failure::usage(match name {
            Some(name) => format!("there is no format `{name}`: choose one of {names}"),
            None => format!(
                "the format is not clear from the name {}: choose one with --format: {names}",
                out.display()
            ),
        })
    })
}

fn list(json: bool) -> Result<Outcome, Failure> {
    if json {
        let document = |format: &dyn Format| FormatDocument {
            name: format.name(),
            endings: format.endings(),
            meaning: format.meaning(),
        };
        let formats = formats().map(document).collect();
        output::write_json(&FormatsDocument { schema: "tardy.formats/1", formats }, None)?;
        return Ok(Outcome::Fine);
    }
    let mut out = output::writer(None);
    for format in formats() {
        let endings = format.endings().join(" .");
        writeln!(out, "{:<12} {:<14} {}", format.name(), format!(".{endings}"), format.meaning())?;
    }
    out.finish()?;
    Ok(Outcome::Fine)
}

/// Hands on each wakeup as it is explained.
struct Exporting {
    export: Box<dyn tardy_export::Export>,
    /// The first thing that went wrong; nothing is written after it.
    failure: Option<Failure>,
}

impl Exporting {
    fn batch(&mut self, batch: &Batch) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        Ok(self.export.batch(batch)?)
    }

    fn check(self) -> Result<Box<dyn tardy_export::Export>, Failure> {
        self.failure.map_or(Ok(self.export), Err)
    }
}

impl Sink for Exporting {
    fn wakeup(&mut self, wakeup: &Named<'_>) {
        if self.failure.is_none()
            && let Err(error) = self.export.wakeup(wakeup)
        {
            self.failure = Some(error.into());
        }
    }
}
