//! `tardy report`: the page of a recording again.

use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::output;
use crate::session;
use crate::verb::explain::WatchFlags;
use clap::Args;
use std::path::PathBuf;
use tardy_explain::Options;
use tardy_report::Data;

/// Flags of `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The recording's folder, or a trace of another tool's (tardy import --formats)
    #[arg(value_name = "REC")]
    recording: PathBuf,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    watch: WatchFlags,

    /// Where to write the page [default: report.html in the recording, or here for a trace]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Report {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
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
}
