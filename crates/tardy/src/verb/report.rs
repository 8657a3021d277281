//! `tardy report`: the page of a recording or an experiment again, or the figures of another tool's histogram.

use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::output;
use crate::session;
use crate::verb::experiment::Shown;
use crate::verb::explain::WatchFlags;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use tardy_experiment::Folder;
use tardy_explain::Options;
use tardy_import::histogram;
use tardy_report::json::HistogramsDocument;
use tardy_report::{Data, Terminal};

/// Flags of `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The folder of a recording or of an experiment, a trace of another tool's, or a file of histograms:
    /// cyclictest's, rtla's, oslat's, hwlatdetect's
    #[arg(value_name = "REC|FILE")]
    recording: PathBuf,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    watch: WatchFlags,

    /// Where to write the page [default: report.html in the recording, or here], or the figures
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Of an experiment or a file of histograms, print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Report {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if Folder::is_one(&self.recording) {
            return self.experiment();
        }
        if self.is_histogram()? {
            return self.histograms();
        }
        if self.json {
            return Err(Failure::usage(
                "--json is for experiments and files of histograms; of a recording, tardy explain --json tells all",
            ));
        }
        let mut input = Input::open(&self.recording, &self.import)?;
        let options = Options { watch: self.watch.watch(), ..Options::default() };
        let explained = explanation::explain(&mut input, options, Wanted::default())?;
        let context = explanation::context(&input, explained.notes);
        let mut data = Data::new(&context);
        data.explanation = Some(&explained.explanation);
        let path = self.out.unwrap_or_else(|| match input.folder() {
            Some(folder) => session::page_path(folder),
            None => PathBuf::from("report.html"),
        });
        output::write_file(&path, &tardy_report::page(&data))?;
        println!("{}", path.display());
        Ok(Outcome::Fine)
    }

    /// The page; with `--json` the figures instead.
    fn experiment(&self) -> Result<Outcome, Failure> {
        let shown = Shown::read(&self.recording)?;
        if self.json {
            shown.tell(true, self.out.as_deref())?;
            return Ok(Outcome::Fine);
        }
        let page = self.out.clone().unwrap_or_else(|| session::page_path(&self.recording));
        output::write_file(&page, &shown.page())?;
        shown.tell(false, None)?;
        println!("{}", page.display());
        Ok(Outcome::Fine)
    }

    /// Whether it is a file, and of no trace.
    fn is_histogram(&self) -> Result<bool, Failure> {
        let is_file = std::fs::metadata(&self.recording).is_ok_and(|metadata| !metadata.is_dir());
        Ok(is_file && tardy_import::format::recognised(&self.recording)?.is_none())
    }

    fn histograms(&self) -> Result<Outcome, Failure> {
        let histograms = histogram::open(&self.recording)?;
        let file = self.out.as_deref();
        if self.json {
            output::write_json(&HistogramsDocument::from(&histograms), file)?;
            return Ok(Outcome::Fine);
        }
        let terminal = match file {
            None => Terminal::of_stdout(),
            Some(_) => Terminal::default(),
        };
        let mut out = output::writer(file)?;
        tardy_report::histograms_text(&histograms, terminal, &mut out)?;
        out.flush()?;
        Ok(Outcome::Fine)
    }
}
