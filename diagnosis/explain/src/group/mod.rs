//! Culprits as a person would name them: a program instead of its 400 threads.
//!
//! Each culprit is shown to the *kinds* in the registry's order; the first that knows it says which group it
//! is in. What no kind knows is a group of its own, under its own name. A group holds its members, so that it
//! can be taken apart into processes and threads again.
//!
//! A new kind is one file here and one line in the registry, which also declares the file.

mod family;
mod gather;

pub(crate) use gather::Gather;

use crate::cause::is_own;
use crate::findings::{Explanation, StackFinding};
use crate::label::{CLOCK_EVENT_DEVICE, Label, Labels};
use tardy_model::{Cause, Culprit, TaskId};

/// Who is meant, in a few words: a program, a kind of kernel threads, a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The kind of its members; as [`Label::kind`].
    pub kind: &'static str,
    /// What it is called. Names come from traces: they are data, whatever they hold.
    pub name: String,
    /// How many threads its members are, or belong to; 0 where they are no threads'.
    pub threads: u64,
    /// How many processes those are of; 0 where that is not known of all.
    pub processes: u64,
    /// The thread, where it is only one.
    pub pid: Option<u32>,
}

/// A place that is named with a group has at least this share of what the group took of a cause.
const PLACE_SHARE_MIN: f64 = 0.05;

/// What one group took.
#[derive(Clone, Debug)]
pub struct GroupFinding {
    /// Who.
    pub group: Group,
    /// Nanoseconds, over all wakeups: the sum of its members'.
    pub ns: u64,
    /// Share of all lateness, 0–1.
    pub share: f64,
    /// The cause in which it took most.
    pub main_cause: Cause,
    /// What it took in each cause, most first.
    pub causes: Vec<(Cause, u64)>,
    /// Where in the kernel they were, by cause: each function once, most first, with the stack of most time that
    /// ends in it.
    pub stacks: Vec<StackFinding>,
    /// Its members, most first, by their places in [`Explanation::culprits`].
    pub members: Vec<usize>,
}

impl GroupFinding {
    /// What of it a wakeup takes by itself, with nobody in its way: its timer's callback, the thread's own work,
    /// the clock-event device.
    pub fn own_ns(&self) -> u64 {
        if self.group.kind == CLOCK_EVENT_DEVICE {
            return self.ns;
        }
        let own = self.causes.iter().filter(|(cause, _)| is_own(*cause));
        own.map(|(_, ns)| *ns).fold(0, u64::saturating_add)
    }

    /// Where it was for most of what it took of a cause, and the share of that; none where that is little.
    pub fn place(&self, cause: Cause) -> Option<(&StackFinding, f64)> {
        let first = self.stacks.iter().find(|stack| stack.cause == cause)?;
        let (_, ns) = self.causes.iter().find(|(known, _)| *known == cause)?;
        let share = first.ns as f64 / (*ns).max(1) as f64;
        (share >= PLACE_SHARE_MIN).then_some((first, share))
    }

    /// The cause in which it took most of the rest.
    pub fn blamed_cause(&self) -> Option<Cause> {
        self.causes.iter().map(|(cause, _)| *cause).find(|cause| !is_own(*cause))
    }
}

/// How the names of groups begin that are more than one.
const IRQ_THREADS_OF: &str = "irq threads of ";
const IRQS_OF: &str = "irqs of ";
const NAMELESS: &str = "threads without a name";

/// What is behind a task's name where an interrupt may have run in it instead.
pub(crate) const OR_INTERRUPT: &str = " or an interrupt in it";

impl Group {
    /// The form of a verb that goes with its words: of "hackbench (400 threads)", or of "irqs of eth0".
    pub fn verb(&self, one: &'static str, many: &'static str) -> &'static str {
        let begins = |with: &&str| self.name.starts_with(*with);
        let is_many = [IRQ_THREADS_OF, IRQS_OF, NAMELESS].iter().any(begins)
            || self.kind == "timer" && self.name.contains("timer") && self.name.contains("s of ");
        if is_many { many } else { one }
    }

    /// In words: `hackbench (400 threads of 40 processes)`, `rustc (4711)`, `kworker (5 kernel threads)`.
    pub fn words(&self) -> String {
        if self.kind == "task_or_interrupt"
            && let Some(name) = self.name.strip_suffix(OR_INTERRUPT)
        {
            let task = Self { name: name.to_owned(), kind: "task", ..self.clone() };
            return task.words() + OR_INTERRUPT;
        }
        let name = if self.name.is_empty() { "unknown" } else { &self.name };
        let threads = match (self.kind, self.threads, self.processes) {
            (_, 0, _) => return name.to_owned(),
            (_, 1, _) => match self.pid {
                Some(pid) => return format!("{name} ({pid})"),
                None => return name.to_owned(),
            },
            ("kernel_task", threads, _) => format!("{threads} kernel threads"),
            (_, threads, processes) if threads == processes => format!("{processes} processes"),
            (_, threads, 2..) => format!("{threads} threads of {} processes", self.processes),
            (_, threads, _) => format!("{threads} threads"),
        };
        format!("{name} ({threads})")
    }
}

/// A culprit to be placed, and what is known of it.
pub(crate) struct Who<'a> {
    pub(crate) culprit: Culprit,
    /// Its name at the time.
    pub(crate) label: &'a Label,
    pub(crate) labels: &'a Labels,
}

impl Who<'_> {
    /// The thread that it is, or belongs to.
    fn task(&self) -> Option<TaskId> {
        let task = match self.culprit {
            Culprit::Task(task)
            | Culprit::TaskOrInterrupt(task)
            | Culprit::SoftirqIn(_, task)
            | Culprit::Ipi(_, task, _) => task,
            Culprit::Timer(timer, armed_by) => self.labels.timer_owner(timer, armed_by),
            _ => TaskId::IDLE,
        };
        (task != TaskId::IDLE).then_some(task)
    }
}

/// Where a culprit is placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The kind of the group, as [`Label::kind`].
    pub(crate) kind: &'static str,
    /// What the group is called: with the kind, this is the group.
    pub(crate) name: String,
    /// What it is called where all its members are called the same.
    pub(crate) exact: String,
}

/// One kind of culprits.
trait Kind: Sync {
    /// Which group a culprit is in, where it is of this kind.
    fn place(&self, who: &Who<'_>) -> Option<Place>;
}

macro_rules! registry {
    ($($file:ident::$kind:ident),* $(,)?) => {
        $(mod $file;)*

        /// Every kind, in the order in which they are asked.
        const REGISTRY: &[&dyn Kind] = &[$(&$file::$kind),*];
    };
}

registry![
    recorder::Recorder,
    kernel_threads::KernelThreads,
    program::Program,
    timers::Timers,
    device::Device,
    sent::Sent,
    named_by_kernel::NamedByKernel,
    setting::SettingOf,
    other_cpus::OtherCpus,
    hypervisor::Hypervisor,
];

/// What a program, or a kind of kernel threads, is called by the name of one of its processes.
pub(crate) fn program_name(comm: &str, is_kernel: bool) -> String {
    if is_kernel { kernel_threads::name_of(comm) } else { family::family(comm) }
}

/// Which group a culprit is in.
pub(crate) fn place(who: &Who<'_>) -> Place {
    let known = REGISTRY.iter().find_map(|kind| kind.place(who));
    known.unwrap_or_else(|| {
        let Label { kind, name, .. } = who.label;
        Place { kind, name: name.clone(), exact: name.clone() }
    })
}

/// Each function once in a cause.
fn by_function<'a>(stacks: impl Iterator<Item = &'a StackFinding>) -> Vec<StackFinding> {
    let mut all: Vec<StackFinding> = stacks.cloned().collect();
    StackFinding::sort(&mut all);
    let mut functions: Vec<StackFinding> = Vec::new();
    for stack in all {
        let is_same = |known: &&mut StackFinding| {
            known.cause == stack.cause && known.function() == stack.function()
        };
        match functions.iter_mut().find(is_same) {
            Some(known) => known.ns = known.ns.saturating_add(stack.ns),
            None => functions.push(stack),
        }
    }
    StackFinding::sort(&mut functions);
    functions
}

/// Groups the culprits of an explanation that is otherwise finished.
pub(crate) fn group_all(explanation: &mut Explanation, labels: &Labels) {
    let mut gather = Gather::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (at, culprit) in explanation.culprits.iter_mut().enumerate() {
        let who = Who { culprit: culprit.who, label: &culprit.label, labels };
        culprit.group = gather.add(&who);
        culprit.process = who.task().and_then(|task| labels.process(task)).map(|process| process.0);
        if culprit.group == members.len() {
            members.push(Vec::new());
        }
        members[culprit.group].push(at);
    }
    let finding = |(group, members): (Group, Vec<usize>)| {
        let mut finding = GroupFinding {
            group,
            ns: 0,
            share: 0.0,
            main_cause: Cause::UNEXPLAINED,
            causes: Vec::new(),
            stacks: Vec::new(),
            members,
        };
        for member in finding.members.iter().map(|at| &explanation.culprits[*at]) {
            finding.ns = finding.ns.saturating_add(member.ns);
            finding.share += member.share;
            for (cause, ns) in &member.causes {
                match finding.causes.iter_mut().find(|(known, _)| known == cause) {
                    Some((_, sum)) => *sum = sum.saturating_add(*ns),
                    None => finding.causes.push((*cause, *ns)),
                }
            }
        }
        let stacks = finding.members.iter().flat_map(|at| &explanation.culprits[*at].stacks);
        finding.stacks = by_function(stacks);
        finding.causes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        if let Some((cause, _)) = finding.causes.first() {
            finding.main_cause = *cause;
        }
        finding
    };
    let groups: Vec<GroupFinding> =
        gather.into_groups().into_iter().zip(members).map(finding).collect();
    // Most first; culprits then point to where their groups have come.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&groups[*a], &groups[*b]);
        b.ns.cmp(&a.ns).then_with(|| a.group.name.cmp(&b.group.name))
    });
    let mut place_of = vec![0; groups.len()];
    for (to, from) in order.iter().enumerate() {
        place_of[*from] = to;
    }
    for culprit in &mut explanation.culprits {
        culprit.group = place_of[culprit.group];
    }
    let mut groups: Vec<Option<GroupFinding>> = groups.into_iter().map(Some).collect();
    explanation.groups = order.iter().filter_map(|from| groups[*from].take()).collect();
}

#[cfg(test)]
mod tests;
