//! `prio(WHOM)=POLICY`: the scheduling policy and priority of threads.

use super::Predicted;
use crate::model::{KSOFTIRQD, KTIMERS, Model};
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::{Change, PRIORITY_ADVISED, Scheduling};
use tardy_sim::{Kernel, Policy, Softirqs};

/// The timer slack of an ordinary thread that nobody changed (`INIT_TASK` in `init/init_task.c`).
pub(super) const DEFAULT_SLACK_NS: u64 = 50_000;

pub(super) struct Prio;

impl Predicted for Prio {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let policy = match change.scheduling() {
            Some(Scheduling::Other(nice)) => Policy::Other { nice },
            Some(Scheduling::Batch(nice)) => Policy::Batch { nice },
            Some(Scheduling::Idle) => Policy::Idle,
            Some(Scheduling::Fifo(prio)) => Policy::Fifo(prio),
            Some(Scheduling::RoundRobin(prio)) => Policy::RoundRobin(prio),
            None => return Err(Refusal::Meaningless("that is no policy".to_owned())),
        };
        if model.is_throttled_somehow && realtime(policy) > 0 {
            return Err(Refusal::Throttled);
        }
        let places = super::places(change, model)?;
        let mut changed = false;
        for at in places {
            if serves_softirqs(at, model) {
                changed |= serve_at(policy, &model.roles[at].name, &mut model.system.kernel)?;
                continue;
            }
            let thread = &mut model.system.workload.threads[at];
            changed |= thread.policy != policy;
            // A real-time thread has no slack, so that its own is not known: mostly nobody has changed it.
            if realtime(thread.policy) > 0 && realtime(policy) == 0 && thread.slack_ns == 0 {
                thread.slack_ns = DEFAULT_SLACK_NS;
            }
            thread.policy = policy;
        }
        if changed {
            return Ok(());
        }
        Err(Refusal::Already("those threads have that policy already"))
    }

    fn price(&self) -> &'static str {
        "threads of lower priority wait longer; a real-time thread that spins keeps its CPU to \
            itself"
    }

    fn price_of(&self, change: &Change) -> &'static str {
        match change.scheduling() {
            Some(Scheduling::Idle) => "they run only when nobody else wants the CPU",
            Some(policy) if !policy.is_real_time() => {
                "they share the CPU with all ordinary threads"
            }
            _ => self.price(),
        }
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        let threads = model.roles.iter().zip(&model.system.workload.threads);
        let highest = threads.clone().filter(|(role, _)| role.is_victim);
        let highest = highest.map(|(_, thread)| realtime(thread.policy)).max().unwrap_or(0);
        let mut found = Vec::new();
        if highest == 0 {
            found.push(format!("prio(victim)=fifo:{PRIORITY_ADVISED}"));
        }
        let above = threads.filter(|(role, thread)| {
            suspects.names(role) && realtime(thread.policy) >= highest.max(1)
        });
        let above = above.map(|(_, thread)| realtime(thread.policy)).max();
        let is_advised_too = |above: u8| highest > 0 || above >= PRIORITY_ADVISED;
        if let Some(above) =
            above.filter(|above| *above >= highest && *above < 98 && is_advised_too(*above))
        {
            found.push(format!("prio(victim)=fifo:{}", above + 1));
        }
        let of_name = |name: &str| {
            let name = name.to_owned();
            let threads = model.roles.iter().zip(&model.system.workload.threads);
            threads.filter(move |(role, _)| role.called == name)
        };
        // Who is ordinary already, and no less nice than others, has nothing to lose by it.
        let has_more = |name: &&String| {
            let has_none = |policy| {
                use Policy::{Batch, Idle, Other};
                matches!(policy, Other { nice: 0.. } | Batch { nice: 0.. } | Idle)
            };
            of_name(name).any(|(_, thread)| !has_none(thread.policy))
        };
        let ordinary = suspects.changeable().filter(has_more);
        found.extend(ordinary.map(|name| format!("prio({name})=other")));
        // Beside ordinary victims a program may be content with what they leave; a thread of the kernel must not wait.
        let may_wait = |name: &&String| {
            let may = |policy| matches!(policy, Policy::Other { .. } | Policy::Batch { .. });
            highest == 0
                && of_name(name).all(|(role, thread)| !role.is_kernel && may(thread.policy))
        };
        let patient = suspects.changeable().filter(may_wait);
        found.extend(patient.map(|name| format!("prio({name})=idle")));
        found
    }
}

/// Whether the simulator has threads of its own in place of that one.
fn serves_softirqs(at: usize, model: &Model) -> bool {
    let role = &model.roles[at];
    let does_nothing = || {
        let script = &model.system.workload.threads[at].script;
        script.as_ref().is_none_or(|script| script.is_empty())
    };
    role.name.starts_with(KTIMERS) || role.name.starts_with(KSOFTIRQD) && does_nothing()
}

/// Gives the simulator's own threads for softirqs a policy. Whether that is another one.
fn serve_at(policy: Policy, name: &str, kernel: &mut Kernel) -> Result<bool, Refusal> {
    let served_by = if name.starts_with(KTIMERS) { Softirqs::Ktimers } else { Softirqs::Ksoftirqd };
    let why = match policy {
        _ if kernel.softirqs != served_by => "no softirq of its own is seen in those threads",
        Policy::Other { nice: 0 } | Policy::Fifo(_) | Policy::RoundRobin(_) => {
            let common = realtime(policy);
            return Ok(std::mem::replace(&mut kernel.settings.common, common) != common);
        }
        _ => "those threads are simulated at nice 0 or as real-time ones only",
    };
    Err(Refusal::Meaningless(why.to_owned()))
}

/// The real-time priority of a policy; 0 where it has none, above all of them where it has a deadline.
pub(super) fn realtime(policy: Policy) -> u8 {
    match policy {
        Policy::Fifo(prio) | Policy::RoundRobin(prio) => prio,
        Policy::Deadline { .. } => 100,
        Policy::Other { .. } | Policy::Batch { .. } | Policy::Idle => 0,
    }
}
