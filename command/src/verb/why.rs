//! `tardy explain --why N`: one wakeup as a story.

use super::explain::WORST_MAX;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::pager::{self, TextFlags};
use std::path::Path;
use tardy_explain::Explanation;
use tardy_report::Terminal;
use tardy_report::json::WhyDocument;

/// Which of the worst wakeups, from 1.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=WORST_MAX).contains(&number) => Ok(number),
        _ => Err(format!("write a number from 1, the worst, to {WORST_MAX}")),
    }
}

/// Tells it, as text or as JSON.
pub(crate) fn tell(
    explanation: &Explanation,
    number: usize,
    output: &Output,
    file: Option<&Path>,
    flags: TextFlags,
) -> Result<(), Failure> {
    let Some(told) = explanation.worst.get(number - 1) else {
        return Err(Failure::new(format!(
            "there is no wakeup number {number}: the watched threads have {}; choose other \
             threads with --pid, --comm or --all",
            explanation.latencies.count()
        )));
    };
    if output.json {
        return output::write_json(&WhyDocument::new(explanation, told), file);
    }
    let terminal = if file.is_some() { Terminal::default() } else { Terminal::of_stdout() };
    let mut text = Vec::new();
    tardy_report::why_text(explanation, told, terminal, &mut text)?;
    pager::write(&text, file, flags)
}
