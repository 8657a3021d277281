//! `tardy.explain/1`, at once or as a stream.

use super::advice::AdviceDocument;
use super::details::DetailsDocument;
use super::figures::FiguresDocument;
use super::groups::GroupDocument;
use super::kind::kind_of;
use super::merge::{MergedSegment, merge_segments};
use super::patterns::PatternDocument;
use super::timers::TimerDocument;
use super::waits::SupplementDocument;
use serde::Serialize;
use std::io::{self, Write};
use tardy_explain::timers::TimerFindings;
use tardy_explain::{
    CauseFinding, CulpritFinding, Explanation, Label, Patterns, VictimFinding, WorstWakeup,
};
use tardy_model::event::FRAME_SEPARATOR;
use tardy_model::{Culprit, NameId, Segment, Wakeup};
use tardy_stats::Latencies;

const SCHEMA: &str = "tardy.explain/1";

/// Writes an explanation wakeup by wakeup, so that millions of them need no memory.
///
/// Dropped before [`ExplainJson::finish`], it leaves a document that ends early and does not parse.
pub struct ExplainJson<W: Write> {
    out: W,
    wakeups: u64,
}

/// A whole explanation: `explain --json`.
#[derive(Debug, Serialize)]
pub struct ExplainDocument<'a> {
    schema: &'static str,
    wakeups: Vec<WakeupDocument>,
    #[serde(flatten)]
    totals: ExplainTotals<'a>,
}

/// What is over all wakeups.
#[derive(Debug, Serialize)]
pub struct ExplainTotals<'a> {
    events: u64,
    lost: u64,
    start_ns: u64,
    span_ns: u64,
    touched_by_loss: u64,
    gaps: GapsDocument,
    lateness: LatenessDocument,
    worst_group: WorstGroupDocument,
    victims: Vec<VictimDocument<'a>>,
    causes: Vec<CauseDocument<'a>>,
    groups: Vec<GroupDocument<'a>>,
    culprits: Vec<CulpritTotalDocument<'a>>,
    advice: Vec<AdviceDocument<'a>>,
    patterns: Vec<PatternDocument<'a>>,
    #[serde(flatten)]
    supplement: SupplementDocument<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timers: Option<Vec<TimerDocument>>,
}

/// One wakeup with its balance.
#[derive(Debug, Serialize)]
pub struct WakeupDocument {
    task: String,
    pid: u32,
    cpu: u16,
    kind: &'static str,
    expiry_ns: u64,
    lateness_ns: u64,
    touched_by_loss: bool,
    segments: Vec<SegmentDocument>,
    #[serde(flatten)]
    details: DetailsDocument,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    patterns: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct SegmentDocument {
    cause: &'static str,
    start_ns: u64,
    ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stretch: Option<u16>,
    culprits: Vec<CulpritDocument>,
}

#[derive(Debug, Serialize)]
struct CulpritDocument {
    kind: &'static str,
    name: String,
    pid: Option<u32>,
    ns: u64,
    /// Where in the kernel it was, the innermost function first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

/// A culprit, and where it was.
type Placed = (Label, String);

/// The frames of a folded stack; none of an empty one.
pub(super) fn frames_of(folded: &str) -> Vec<String> {
    let frames = folded.split(FRAME_SEPARATOR).filter(|frame| !frame.is_empty());
    frames.map(str::to_owned).collect()
}

#[derive(Debug, Serialize)]
struct LatenessDocument {
    wakeups: u64,
    #[serde(flatten)]
    figures: FiguresDocument,
}

#[derive(Debug, Serialize)]
struct GapsDocument {
    count: u64,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct WorstGroupDocument {
    wakeups: u64,
    from_ns: u64,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct VictimDocument<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
    #[serde(flatten)]
    lateness: LatenessDocument,
}

#[derive(Debug, Serialize)]
struct CauseDocument<'a> {
    cause: &'static str,
    ns: u64,
    share: f64,
    wakeups: u64,
    worst_ns: u64,
    worst_share: f64,
    advice: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct CulpritTotalDocument<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
    ns: u64,
    share: f64,
    wakeups: u64,
    main_cause: &'static str,
    process: Option<u32>,
    group: usize,
}

impl<W: Write> ExplainJson<W> {
    /// Begins the document.
    ///
    /// # Errors
    /// Where `out` cannot be written.
    pub fn begin(mut out: W) -> io::Result<Self> {
        write!(out, "{{\"schema\":\"{SCHEMA}\",\"wakeups\":[")?;
        Ok(Self { out, wakeups: 0 })
    }

    /// Writes a wakeup on a line of its own. `patterns` are the stories that it is
    /// an instance of; `label` names the culprits.
    ///
    /// # Errors
    /// Where the output cannot be written.
    pub fn wakeup(
        &mut self,
        wakeup: &Wakeup,
        victim: &Label,
        patterns: Patterns,
        label: impl Fn(Culprit) -> Label,
    ) -> io::Result<()> {
        self.out.write_all(if self.wakeups == 0 { b"\n" } else { b",\n" })?;
        self.wakeups += 1;
        serde_json::to_writer(
            &mut self.out,
            &WakeupDocument::new(wakeup, victim, patterns, label),
        )?;
        Ok(())
    }

    /// Ends the document with what is over all wakeups, and flushes. Returns the output.
    ///
    /// # Errors
    /// Where the output cannot be written.
    pub fn finish(self, explanation: &Explanation) -> io::Result<W> {
        self.finish_with(&ExplainTotals::from(explanation))
    }

    /// [`ExplainJson::finish`] with totals that hold more.
    ///
    /// # Errors
    /// Where the output cannot be written.
    pub fn finish_with(mut self, totals: &ExplainTotals<'_>) -> io::Result<W> {
        let totals = serde_json::to_string(totals)?;
        // The document is one object: the totals' own opening brace becomes the comma.
        write!(self.out, "\n],{}", &totals[1..])?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<'a> ExplainDocument<'a> {
    /// A document with the `worst_max` worst of the wakeups that the explanation holds.
    pub fn new(explanation: &'a Explanation, worst_max: usize) -> Self {
        let worst = explanation.worst.iter().take(worst_max);
        Self {
            schema: SCHEMA,
            wakeups: worst.map(WakeupDocument::from).collect(),
            totals: ExplainTotals::from(explanation),
        }
    }

    /// With who armed timers.
    #[must_use]
    pub fn with_timers(mut self, timers: Option<&TimerFindings>) -> Self {
        self.totals = self.totals.with_timers(timers);
        self
    }
}

impl ExplainTotals<'_> {
    /// With who armed timers.
    #[must_use]
    pub fn with_timers(mut self, timers: Option<&TimerFindings>) -> Self {
        let rows = |found: &TimerFindings| {
            found.rows.iter().map(|row| TimerDocument::new(row, found.span_ns)).collect()
        };
        self.timers = timers.map(rows);
        self
    }
}

impl WakeupDocument {
    /// One wakeup, its neighbouring segments of one cause joined. `patterns` are the stories that
    /// it is an instance of; `label` names the culprits.
    pub fn new(
        wakeup: &Wakeup,
        victim: &Label,
        patterns: Patterns,
        label: impl Fn(Culprit) -> Label,
    ) -> Self {
        let frames = |segment: &Segment| match segment.stack {
            NameId::NONE => String::new(),
            stack => label(Culprit::Function(stack)).name,
        };
        let key = |segment: &Segment| (label(segment.culprit), frames(segment));
        let segments = merge_segments(&wakeup.segments, key);
        let segment = |segment: MergedSegment<Placed>| {
            let stretch = (!wakeup.stretches.is_empty()).then_some(segment.stretch);
            SegmentDocument { stretch, ..SegmentDocument::from(segment) }
        };
        Self {
            task: victim.name.clone(),
            pid: wakeup.task.0,
            cpu: wakeup.cpu.0,
            kind: wakeup.kind.name(),
            expiry_ns: wakeup.expiry_ns,
            lateness_ns: wakeup.lateness_ns,
            touched_by_loss: wakeup.touched_by_loss,
            segments: segments.into_iter().map(segment).collect(),
            details: DetailsDocument::new(wakeup, &label),
            patterns: patterns.names().collect(),
        }
    }
}

impl From<&WorstWakeup> for WakeupDocument {
    fn from(worst: &WorstWakeup) -> Self {
        Self::new(&worst.wakeup, &worst.victim, worst.patterns, |culprit| worst.label(culprit))
    }
}

impl From<MergedSegment<Placed>> for SegmentDocument {
    fn from(segment: MergedSegment<Placed>) -> Self {
        let culprit = |((label, frames), ns): (Placed, u64)| CulpritDocument {
            kind: kind_of(&label),
            name: label.name,
            pid: label.pid,
            ns,
            stack: frames_of(&frames),
        };
        Self {
            cause: segment.cause.0,
            start_ns: segment.start_ns,
            ns: segment.ns,
            stretch: None,
            culprits: segment.culprits.into_iter().map(culprit).collect(),
        }
    }
}

impl<'a> From<&'a Explanation> for ExplainTotals<'a> {
    fn from(explanation: &'a Explanation) -> Self {
        Self {
            events: explanation.events,
            lost: explanation.lost,
            start_ns: explanation.start_ns,
            span_ns: explanation.span_ns,
            touched_by_loss: explanation.touched_by_loss,
            gaps: GapsDocument { count: explanation.gaps.count, ns: explanation.gaps.ns },
            lateness: LatenessDocument::from(&explanation.latencies),
            worst_group: WorstGroupDocument {
                wakeups: explanation.worst_group.wakeups,
                from_ns: explanation.worst_group.from_ns,
                ns: explanation.worst_group.ns,
            },
            victims: explanation.victims.iter().map(VictimDocument::from).collect(),
            causes: explanation.causes.iter().map(CauseDocument::from).collect(),
            groups: explanation
                .groups
                .iter()
                .map(|group| GroupDocument::new(group, explanation))
                .collect(),
            culprits: explanation.culprits.iter().map(CulpritTotalDocument::from).collect(),
            advice: explanation.advice.iter().map(AdviceDocument::from).collect(),
            patterns: explanation.patterns.iter().map(PatternDocument::from).collect(),
            supplement: SupplementDocument::from(explanation),
            timers: None,
        }
    }
}

impl From<&Latencies> for LatenessDocument {
    fn from(latencies: &Latencies) -> Self {
        Self { wakeups: latencies.count(), figures: FiguresDocument::from(latencies) }
    }
}

impl<'a> From<&'a VictimFinding> for VictimDocument<'a> {
    fn from(victim: &'a VictimFinding) -> Self {
        Self {
            kind: kind_of(&victim.label),
            name: &victim.label.name,
            pid: victim.label.pid,
            lateness: LatenessDocument::from(&victim.latencies),
        }
    }
}

impl<'a> From<&'a CauseFinding> for CauseDocument<'a> {
    fn from(finding: &'a CauseFinding) -> Self {
        Self {
            cause: finding.cause.0,
            ns: finding.ns,
            share: finding.share,
            wakeups: finding.wakeups,
            worst_ns: finding.worst_ns,
            worst_share: finding.worst_share,
            advice: finding.advice.as_deref(),
        }
    }
}

impl<'a> From<&'a CulpritFinding> for CulpritTotalDocument<'a> {
    fn from(finding: &'a CulpritFinding) -> Self {
        Self {
            kind: kind_of(&finding.label),
            name: &finding.label.name,
            pid: finding.label.pid,
            ns: finding.ns,
            share: finding.share,
            wakeups: finding.wakeups,
            main_cause: finding.main_cause.0,
            process: finding.process,
            group: finding.group,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use serde_json::Value;

    #[test]
    fn explain_document() {
        let explanation = fixture::explanation();
        let document = ExplainDocument::new(&explanation, 20);
        insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
    }

    #[test]
    fn a_stream_is_the_same_document() {
        let explanation = fixture::explanation();
        for worst in [0, 1, explanation.worst.len()] {
            let mut stream = ExplainJson::begin(Vec::new()).unwrap();
            for worst in &explanation.worst[..worst] {
                let label = |culprit| worst.label(culprit);
                stream.wakeup(&worst.wakeup, &worst.victim, worst.patterns, label).unwrap();
            }
            let bytes = stream.finish(&explanation).unwrap();
            let streamed: Value = serde_json::from_slice(&bytes).unwrap();
            // Through text, as the other: reading a float back may change its last digit.
            let whole = serde_json::to_vec(&ExplainDocument::new(&explanation, worst)).unwrap();
            let whole: Value = serde_json::from_slice(&whole).unwrap();
            assert_eq!(streamed, whole);
        }
    }

    #[test]
    fn a_balance_still_sums_in_json() {
        let document =
            serde_json::to_value(ExplainDocument::new(&fixture::explanation(), 20)).unwrap();
        let sum = |list: &Value| -> u64 {
            list.as_array().unwrap().iter().map(|part| part["ns"].as_u64().unwrap()).sum()
        };
        for wakeup in document["wakeups"].as_array().unwrap() {
            assert_eq!(sum(&wakeup["segments"]), wakeup["lateness_ns"].as_u64().unwrap());
            for segment in wakeup["segments"].as_array().unwrap() {
                assert_eq!(sum(&segment["culprits"]), segment["ns"].as_u64().unwrap());
            }
        }
        assert_eq!(sum(&document["causes"]), sum(&document["culprits"]));
        assert_eq!(sum(&document["causes"]), sum(&document["groups"]));
        let culprits = document["culprits"].as_array().unwrap();
        for (number, group) in document["groups"].as_array().unwrap().iter().enumerate() {
            assert_eq!(sum(&group["members"]), group["ns"].as_u64().unwrap());
            assert_eq!(sum(&group["causes"]), group["ns"].as_u64().unwrap());
            let its = culprits.iter().filter(|culprit| culprit["group"] == number);
            assert_eq!(its.count(), group["members"].as_array().unwrap().len());
        }
    }
}
