//! `tardy whatif`: what would a change do?

use super::WatchFlags;
use crate::confine::Kept;
use crate::failure::{Failure, Outcome};
use crate::input::{ImportFlags, Input};
use crate::listing;
use crate::nobody;
use crate::output::{self, Output};
use crate::pager::{self, TextFlags};
use crate::prediction;
use crate::progress;
use crate::recordings;
use crate::share::Share;
use clap::Args;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tardy_changes::{Change, KNOWN};
use tardy_report::{Predictions, Shown, Terminal, WhatIfDocument, whatif_text};
use tardy_whatif::WhatIf;

/// Changes that are shown by themselves.
const SHOWN: usize = 10;

/// Flags of `tardy whatif`.
#[derive(Debug, Args)]
pub(crate) struct WhatIfVerb {
    /// The recording's folder, or another tool's trace [default: the latest in recordings/]
    #[arg(value_name = "REC")]
    recording: Option<PathBuf>,

    #[command(flatten)]
    import: ImportFlags,

    /// Predict this change, such as slack(victim)=1ns or prio(hackbench)=other (repeatable: all of them
    /// together); --list shows all [default: each that may help, ranked]
    #[arg(long, value_name = "CHANGE", value_parser = parsed)]
    change: Vec<Change>,

    /// Predict each change by itself, ranked, instead of all together
    #[arg(long, requires = "change")]
    each: bool,

    /// List the known changes
    #[arg(long)]
    list: bool,

    /// Number of threads that simulate; the results do not depend on it [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    watch: WatchFlags,

    /// Write the text or the JSON to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    text: TextFlags,

    #[command(flatten)]
    output: Output,
}

fn parsed(text: &str) -> Result<Change, String> {
    text.parse().map_err(|error: tardy_changes::ChangeError| error.to_string())
}

impl WhatIfVerb {
    pub(crate) fn execute(mut self) -> Result<Outcome, Failure> {
        if self.list {
            return list(&self.output);
        }
        if let Some(why) = tardy_changes::clash(&self.change).filter(|_| !self.each) {
            return Err(Failure::usage(format!("{why}, or ask for --each")));
        }
        let recording = recordings::or_latest(self.recording.take(), &self.output)?;
        let share = Share::claim();
        let kept = Kept::for_results(None).reading(&recording);
        kept.with_pager(!self.output.json && !self.text.no_pager).alone();
        let mut input = Input::open(&recording, &self.import)?;
        let (found, observed) = prediction::observe(&mut input, self.watch.watch())?;
        nobody::must_have_wakeups(&found, &self.watch, &recording, &self.import)?;
        let notes = input.closing().notes;
        let refuse = |why: tardy_whatif::Refusal| {
            let name = recording.display();
            let failure =
                Failure::new(format!("nothing can be predicted from {name}, because {why}"));
            notes.iter().fold(failure, |failure, note| failure.adding(&format!("; {note}")))
        };
        let kernel = prediction::kernel(&input.manifest());
        let hidden = self.output.hides_progress();
        let whatif = progress::while_running(hidden, "simulating it as it was", None, |_| {
            WhatIf::new(&observed, &kernel)
        });
        let whatif = whatif.map_err(refuse)?;
        let changes = self.changes(&whatif);
        let tried = prediction::try_all(&whatif, &observed, &changes, self.jobs, &self.output);
        drop(share);
        let shown = match (self.change.is_empty(), self.text.full) {
            (false, _) => Shown::Asked,
            (true, true) => Shown::All,
            (true, false) => Shown::Helping(SHOWN),
        };
        let (baseline, apart) = (whatif.baseline(), whatif.baseline_apart());
        let predictions = Predictions { baseline, apart, notes: &notes, tried: &tried, shown };
        self.tell(&predictions)?;
        let any = tried.iter().any(|tried| tried.prediction.is_ok());
        Ok(if any || self.change.is_empty() { Outcome::Fine } else { Outcome::Undecided })
    }

    fn changes(&self, whatif: &WhatIf) -> Vec<Vec<Change>> {
        if self.change.is_empty() {
            return whatif.candidates().into_iter().map(|change| vec![change]).collect();
        }
        if self.each {
            return self.change.iter().map(|change| vec![change.clone()]).collect();
        }
        vec![self.change.clone()]
    }

    fn tell(&self, predictions: &Predictions<'_>) -> Result<(), Failure> {
        let file: Option<&Path> = self.out.as_deref();
        if self.output.json {
            return output::write_json(&WhatIfDocument::new(predictions), file);
        }
        let terminal = if file.is_some() { Terminal::default() } else { Terminal::of_stdout() };
        let mut text = Vec::new();
        whatif_text(predictions, terminal, &mut text)?;
        pager::write(&text, file, self.text)
    }
}

/// The changes there are.
fn list(output: &Output) -> Result<Outcome, Failure> {
    if output.json {
        let known = KNOWN.iter().map(|about| {
            serde_json::json!({ "name": about.name, "example": about.example, "what": about.what })
        });
        let document = serde_json::json!({
            "schema": "tardy.changes/1",
            "changes": known.collect::<Vec<_>>(),
        });
        output::write_json(&document, None)?;
        return Ok(Outcome::Fine);
    }
    listing::print(KNOWN.iter().map(|about| (about.example, vec![about.what.to_owned()])))?;
    Ok(Outcome::Fine)
}
