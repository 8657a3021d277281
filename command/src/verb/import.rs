//! `tardy import`: another tool's trace as a recording.

use crate::confine::Kept;
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::output::{self, Output};
use crate::share::Share;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tardy_model::Batch;
use tardy_recording::{Manifest, Options, Writer};

/// Flags of `tardy import`.
#[derive(Debug, Args)]
pub(crate) struct ImportVerb {
    /// The trace file; - for standard input, if the format can be read from a pipe
    #[arg(value_name = "FILE", required_unless_present = "formats")]
    file: Option<PathBuf>,

    /// The recording's folder [default: recordings/import-N]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Compress: a quarter of the size, slower to read
    #[arg(long)]
    compress: bool,

    /// List the formats that can be read
    #[arg(long)]
    formats: bool,

    #[command(flatten)]
    import: ImportFlags,

    #[command(flatten)]
    output: Output,
}

impl ImportVerb {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let Some(file) = self.file.as_ref().filter(|_| !self.formats) else {
            for format in tardy_import::formats() {
                output::out!("{:<14} {}", format.name(), format.written_by())?;
            }
            return Ok(Outcome::Fine);
        };
        if file != Path::new("-") && matches!(file.try_exists(), Ok(false)) {
            return Err(Failure::new(format!(
                "cannot read {}: there is no such file; give another tool's trace (tardy import --formats)",
                file.display()
            )));
        }
        let _share = Share::claim();
        Kept::for_results(self.out.as_deref()).reading(file).alone();
        let mut input = Input::open(file, &self.import)?;
        if matches!(input, Input::Recording(..)) {
            return Err(Failure::usage(format!(
                "{} is already a tardy recording: every verb reads it as it is",
                file.display()
            )));
        }
        let folder = output::recording_folder(self.out.as_deref(), "import")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = Manifest {
            created_unix_s: now.as_secs(),
            command_line: crate::shell::arguments().collect(),
            ..input.manifest()
        };
        let options = Options { compress: self.compress, ..Options::default() };
        let mut writer = Writer::create_with(&folder, manifest, options)?;
        let mut batch = Batch::default();
        let read = loop {
            match input.read(&mut batch) {
                Ok(true) => {
                    batch = writer.append_waiting(batch)?;
                    batch.clear();
                }
                Ok(false) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        // What was read until a failure is kept.
        let end = input.closing();
        let sealed = writer.seal(end.clone())?;
        read?;
        let totals = &sealed.totals;
        if self.output.json {
            let document = serde_json::json!({
                "schema": "tardy.import/1",
                "recording": sealed.dir,
                "source": input.manifest().source,
                "clock": input.manifest().clock,
                "events": totals.events,
                "lost": totals.lost,
                "span_ns": totals.last_ns.saturating_sub(totals.first_ns),
                "bytes": totals.bytes,
                "missing": end.missing,
                "notes": end.notes,
            });
            output::write_json(&document, None)?;
            return Ok(Outcome::Fine);
        }
        output::out!(
            "{}: {} events, {} lost, {:.3} s, {:.1} MB",
            output::one_line(&sealed.dir.display().to_string()),
            totals.events,
            totals.lost,
            totals.last_ns.saturating_sub(totals.first_ns) as f64 / 1e9,
            totals.bytes as f64 / 1e6
        )?;
        for sentence in end.notes.iter().chain(&end.missing) {
            self.output.remark(&format!("  {sentence}"));
        }
        self.output.remark(&format!("next: tardy explain {}", sealed.dir.display()));
        Ok(Outcome::Fine)
    }
}
