//! An experiment's results, as they are shown.

use crate::failure::Failure;
use crate::output;
use std::path::Path;
use tardy_experiment::{Comparisons, Folder, Results, Truth, compare};
use tardy_report::json::ExperimentDocument;
use tardy_report::{ExperimentData, Terminal, experiment_page, experiment_text};
use tardy_stats::ab::Question;

/// What was measured, and what may be said of it.
pub(in crate::verb) struct Shown {
    results: Results,
    comparisons: Comparisons,
}

impl Shown {
    /// Of an experiment's folder.
    pub(in crate::verb) fn read(folder: &Path) -> Result<Self, Failure> {
        let results = Folder::open(folder)?.into_results();
        let comparisons = compare(&results, &Question::default());
        Ok(Self { results, comparisons })
    }

    fn data(&self) -> ExperimentData<'_> {
        ExperimentData { results: &self.results, comparisons: &self.comparisons }
    }

    /// The page.
    pub(in crate::verb) fn page(&self) -> String {
        experiment_page(self.data())
    }

    /// Its figures as a table.
    pub(in crate::verb) fn figures(&self) -> Truth {
        Truth::gathered(&self.results)
    }

    /// Prints it to `file`, or to standard output.
    pub(in crate::verb) fn tell(&self, json: bool, file: Option<&Path>) -> Result<(), Failure> {
        if json {
            return output::write_json(&ExperimentDocument::from(self.data()), file);
        }
        let terminal = if file.is_some() { Terminal::default() } else { Terminal::of_stdout() };
        let mut out = output::writer(file);
        experiment_text(self.data(), terminal, &mut out)?;
        out.finish()
    }
}
