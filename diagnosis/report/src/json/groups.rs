//! Culprits as a person would name them, with who they are made of.

use super::explain::frames_of;
use serde::Serialize;
use tardy_explain::{Explanation, Group, GroupFinding, StackFinding};

/// Functions of a group that are told; the rest took less.
const FUNCTIONS_MAX: usize = 100;

/// One group with all its members.
#[derive(Debug, Serialize)]
pub(super) struct GroupDocument<'a> {
    #[serde(flatten)]
    name: GroupName<'a>,
    threads: u64,
    processes: u64,
    ns: u64,
    share: f64,
    main_cause: &'static str,
    causes: Vec<InCauseDocument>,
    /// Where in the kernel, each innermost function once in a cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<FunctionDocument<'a>>,
    members: Vec<MemberDocument<'a>>,
}

/// Who.
#[derive(Debug, Serialize)]
pub(super) struct GroupName<'a> {
    kind: &'static str,
    name: &'a str,
    words: String,
}

/// What a pattern's group took.
#[derive(Debug, Serialize)]
pub(super) struct InPatternDocument<'a> {
    #[serde(flatten)]
    name: GroupName<'a>,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct InCauseDocument {
    cause: &'static str,
    ns: u64,
}

#[derive(Debug, Serialize)]
struct FunctionDocument<'a> {
    cause: &'static str,
    function: &'a str,
    ns: u64,
    stack: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MemberDocument<'a> {
    kind: &'static str,
    name: &'a str,
    pid: Option<u32>,
    process: Option<u32>,
    ns: u64,
    share: f64,
}

impl<'a> From<&'a Group> for GroupName<'a> {
    fn from(group: &'a Group) -> Self {
        let kind = if group.kind.is_empty() { "unknown" } else { group.kind };
        Self { kind, name: &group.name, words: group.words() }
    }
}

impl<'a> From<&'a (Group, u64)> for InPatternDocument<'a> {
    fn from((group, ns): &'a (Group, u64)) -> Self {
        Self { name: GroupName::from(group), ns: *ns }
    }
}

impl<'a> From<&'a StackFinding> for FunctionDocument<'a> {
    fn from(found: &'a StackFinding) -> Self {
        let cause = found.cause.0;
        Self { cause, function: found.function(), ns: found.ns, stack: frames_of(&found.frames) }
    }
}

impl<'a> GroupDocument<'a> {
    pub(super) fn new(found: &'a GroupFinding, explanation: &'a Explanation) -> Self {
        let members = found.members.iter().filter_map(|at| explanation.culprits.get(*at));
        let causes = found.causes.iter();
        Self {
            name: GroupName::from(&found.group),
            threads: found.group.threads,
            processes: found.group.processes,
            ns: found.ns,
            share: found.share,
            main_cause: found.main_cause.0,
            causes: causes.map(|(cause, ns)| InCauseDocument { cause: cause.0, ns: *ns }).collect(),
            functions: found
                .stacks
                .iter()
                .take(FUNCTIONS_MAX)
                .map(FunctionDocument::from)
                .collect(),
            members: members
                .map(|member| MemberDocument {
                    kind: super::kind::kind_of(&member.label),
                    name: &member.label.name,
                    pid: member.label.pid,
                    process: member.process,
                    ns: member.ns,
                    share: member.share,
                })
                .collect(),
        }
    }
}
