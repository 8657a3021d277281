//! The deeper part of a wakeup's document: where it waited again, for whom, and how it was led to.

use super::explain::frames_of;
use super::kind::kind_of;
use serde::Serialize;
use tardy_explain::Label;
use tardy_model::event::futex;
use tardy_model::{
    BlockedOn, Boost, Culprit, Link, LockCall, NameId, Stretch, StretchKind, TaskId, Wakeup,
};

/// What a document has of a wakeup that waited more than once, or was woken by somebody; each part
/// only where there is anything.
#[derive(Debug, Serialize)]
pub(super) struct DetailsDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<LockDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stretches: Vec<StretchDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    boosts: Vec<BoostDocument>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    woken_by: Vec<LinkDocument>,
    /// Where in the kernel the victim had slept, the innermost function first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slept_in: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LockDocument {
    op: &'static str,
    address: String,
}

#[derive(Debug, Serialize)]
struct StretchDocument {
    kind: &'static str,
    start_ns: u64,
    ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<char>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<OnDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<CulpritName>,
    /// Where in the kernel the victim was, the innermost function first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stack: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OnDocument {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

#[derive(Debug, Serialize)]
struct BoostDocument {
    time_ns: u64,
    released: bool,
    task: CulpritName,
    by: CulpritName,
    from_prio: i16,
    to_prio: i16,
    in_unlock: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<CulpritName>,
}

#[derive(Debug, Serialize)]
struct LinkDocument {
    time_ns: u64,
    started: bool,
    #[serde(flatten)]
    by: CulpritName,
    #[serde(skip_serializing_if = "Option::is_none")]
    work: Option<String>,
}

#[derive(Debug, Serialize)]
struct CulpritName {
    kind: &'static str,
    name: String,
    pid: Option<u32>,
}

impl DetailsDocument {
    pub(super) fn new(wakeup: &Wakeup, label: &impl Fn(Culprit) -> Label) -> Self {
        let boost = |boost: &Boost| BoostDocument {
            time_ns: boost.time_ns,
            released: boost.released,
            task: culprit_name(Culprit::Task(boost.target), label),
            by: culprit_name(Culprit::Task(boost.by), label),
            from_prio: boost.from.0,
            to_prio: boost.to.0,
            in_unlock: boost.in_unlock,
            instead: boost.instead.map(|task| culprit_name(Culprit::Task(task), label)),
        };
        let link = |link: &Link| LinkDocument {
            time_ns: link.time_ns,
            started: link.started,
            by: culprit_name(link.by, label),
            work: Some(label(Culprit::Function(link.work)).name).filter(|name| !name.is_empty()),
        };
        Self {
            lock: wakeup.lock.map(LockDocument::from),
            stretches: wakeup.stretches.iter().map(|part| stretch(part, label)).collect(),
            boosts: wakeup.boosts.iter().map(boost).collect(),
            woken_by: wakeup.chain.iter().map(link).collect(),
            slept_in: frames(wakeup.slept_in, label),
        }
    }
}

impl From<LockCall> for LockDocument {
    fn from(call: LockCall) -> Self {
        Self { op: futex::name(call.op), address: format!("{:#x}", call.address) }
    }
}

fn culprit_name(culprit: Culprit, label: &impl Fn(Culprit) -> Label) -> CulpritName {
    let label = label(culprit);
    CulpritName { kind: kind_of(&label), name: label.name, pid: label.pid }
}

fn frames(stack: NameId, label: &impl Fn(Culprit) -> Label) -> Vec<String> {
    match stack {
        NameId::NONE => Vec::new(),
        stack => frames_of(&label(Culprit::Function(stack)).name),
    }
}

fn stretch(stretch: &Stretch, label: &impl Fn(Culprit) -> Label) -> StretchDocument {
    let Stretch { kind, start_ns, ns, stack } = *stretch;
    let (state, on, holder, stack) = (None, None, None, frames(stack, label));
    let mut document =
        StretchDocument { kind: kind.name(), start_ns, ns, state, on, holder, stack };
    if let StretchKind::Blocked { state, on, holder } = kind {
        document.state = Some(state.letter());
        document.on = match on {
            BlockedOn::Unknown => None,
            BlockedOn::Futex(address) => {
                Some(OnDocument { kind: "futex", address: Some(format!("{address:#x}")) })
            }
            BlockedOn::KernelLock => Some(OnDocument { kind: "kernel_lock", address: None }),
            BlockedOn::Page => Some(OnDocument { kind: "page", address: None }),
        };
        document.holder =
            (holder != TaskId::IDLE).then(|| culprit_name(Culprit::Task(holder), label));
    }
    document
}
