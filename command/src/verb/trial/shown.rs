//! A trial as a comparison, shown as `tardy compare` shows one.

use super::Trial;
use std::path::Path;
use tardy_explain::change::{Change, Taken};
use tardy_report::{Compared, SettingsCompared, SideFacts, SideKind, SideSample, Subject};
use tardy_stats::ab::{Against, Question, several};
use tardy_stats::{Counted, Sample};

/// The two sides, compared in pairs: the two blocks of a round ran side by side.
pub(super) fn compared(
    trial: &Trial<'_>,
    sides: [Vec<Counted>; 2],
    taken: &[Option<Taken>; 2],
    notes: Vec<String>,
    folder: &Path,
) -> Compared {
    let question =
        Question { alpha: trial.alpha, seed: trial.seed(), paired: true, ..Question::default() };
    let mut samples = Vec::with_capacity(2);
    for (name, blocks) in trial.names.iter().zip(sides) {
        samples.push(Sample { name: name.clone(), blocks, resolution_ns: 1 });
    }
    let comparisons = several(&samples, Against::First, &question);
    let side = |sample| SideSample { sample, ..SideSample::default() };
    let subject = Subject {
        name: String::new(),
        sides: samples.into_iter().map(side).collect(),
        comparisons: comparisons.into_iter().map(|versus| versus.comparison).collect(),
        changes: Vec::new(),
    };
    let facts = trial.names.iter().map(|name| SideFacts {
        given: folder.display().to_string(),
        name: name.clone(),
        kind: SideKind::Recording,
        ..SideFacts::default()
    });
    let change = match taken {
        [Some(a), Some(b)] => {
            Change::between(a, b).ok_or_else(|| "a side has no wakeup".to_owned())
        }
        _ => Err("there were too many wakeups".to_owned()),
    };
    Compared {
        sides: facts.collect(),
        subjects: vec![subject],
        settings: SettingsCompared::default(),
        changes: vec![change],
        gates: Vec::new(),
        warnings: notes,
        page: None,
    }
}
