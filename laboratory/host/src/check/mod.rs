//! The checks, a file each. A new check is a file with a function `check` and its lines below.

pub(crate) mod bpf;
pub(crate) mod btf;
mod clock_source;
mod cpu_frequency;
mod debug_options;
mod high_resolution;
mod hugepages;
mod hypervisor;
mod hz;
pub(crate) mod idle_states;
mod irq_affinity;
mod isolation;
mod kernel;
mod load;
mod permissions;
mod preemption;
mod rt_throttling;
mod smt;
mod steal;
mod swap;
mod timer_migration;
mod timer_slack;
pub(crate) mod tracefs;

use crate::probe::Probe;
use serde::Serialize;

type Function = fn(&Probe) -> Finding;

/// All checks in the order in which they are shown: the kernel, its timers, the CPUs, what else
/// runs, what tardy may do.
const REGISTRY: &[(&str, Function)] = &[
    ("kernel", kernel::check),
    ("preemption", preemption::check),
    ("debug_options", debug_options::check),
    ("high_resolution", high_resolution::check),
    ("hz", hz::check),
    ("clock_source", clock_source::check),
    ("timer_slack", timer_slack::check),
    ("timer_migration", timer_migration::check),
    ("hypervisor", hypervisor::check),
    ("steal", steal::check),
    ("idle_states", idle_states::check),
    ("cpu_frequency", cpu_frequency::check),
    ("smt", smt::check),
    ("isolation", isolation::check),
    ("irq_affinity", irq_affinity::check),
    ("rt_throttling", rt_throttling::check),
    ("hugepages", hugepages::check),
    ("swap", swap::check),
    ("load", load::check),
    ("permissions", permissions::check),
    ("btf", btf::check),
    ("bpf", bpf::check),
    ("tracefs", tracefs::check),
];

/// A fact about this machine, judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at, in `snake_case`; stable.
    pub name: &'static str,
    /// The judgement.
    pub state: State,
    /// What was found. It comes from the system: data, whatever it holds.
    pub value: String,
    /// Why it matters for lateness on this machine.
    pub why: String,
    /// The commands or kernel options that change it, where they are worth giving: each does by itself.
    pub changes: Vec<String>,
    /// The command that tries a change and undoes it if it does not help, where tardy has one.
    pub fix: Option<String>,
}

/// How a fact bears on lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing to do.
    Good,
    /// It makes wakeups later, or measurements say less, within what is usual.
    Notice,
    /// It makes wakeups late by far.
    Problem,
    /// Nothing tells.
    Unknown,
}

impl State {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Notice => "notice",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check's function yields.
struct Finding {
    state: State,
    value: String,
    why: String,
    changes: Vec<String>,
    fix: Option<String>,
}

impl Finding {
    fn new(state: State, value: impl Into<String>, why: impl Into<String>) -> Self {
        Self { state, value: value.into(), why: why.into(), changes: Vec::new(), fix: None }
    }

    fn good(value: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(State::Good, value, why)
    }

    fn notice(value: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(State::Notice, value, why)
    }

    fn problem(value: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(State::Problem, value, why)
    }

    fn unknown(value: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(State::Unknown, value, why)
    }

    /// One more way to change it.
    fn change(mut self, change: impl Into<String>) -> Self {
        self.changes.push(change.into());
        self
    }

    /// What `tardy fix` is called with to try one.
    fn fix(mut self, arguments: &str) -> Self {
        self.fix = Some(format!("tardy fix {arguments}"));
        self
    }
}

/// Runs all checks.
pub(crate) fn run(probe: &Probe) -> Vec<Check> {
    REGISTRY
        .iter()
        .map(|(name, check)| {
            let Finding { state, value, why, changes, fix } = check(probe);
            Check { name, state, value, why, changes, fix }
        })
        .collect()
}
