//! `tardy report`: the page of a recording or an experiment again, or the figures of another tool's histogram.

use crate::confine::Kept;
use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::nobody;
use crate::output::{self, Output};
use crate::prediction::{self, PredictFlags};
use crate::recordings;
use crate::session;
use crate::share::Share;
use crate::verb::experiment::Shown;
use crate::verb::explain::WatchFlags;
use clap::Args;
use std::path::{Path, PathBuf};
use tardy_experiment::{Folder, Truth};
use tardy_explain::Options;
use tardy_import::histogram;
use tardy_report::json::HistogramsDocument;
use tardy_report::{Context, Data, Terminal};

/// Flags of `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The folder of a recording or an experiment, another tool's trace, or a histogram file from cyclictest,
    /// rtla, oslat or hwlatdetect; with --plot, experiments' folders or tables of figures [default: the latest
    /// in recordings/]
    #[arg(value_name = "REC|FILE")]
    recordings: Vec<PathBuf>,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    watch: WatchFlags,

    #[command(flatten)]
    predict: PredictFlags,

    /// Where to write the page [default: report.html in the recording, or here], or the figures
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print one JSON document instead of text (of an experiment or a histogram file)
    #[arg(long)]
    json: bool,

    /// Write the figures to this file as a table instead, a row per condition and thread (of an experiment)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "plot", "out"])]
    csv: Option<PathBuf>,

    /// Draw the curves in one SVG picture (of experiments or their tables of figures)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "out"])]
    plot: Option<PathBuf>,
}

impl Report {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if let Some(file) = &self.plot {
            return self.plot(file);
        }
        let latest;
        let recording = match &self.recordings[..] {
            [] => {
                [latest] = recordings::latest()?;
                &latest
            }
            [recording] => {
                recordings::must_be_there(recording)?;
                recording
            }
            _ => {
                return Err(Failure::usage(
                    "give one recording or file at a time; only --plot and tardy compare take \
                        several",
                ));
            }
        };
        let out = self.out.as_deref().or(self.csv.as_deref());
        let _share = Share::claim();
        Kept::for_results(out).reading(recording).alone();
        if Folder::is_one(recording) {
            return self.experiment(recording);
        }
        if recordings::is_watched(recording) {
            return self.watched(recording);
        }
        if self.csv.is_some() {
            return Err(Failure::usage(format!(
                "--csv is for experiments, but {} is not an experiment's folder",
                recording.display()
            )));
        }
        // A pipe can be read once: what asks for a look at it first would take it away.
        if recording.is_file() && Truth::is_one(recording) {
            return Err(Failure::usage(format!(
                "{} is a table of figures: --plot FILE.svg draws its curves, tardy compare \
                 checks a prediction against it",
                recording.display()
            )));
        }
        if is_histogram(recording)? {
            return self.histograms(recording);
        }
        if self.json {
            return Err(Failure::usage(
                "--json is for experiments and histogram files; for a recording, use tardy \
                    explain --json",
            ));
        }
        told(&self.one(recording, self.out.as_deref())?)?;
        Ok(Outcome::Fine)
    }

    /// Writes the page of a recording or a trace; says where.
    fn one(&self, recording: &Path, page: Option<&Path>) -> Result<PathBuf, Failure> {
        let mut input = Input::open(recording, &self.import)?;
        let options = Options { watch: self.watch.watch(), ..Options::default() };
        let observed = !self.watch.all && !self.predict.no_whatif;
        let wanted = Wanted { observed, ..Wanted::default() };
        let mut explained = explanation::explain(&mut input, options, wanted)?;
        let found = &explained.explanation;
        nobody::must_have_wakeups(found, &self.watch, recording, &self.import)?;
        let quiet = Output::default();
        let predicted = prediction::for_report(&mut explained, &input.manifest(), &quiet);
        let context = Context {
            ended: explanation::ended(&input, &explained.explanation),
            ..explanation::context(&input, explained.notes)
        };
        let mut data = Data::new(&context);
        data.explanation = Some(&explained.explanation);
        data.predictions = prediction::shown(predicted.as_ref());
        let path = match (page, input.folder()) {
            (Some(page), _) => page.to_owned(),
            (None, Some(folder)) => {
                self.watch.page(&output::place_for(folder, &Output::default())?)
            }
            (None, None) => PathBuf::from("report.html"),
        };
        let text = tardy_report::page(&data);
        match page {
            Some(_) => output::write_file(&path, &text)?,
            None => output::write_page(&path, &text)?,
        }
        Ok(path)
    }

    /// Writes the pages of all that a watch keeps, and one that leads to them.
    fn watched(&self, folder: &Path) -> Result<Outcome, Failure> {
        if self.out.is_some() {
            return Err(Failure::usage(format!(
                "-o is for one page, but {} has many recordings; their pages are written into \
                    their folders",
                folder.display()
            )));
        }
        let mut watched = recordings::watched(folder);
        for row in &mut watched.kept {
            let page = self.one(&folder.join(&row.recording), None)?;
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            row.page = format!("{}/{name}", row.recording);
        }
        let page = session::page_path(&output::place_for(folder, &Output::default())?);
        output::write_page(&page, &tardy_report::watched_page(&watched))?;
        told(&page)?;
        Ok(Outcome::Fine)
    }

    /// The page; with `--json` the figures instead.
    fn experiment(&self, recording: &Path) -> Result<Outcome, Failure> {
        let shown = Shown::read(recording)?;
        if let Some(file) = &self.csv {
            output::write_file(file, &shown.figures().to_csv())?;
            told(file)?;
            return Ok(Outcome::Fine);
        }
        if self.json {
            shown.tell(true, self.out.as_deref())?;
            return Ok(Outcome::Fine);
        }
        let page = match &self.out {
            Some(page) => page.clone(),
            None => session::page_path(&output::place_for(recording, &Output::default())?),
        };
        match &self.out {
            Some(_) => output::write_file(&page, &shown.page())?,
            None => output::write_page(&page, &shown.page())?,
        }
        shown.tell(false, None)?;
        told(&page)?;
        Ok(Outcome::Fine)
    }

    /// Curves of all that were given, in one picture.
    fn plot(&self, file: &Path) -> Result<Outcome, Failure> {
        let mut truths = Vec::with_capacity(self.recordings.len());
        for given in &self.recordings {
            truths.push(if Folder::is_one(given) {
                Shown::read(given)?.figures()
            } else {
                Truth::read(given)?
            });
        }
        let picture = tardy_report::curves_file(&truths).map_err(Failure::new)?;
        output::write_file(file, &picture)?;
        told(file)?;
        Ok(Outcome::Fine)
    }

    fn histograms(&self, recording: &Path) -> Result<Outcome, Failure> {
        let histograms = histogram::open(recording)?;
        let file = self.out.as_deref();
        if self.json {
            output::write_json(&HistogramsDocument::from(&histograms), file)?;
            return Ok(Outcome::Fine);
        }
        let terminal = match file {
            None => Terminal::of_stdout(),
            Some(_) => Terminal::default(),
        };
        let mut out = output::writer(file);
        tardy_report::histograms_text(&histograms, terminal, &mut out)?;
        out.finish()?;
        Ok(Outcome::Fine)
    }
}

/// Whether it is a file, and of no trace.
fn is_histogram(recording: &Path) -> Result<bool, Failure> {
    Ok(recording.is_file() && tardy_import::format::recognised(recording)?.is_none())
}

/// Where it is.
fn told(path: &Path) -> Result<(), Failure> {
    output::out!("{}", output::one_line(&path.display().to_string()))
}
