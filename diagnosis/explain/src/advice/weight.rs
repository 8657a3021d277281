//! What a cause may know of an explanation to advise on it.

use super::{WORST_SHARE_MIN, command, kernel_threads};
use crate::findings::{CauseFinding, CulpritFinding, Explanation, StackFinding, WorstWakeup};
use crate::group::{Group, GroupFinding};
use std::collections::BTreeSet;
use tardy_changes::Whom;
use tardy_model::event::futex;
use tardy_model::{Cause, Culprit, Prio, TaskId};

/// Groups of which something is said by name; the rest is only counted.
const GROUPS_MAX: usize = 3;

/// Of fewer wakeups it is chance on which CPUs they were.
const WAKEUPS_MIN: u64 = 100;

/// That long in a wakeup is worth a change of the system.
const LONG_NS: u64 = 10_000;

/// How much a cause weighs, and who has to do with it.
pub struct Weight<'a> {
    /// Mean nanoseconds in the wakeups where it appears.
    pub mean_ns: u64,
    /// Who took most in it, at most three.
    pub groups: Vec<InCause<'a>>,
    cause: Cause,
    worst_share: f64,
    explanation: &'a Explanation,
    prio: &'a dyn Fn(TaskId) -> Prio,
}

/// A group in one cause.
#[derive(Clone, Copy)]
pub struct InCause<'a> {
    /// Who.
    pub group: &'a Group,
    /// What it took in this cause.
    pub ns: u64,
    finding: &'a GroupFinding,
}

impl<'a> Weight<'a> {
    pub(super) fn new(
        explanation: &'a Explanation,
        finding: &CauseFinding,
        prio: &'a dyn Fn(TaskId) -> Prio,
        about: Option<(TaskId, u64)>,
    ) -> Self {
        let cause = finding.cause;
        let in_cause = |(at, finding): (usize, &'a GroupFinding)| {
            let (_, ns) = finding.causes.iter().find(|(known, _)| *known == cause)?;
            let of_it_ns = about.map_or(0, |wakeup| ns_in(explanation, wakeup, cause, at));
            Some((of_it_ns, InCause { group: &finding.group, ns: *ns, finding }))
        };
        let mut groups: Vec<_> =
            explanation.groups.iter().enumerate().filter_map(in_cause).collect();
        groups.sort_by_key(|(of_it_ns, group)| std::cmp::Reverse((*of_it_ns, group.ns)));
        let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
        groups.truncate(GROUPS_MAX);
        let mean_ns = finding.ns / finding.wakeups.max(1);
        Self { mean_ns, groups, cause, worst_share: finding.worst_share, explanation, prio }
    }

    /// Whether it takes long where it appears, or makes the worst wakeups what they are: a little of it is in
    /// each, and no change is for that.
    pub fn is_weighty(&self) -> bool {
        self.mean_ns >= LONG_NS || self.worst_share >= WORST_SHARE_MIN
    }

    /// Who took most in it.
    pub fn first(&self) -> Option<&InCause<'a>> {
        self.groups.first()
    }

    /// Where the first was for most of it, where stacks tell, and the same for a sentence: `, 83 % of it in
    /// zap_pte_range <- unmap_page_range`.
    pub fn place(&self) -> Option<(&'a StackFinding, String)> {
        let (stack, share) = self.first()?.finding.place(self.cause)?;
        Some((stack, format!(", {:.0} % of it in {}", share * 100.0, stack.words())))
    }

    /// The members of the first group that have a part in this cause, most first.
    fn members(&self) -> impl Iterator<Item = &'a CulpritFinding> {
        let cause = self.cause;
        let places = self.first().map_or(&[][..], |first| &first.finding.members);
        let members = places.iter().map(|at| &self.explanation.culprits[*at]);
        members.filter(move |member| member.causes.iter().any(|(known, _)| *known == cause))
    }

    /// The highest priority of the first group's threads, where any is known.
    pub fn highest_prio(&self) -> Option<Prio> {
        let tasks = self.members().filter_map(|member| member.label.pid);
        tasks.map(|pid| (self.prio)(TaskId(pid))).filter(|prio| prio.is_known()).min()
    }

    /// The number of the first group's interrupt, where it is one of a device.
    pub fn irq_number(&self) -> Option<u32> {
        self.members().find_map(|member| match member.who {
            Culprit::Irq(tardy_model::event::Irq::Line(number, _)) => Some(number),
            _ => None,
        })
    }

    /// Whether the first group is timers.
    pub fn is_of_timers(&self) -> bool {
        self.members().any(|member| matches!(member.who, Culprit::Timer(..)))
    }

    /// Whether the first group is interrupts that CPUs send each other.
    pub fn is_sent(&self) -> bool {
        use tardy_model::event::Irq;
        self.members().any(|member| match member.who {
            Culprit::Ipi(..) => true,
            Culprit::Irq(Irq::Vector(vector)) => vector.is_sent(),
            _ => false,
        })
    }

    /// The softirq that most of the first group's part was, whoever ran it.
    pub fn softirq(&self) -> Option<u32> {
        let first = self.first()?;
        self.members().find_map(|member| match member.who {
            Culprit::Softirq(vector) | Culprit::SoftirqIn(vector, _) => {
                let (_, ns) = member.causes.iter().find(|(known, _)| *known == self.cause)?;
                (ns.saturating_mul(2) > first.ns).then_some(vector)
            }
            _ => None,
        })
    }

    /// The lowest priority of the threads that were late, where any is known.
    pub fn victims_prio(&self) -> Option<Prio> {
        self.explanation.victims.iter().filter_map(|victim| victim.prio).max()
    }

    /// Whether the first group is somebody that is known.
    pub fn is_by_somebody(&self) -> bool {
        self.members().any(|member| member.who != Culprit::Nobody)
    }

    /// "the thread", or "the threads".
    pub fn victims(&self) -> &'static str {
        if self.explanation.victims.len() == 1 { "the thread" } else { "the threads" }
    }

    /// Whether they are more than one change is for.
    pub fn has_many_victims(&self) -> bool {
        self.explanation.victims.len() > command::IDS_MAX
    }

    /// The command that makes the late threads `SCHED_FIFO` of a priority, 1–99.
    pub fn real_time(&self, prio: u8) -> Option<String> {
        command::real_time(&self.explanation.victims, prio)
    }

    /// The command that takes the timer slack from the late threads.
    pub fn without_slack(&self) -> Option<String> {
        command::without_slack(&self.explanation.victims)
    }

    /// The command that sends an interrupt to CPUs on which nobody was late, where that is known.
    pub fn send_away(&self, irq: u32) -> Option<String> {
        if self.explanation.latencies.count() < WAKEUPS_MIN {
            return None;
        }
        command::send_away(irq, &self.quiet_cpus())
    }

    /// The command that moves the processes of the first group to CPUs on which nobody was late, where that is
    /// known, and where no late thread would move with them.
    pub fn move_away(&self) -> Option<String> {
        if self.explanation.latencies.count() < WAKEUPS_MIN {
            return None;
        }
        // Most of the kernel's threads cannot be moved.
        if self.first().is_none_or(|first| first.group.kind == "kernel_task") {
            return None;
        }
        let processes: BTreeSet<u32> = self.members().filter_map(|member| member.process).collect();
        let mut late = self.explanation.victims.iter().filter_map(|victim| victim.process);
        if late.any(|process| processes.contains(&process)) {
            return None;
        }
        command::move_away(&processes, &self.quiet_cpus())
    }

    /// How a change that keeps the first group off the CPUs of the late threads is written; or, where there is no
    /// other CPU, that lets it run only when nobody else wants to.
    pub fn keep_away(&self) -> Vec<String> {
        let Some(first) = self.first() else { return Vec::new() };
        let cpus: Vec<String> = self.quiet_cpus().iter().map(u16::to_string).collect();
        let processes: BTreeSet<u32> = self.members().filter_map(|member| member.process).collect();
        let late: BTreeSet<u32> =
            self.explanation.victims.iter().filter_map(|victim| victim.process).collect();
        if first.group.kind == "kernel_task" && !self.is_among_victims() {
            let stops = kernel_threads::changes(&first.group.name, &cpus.join(","));
            return stops.into_iter().chain(self.leave()).collect();
        }
        if first.group.kind == "kernel_task" || !processes.is_disjoint(&late) {
            return Vec::new();
        }
        let whom: Vec<String> = match processes.len() {
            0 => return Vec::new(),
            1 => processes.iter().map(u32::to_string).collect(),
            _ if first.group.kind == "task" => {
                Whom::of_trace(&first.group.name).iter().map(Whom::to_string).collect()
            }
            // Timers have no name that a thread has: those of the process that has most.
            _ => self
                .members()
                .find_map(|member| member.process)
                .iter()
                .map(u32::to_string)
                .collect(),
        };
        let away = whom.iter().filter(|_| !cpus.is_empty());
        let away = away.map(|whom| format!("affinity({whom})={}", cpus.join(",")));
        away.chain(whom.iter().map(|whom| format!("prio({whom})=idle"))).collect()
    }

    /// How a change that keeps the first group's interrupt off the CPUs of the late threads is written.
    pub fn keep_irq_away(&self) -> Option<String> {
        let cpus: Vec<String> = self.quiet_cpus().iter().map(u16::to_string).collect();
        let number = self.irq_number().filter(|_| !cpus.is_empty())?;
        Some(format!("affinity(irq {number})={}", cpus.join(",")))
    }

    /// How a change is written that takes the late threads to other CPUs, away from what cannot be moved itself.
    pub fn leave(&self) -> Option<String> {
        let cpus: Vec<String> = self.quiet_cpus().iter().map(u16::to_string).collect();
        (!cpus.is_empty()).then(|| format!("affinity(victim)={}", cpus.join(",")))
    }

    /// How a change is written that leaves the CPUs of the late threads to them alone, where others are known.
    pub fn isolate(&self) -> Option<String> {
        let late: Vec<String> = self.late_cpus().iter().map(u16::to_string).collect();
        let has_others = !late.is_empty() && !self.quiet_cpus().is_empty();
        has_others.then(|| format!("isolate={}", late.join(",")))
    }

    /// Whether late threads are in the first group: a change that is for all of them puts none before another.
    pub fn is_among_victims(&self) -> bool {
        let late: BTreeSet<u32> =
            self.explanation.victims.iter().filter_map(|victim| victim.label.pid).collect();
        self.members().any(|member| member.label.pid.is_some_and(|pid| late.contains(&pid)))
    }

    /// The calls of the worst wakeups wait for locks that hand no priority on.
    pub fn is_of_plain_locks(&self) -> bool {
        let locks = self.explanation.worst.iter().filter_map(|worst| worst.wakeup.lock);
        locks
            .into_iter()
            .any(|lock| matches!(futex::operation(lock.op), futex::WAIT | futex::WAIT_BITSET))
    }

    /// CPUs on which none of the worst wakeups was, of those that are known.
    fn quiet_cpus(&self) -> BTreeSet<u16> {
        let worst = &self.explanation.worst;
        let known = worst.iter().flat_map(|worst| &worst.lanes).map(|lane| lane.cpu.0);
        let late = self.late_cpus();
        known.filter(|cpu| !late.contains(cpu)).collect()
    }

    /// CPUs on which the worst wakeups were.
    fn late_cpus(&self) -> BTreeSet<u16> {
        self.explanation.worst.iter().map(|worst| worst.wakeup.cpu.0).collect()
    }
}

/// What a group took of one cause in one wakeup, where that is among the worst.
fn ns_in(
    explanation: &Explanation,
    (task, expiry_ns): (TaskId, u64),
    cause: Cause,
    at: usize,
) -> u64 {
    let is_it =
        |worst: &&WorstWakeup| (worst.wakeup.task, worst.wakeup.expiry_ns) == (task, expiry_ns);
    let Some(worst) = explanation.worst.iter().find(is_it) else { return 0 };
    let is_in_group = |culprit: Culprit| {
        let found = explanation.culprits.iter().find(|finding| finding.who == culprit);
        found.is_some_and(|finding| finding.group == at)
    };
    let segments = worst.wakeup.segments.iter().filter(|segment| segment.cause == cause);
    let its = segments.filter(|segment| is_in_group(segment.culprit));
    its.map(|segment| segment.ns).fold(0, u64::saturating_add)
}

impl std::fmt::Debug for Weight<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Weight")
            .field("cause", &self.cause)
            .field("mean_ns", &self.mean_ns)
            .finish_non_exhaustive()
    }
}
