//! What is told beside wakeups: waits, discarded stories, clocks, stolen time, limits.

use super::explain::frames_of;
use serde::Serialize;
use tardy_explain::{Explanation, Label, StolenTime};

/// All of it, as part of `tardy.explain/1`.
#[derive(Debug, Serialize)]
pub(super) struct SupplementDocument<'a> {
    waits: Vec<WaitDocument<'a>>,
    discarded: Vec<DiscardedDocument>,
    clocks: ClocksDocument,
    /// `null` where the stream does not tell.
    stolen: Option<StolenDocument>,
    limits: Vec<LimitDocument>,
}

#[derive(Debug, Serialize)]
struct WaitDocument<'a> {
    kind: &'static str,
    count: u64,
    ns: u64,
    longest: LongestDocument<'a>,
}

#[derive(Debug, Serialize)]
struct LongestDocument<'a> {
    task: &'a str,
    pid: Option<u32>,
    start_ns: u64,
    ns: u64,
    ended_by: CulpritName<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slept_in: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CulpritName<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
}

#[derive(Debug, Serialize)]
struct DiscardedDocument {
    reason: &'static str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct ClocksDocument {
    /// CPUs' clocks are at least this far apart.
    skew_ns: u64,
    set: Vec<ClockDocument>,
}

#[derive(Debug, Serialize)]
struct ClockDocument {
    by_ns: i64,
    since_ns: u64,
    until_ns: u64,
}

#[derive(Debug, Serialize)]
struct StolenDocument {
    ns: u64,
    unsure_ns: u64,
    unplaced_ns: u64,
}

#[derive(Debug, Serialize)]
struct LimitDocument {
    of: &'static str,
    what: &'static str,
    limit: u64,
    count: u64,
}

impl<'a> From<&'a Label> for CulpritName<'a> {
    fn from(label: &'a Label) -> Self {
        Self { kind: label.kind, name: &label.name, pid: label.pid }
    }
}

impl<'a> From<&'a Explanation> for SupplementDocument<'a> {
    fn from(explanation: &'a Explanation) -> Self {
        let waits = explanation.waits.iter().map(|wait| WaitDocument {
            kind: wait.kind.name(),
            count: wait.count,
            ns: wait.ns,
            longest: LongestDocument {
                task: &wait.longest.victim.name,
                pid: wait.longest.victim.pid,
                start_ns: wait.longest.since_ns,
                ns: wait.longest.ns,
                ended_by: (&wait.longest.ended_by).into(),
                slept_in: frames_of(&wait.longest.slept_in),
            },
        });
        let discarded = explanation.discarded.iter();
        let discarded = discarded
            .map(|(reason, count)| DiscardedDocument { reason: reason.name(), count: *count });
        let set = explanation.clocks_set.iter().map(|set| ClockDocument {
            by_ns: set.by_ns,
            since_ns: set.since_ns,
            until_ns: set.until_ns,
        });
        let limits = explanation.bounds.iter().map(|bound| LimitDocument {
            of: bound.of,
            what: bound.what,
            limit: bound.limit,
            count: bound.count,
        });
        Self {
            waits: waits.collect(),
            discarded: discarded.collect(),
            clocks: ClocksDocument { skew_ns: explanation.skew.ns, set: set.collect() },
            stolen: explanation.stolen.map(|StolenTime { ns, unsure_ns, unplaced_ns }| {
                StolenDocument { ns, unsure_ns, unplaced_ns }
            }),
            limits: limits.collect(),
        }
    }
}
