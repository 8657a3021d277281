//! `tardy report`: the page of a recording again.

use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::session;
use crate::verb::explain::WatchFlags;
use clap::Args;
use std::path::PathBuf;
use tardy_explain::Options;
use tardy_recording::Recording;
use tardy_report::Data;

/// Flags of `tardy report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The recording's folder
    #[arg(value_name = "REC")]
    recording: PathBuf,

    #[command(flatten)]
    watch: WatchFlags,

    /// Where to write the page [default: report.html in the recording]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Report {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let mut recording = Recording::open(&self.recording)?;
        let options = Options { watch: self.watch.watch(), ..Options::default() };
        let explained = explanation::explain(&mut recording, options, Wanted::default())?;
        let context = explanation::context(&recording, explained.notes);
        let mut data = Data::new(&context);
        data.explanation = Some(&explained.explanation);
        let path = self.out.unwrap_or_else(|| session::page_path(&self.recording));
        output::write_file(&path, &tardy_report::page(&data))?;
        println!("{}", path.display());
        Ok(Outcome::Fine)
    }
}
