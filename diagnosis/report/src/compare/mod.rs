//! Samples side by side: do they differ, by how much, at which quantiles, how sure is that.
//!
//! [`Compared`] is what there is to show; [`compare_text`] writes it as text, [`compare_page`] as a
//! page, [`CompareDocument`] as JSON. The first side is what all others are compared with. Readers see the sides'
//! names; documents also have letters, A for the first.

mod bounded;
mod change;
mod changed_document;
mod document;
mod gate;
mod page;
mod screen;
mod settings;
mod table;
mod text;
pub(crate) mod words;

pub use bounded::why_unbounded;
pub use change::Changed;
pub use document::CompareDocument;
pub(crate) use document::ComparisonDocument;
pub use gate::{Bound, Figure, Gate, GateOutcome, GateVerdict, JudgedGate};
pub(crate) use page::at_point;
pub use page::compare_page;
pub use screen::compare_screen;
pub use settings::{DifferingSetting, SettingsCompared};
pub use text::compare_text;
pub use words::{letter, quantile_name, verdict_sentence};

use crate::clean::{clean, cut_middle};
use std::path::PathBuf;
use tardy_stats::ab::{Comparison, Verdict};
use tardy_stats::{Counted, Sample};

/// Everything that a comparison has to show.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// What was given, in order; the first is A.
    pub sides: Vec<SideFacts>,
    /// What was compared: threads of the same name, or one of all threads.
    pub subjects: Vec<Subject>,
    /// Which settings differ between the sides.
    pub settings: SettingsCompared,
    /// What changed from the first side to each later one, of all that is compared together; or why that cannot be
    /// told.
    pub changes: Vec<Changed>,
    /// The bounds that were set, judged.
    pub gates: Vec<JudgedGate>,
    /// What a reader must know before relying on any figure, a sentence each.
    pub warnings: Vec<String>,
    /// The page with the same, where one was written.
    pub page: Option<PathBuf>,
}

/// Columns of a side's name, where it is cut.
pub(super) const NAME_WIDTH: usize = 20;

impl SideFacts {
    /// The name, clean and not too long for a table.
    pub(super) fn short_name(&self) -> String {
        cut_middle(&clean(&self.name), NAME_WIDTH)
    }
}

impl Compared {
    /// The sides' names, clean and not too long for a table.
    pub(super) fn names(&self) -> Vec<String> {
        self.sides.iter().map(SideFacts::short_name).collect()
    }

    /// Whether any gate came to this.
    pub fn has(&self, verdict: GateVerdict) -> bool {
        self.gates.iter().any(|gate| gate.verdict() == verdict)
    }

    /// Whether there was enough of anything to compare.
    pub fn has_comparison(&self) -> bool {
        let mut all = self.subjects.iter().flat_map(|subject| &subject.comparisons);
        all.any(|comparison| !matches!(comparison.verdict, Verdict::TooFew { .. }))
    }
}

/// One thing that was given to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideFacts {
    /// As on the command line.
    pub given: String,
    /// A few words that tell it from the others.
    pub name: String,
    /// What it is.
    pub kind: SideKind,
    /// Circumstances by name, as far as they are known: the kernel, the host, the interval.
    pub circumstances: Vec<(String, String)>,
    /// What a reader must know of it, a sentence each.
    pub notes: Vec<String>,
}

/// What a side is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SideKind {
    /// A recording of tardy's.
    #[default]
    Recording,
    /// Another tool's trace.
    Trace,
    /// Another tool's histogram.
    Histogram,
    /// An experiment of tardy's.
    Experiment,
}

impl SideKind {
    /// The name in JSON and in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Trace => "trace",
            Self::Histogram => "histogram",
            Self::Experiment => "experiment",
        }
    }
}

/// One thread's latencies, or all threads', of every side.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The thread's name; empty where all threads are taken together.
    pub name: String,
    /// One per side, in their order.
    pub sides: Vec<SideSample>,
    /// Each later side with the first: B − A, C − A, …
    pub comparisons: Vec<Comparison>,
    /// What changed from the first side to each later one; empty where this is all that is compared, and
    /// [`Compared::changes`] says it.
    pub changes: Vec<Changed>,
}

/// The latencies of one side.
#[derive(Clone, Debug, Default)]
pub struct SideSample {
    /// What is compared; its name is the side's.
    pub sample: Sample,
    /// How many of them lie above the bins of a histogram. Of these only that is known, and the
    /// maximum where the file tells it; they count as the upper edge of the last bin.
    pub over_bins: u64,
    /// The least and the most as a file tells them, finer than its bins; `None` where it does not, or
    /// there are no bins.
    pub reported_ns: (Option<u64>, Option<u64>),
    /// What may be said of values beyond those seen, in a sentence.
    pub tail: Option<String>,
}

impl SideSample {
    /// The least; `None` where there is none.
    pub fn min_ns(&self) -> Option<u64> {
        self.reported_ns.0.or_else(|| self.sample.blocks.iter().filter_map(Counted::min_ns).min())
    }

    /// The most; `None` where there is none.
    pub fn max_ns(&self) -> Option<u64> {
        self.reported_ns.1.or_else(|| self.sample.blocks.iter().filter_map(Counted::max_ns).max())
    }

    /// Whether the value at a quantile is known, rather than only that it lies above the bins.
    pub fn tells(&self, q: f64) -> bool {
        let n = self.sample.count();
        (q * n as f64).ceil() as u64 <= n - self.over_bins.min(n)
    }
}

#[cfg(test)]
pub(crate) mod fixture;
