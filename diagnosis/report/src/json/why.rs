//! `tardy.why/1`: one wakeup as a story.

use super::explain::WakeupDocument;
use serde::Serialize;
use tardy_explain::{Explanation, Sentence, WorstWakeup, why};

/// A wakeup and its story: `explain --why N --json`.
#[derive(Debug, Serialize)]
pub struct WhyDocument {
    schema: &'static str,
    wakeup: WakeupDocument,
    story: Vec<SentenceDocument>,
}

#[derive(Debug, Serialize)]
struct SentenceDocument {
    time_ns: u64,
    cpu: Option<u16>,
    event: &'static str,
    text: String,
}

impl WhyDocument {
    /// One of the explanation's worst wakeups.
    pub fn new(explanation: &Explanation, worst: &WorstWakeup) -> Self {
        let story = why(worst, &explanation.patterns).into_iter().map(SentenceDocument::from);
        Self { schema: "tardy.why/1", wakeup: WakeupDocument::from(worst), story: story.collect() }
    }
}

impl From<Sentence> for SentenceDocument {
    fn from(sentence: Sentence) -> Self {
        let Sentence { time_ns, cpu, event, text } = sentence;
        Self { time_ns, cpu: cpu.map(|cpu| cpu.0), event, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn why_document() {
        let explanation = fixture::boosted();
        let document = WhyDocument::new(&explanation, &explanation.worst[0]);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }
}
