//! `tardy.explain/1` as a script reads it, and what must hold of every one.

use crate::program::{Said, tardy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Deserialize)]
pub(crate) struct Explained {
    pub(crate) schema: String,
    pub(crate) events: u64,
    pub(crate) lost: u64,
    pub(crate) start_ns: u64,
    pub(crate) span_ns: u64,
    pub(crate) touched_by_loss: usize,
    pub(crate) gaps: Gaps,
    pub(crate) lateness: Lateness,
    pub(crate) victims: Vec<Victim>,
    pub(crate) wakeups: Vec<Wakeup>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) culprits: Vec<Culprit>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Gaps {
    pub(crate) count: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Lateness {
    pub(crate) wakeups: u64,
    pub(crate) max_ns: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Victim {
    pub(crate) name: String,
    pub(crate) wakeups: u64,
}

#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct Wakeup {
    pub(crate) task: String,
    pub(crate) pid: u32,
    pub(crate) cpu: u16,
    pub(crate) kind: String,
    pub(crate) expiry_ns: u64,
    pub(crate) lateness_ns: u64,
    pub(crate) touched_by_loss: bool,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct Segment {
    pub(crate) cause: String,
    pub(crate) start_ns: u64,
    pub(crate) ns: u64,
    pub(crate) culprits: Vec<Blamed>,
}

#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct Blamed {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) pid: Option<u32>,
    pub(crate) ns: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cause {
    pub(crate) cause: String,
    pub(crate) ns: u64,
    pub(crate) share: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Culprit {
    pub(crate) ns: u64,
    pub(crate) share: f64,
}

/// Every wakeup of a recording, checked.
#[track_caller]
pub(crate) fn explain_all(recording: &Path, more: &[&str]) -> Explained {
    let mut command = tardy(["explain", "--json", "--worst", "all", "--no-write"]);
    let said = Said::by(command.args(more).arg(recording)).expect(0);
    let explained: Explained = serde_json::from_str(&said.out).expect("tardy.explain/1");
    explained.assert_whole();
    explained
}

impl Wakeup {
    pub(crate) fn end_ns(&self) -> u64 {
        self.expiry_ns + self.lateness_ns
    }

    /// The segments of one cause together.
    pub(crate) fn ns_of(&self, cause: &str) -> u64 {
        self.segments.iter().filter(|segment| segment.cause == cause).map(|part| part.ns).sum()
    }

    #[track_caller]
    pub(crate) fn assert_balanced(&self) {
        let mut at_ns = self.expiry_ns;
        for segment in &self.segments {
            assert_eq!(segment.start_ns, at_ns, "segments touch each other: {self:?}");
            assert!(segment.ns > 0, "{self:?}");
            let blamed_ns: u64 = segment.culprits.iter().map(|culprit| culprit.ns).sum();
            assert_eq!(blamed_ns, segment.ns, "culprits sum to their segment: {self:?}");
            at_ns += segment.ns;
        }
        assert_eq!(at_ns, self.end_ns(), "segments sum to the lateness: {self:?}");
    }
}

impl Explained {
    /// What holds where `wakeups` are the worst or all.
    #[track_caller]
    pub(crate) fn assert_sums(&self) {
        assert_eq!(self.schema, "tardy.explain/1");
        for wakeup in &self.wakeups {
            wakeup.assert_balanced();
        }
        let causes_ns: u64 = self.causes.iter().map(|cause| cause.ns).sum();
        let culprits_ns: u64 = self.culprits.iter().map(|culprit| culprit.ns).sum();
        assert_eq!(causes_ns, culprits_ns, "both are all lateness");
        if causes_ns > 0 {
            let causes: f64 = self.causes.iter().map(|cause| cause.share).sum();
            let culprits: f64 = self.culprits.iter().map(|culprit| culprit.share).sum();
            assert!((causes - 1.0).abs() < 1e-6 && (culprits - 1.0).abs() < 1e-6);
        }
    }

    /// What holds where `wakeups` are all: every sum can be made again from them.
    #[track_caller]
    fn assert_whole(&self) {
        self.assert_sums();
        assert_eq!(self.wakeups.len() as u64, self.lateness.wakeups);
        let latest_ns = self.wakeups.iter().map(|wakeup| wakeup.lateness_ns).max();
        assert_eq!(self.lateness.max_ns, latest_ns.unwrap_or(0));
        let touched = self.wakeups.iter().filter(|wakeup| wakeup.touched_by_loss).count();
        assert_eq!(self.touched_by_loss, touched);
        let mut by_cause: BTreeMap<&str, u64> = BTreeMap::new();
        for segment in self.wakeups.iter().flat_map(|wakeup| &wakeup.segments) {
            *by_cause.entry(&segment.cause).or_default() += segment.ns;
        }
        let told = self.causes.iter().map(|cause| (cause.cause.as_str(), cause.ns)).collect();
        assert_eq!(by_cause, told, "causes sum to all lateness");
    }

    pub(crate) fn lateness_ns(&self) -> u64 {
        self.causes.iter().map(|cause| cause.ns).sum()
    }

    pub(crate) fn ns_of(&self, cause: &str) -> u64 {
        self.causes.iter().find(|found| found.cause == cause).map_or(0, |found| found.ns)
    }

    /// Wakeups whose timer was seen.
    pub(crate) fn timed(&self) -> impl Iterator<Item = &Wakeup> {
        self.wakeups.iter().filter(|wakeup| wakeup.kind == "timer")
    }
}
