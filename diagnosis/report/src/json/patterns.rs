//! Stories that are known, as they were found.

use super::groups::InPatternDocument;
use super::kind::kind_of;
use serde::Serialize;
use tardy_explain::{Label, PatternFinding};

/// A pattern that was found.
#[derive(Debug, Serialize)]
pub(super) struct PatternDocument<'a> {
    name: &'static str,
    title: &'static str,
    words: &'a str,
    reference: &'static str,
    wakeups: u64,
    ns: u64,
    share: f64,
    worst: Option<InstanceDocument<'a>>,
    culprits: Vec<CulpritDocument<'a>>,
    culprits_count: usize,
    groups: Vec<InPatternDocument<'a>>,
    count_max: u64,
    count_mean: f64,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    figures: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct InstanceDocument<'a> {
    task: &'a str,
    pid: Option<u32>,
    expiry_ns: u64,
    lateness_ns: u64,
    ns: u64,
    at_ns: u64,
}

#[derive(Debug, Serialize)]
struct CulpritDocument<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
    ns: u64,
}

impl<'a> From<&'a PatternFinding> for PatternDocument<'a> {
    fn from(finding: &'a PatternFinding) -> Self {
        let found = &finding.found;
        let culprit = |(label, ns): &'a (Label, u64)| CulpritDocument {
            kind: kind_of(label),
            name: &label.name,
            pid: label.pid,
            ns: *ns,
        };
        let figure = |(name, figure): &(&str, f64)| ((*name).to_owned(), (*figure).into());
        Self {
            name: finding.name,
            title: finding.title,
            words: &finding.words,
            reference: finding.reference,
            wakeups: found.wakeups,
            ns: found.ns,
            share: found.share,
            worst: found.worst.as_ref().map(|worst| InstanceDocument {
                task: &worst.victim.name,
                pid: worst.victim.pid,
                expiry_ns: worst.expiry_ns,
                lateness_ns: worst.lateness_ns,
                ns: worst.ns,
                at_ns: worst.at_ns,
            }),
            culprits: found.culprits.iter().map(culprit).collect(),
            culprits_count: found.culprits_count,
            groups: found.groups.iter().map(InPatternDocument::from).collect(),
            count_max: found.count_max,
            count_mean: found.count_mean,
            figures: found.watched.iter().map(figure).collect(),
        }
    }
}
