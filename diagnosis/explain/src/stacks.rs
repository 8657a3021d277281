//! Kernel stacks beside the segments that they are evidence for: in which function it was. They decide no cause and
//! move no nanosecond; but a task is not named where a stack shows that it was not it.

use crate::cause;
use crate::finished::Blame;
use crate::label::Labels;
use crate::threads::Threads;
use std::collections::VecDeque;
use tardy_followers::place_of;
use tardy_model::event::{Stack, Taken};
use tardy_model::{CpuId, Culprit, Event, NameId, Segment, TaskId};

/// Stacks that are remembered of each CPU; of more, the last ones. A late wakeup ends soon after its own was taken.
const KEPT_MAX: usize = 32;

/// What the clock-event device, and a hypervisor on its way, can take without anything being wrong.
const DEVICE_NS_MAX: u64 = 50_000;

/// The last stacks of each CPU.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    cpus: Vec<VecDeque<Kept>>,
    /// Whether there was one.
    any: bool,
    /// When the last one was taken, anywhere.
    last_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    time_ns: u64,
    cpu: CpuId,
    stack: Stack,
}

impl Stacks {
    /// Whether the stream has any.
    pub(crate) fn any(&self) -> bool {
        self.any
    }

    /// Where somebody slept is kept with what that thread did.
    pub(crate) fn saw(&mut self, event: &Event, stack: Stack) {
        (self.any, self.last_ns) = (true, event.time_ns);
        if stack.taken == Taken::Slept {
            return;
        }
        let place = place_of(event.cpu);
        if place >= self.cpus.len() {
            self.cpus.resize_with(place + 1, VecDeque::new);
        }
        let kept = &mut self.cpus[place];
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(Kept { time_ns: event.time_ns, cpu: event.cpu, stack });
    }

    /// Gives each segment of a balance the stack that tells where its culprit was, where one was taken: the first
    /// from its begin on, of the kind that its cause has use for. Where the culprit
    /// is no task, it must be of one of the CPUs that mattered.
    /// A thread that slept has the place of its longest sleep, whose stack comes when it is woken.
    pub(crate) fn attach(
        &self,
        segments: &mut [Segment],
        blames: &mut [Blame],
        cpus: [CpuId; 2],
        threads: &Threads,
        labels: &mut Labels,
    ) {
        if !self.any {
            return;
        }
        for (segment, blame) in segments.iter_mut().zip(blames) {
            let cause = usize::from(blame.cause);
            let wanted = cause::stacks_at(cause);
            if wanted.is_empty() {
                continue;
            }
            let asleep = match segment.culprit {
                Culprit::Task(task) if wanted.contains(&Taken::Slept) => {
                    let end_ns = segment.start_ns.saturating_add(segment.ns);
                    threads.slept_in(task, segment.start_ns, end_ns)
                }
                _ => NameId::NONE,
            };
            segment.stack = match asleep {
                NameId::NONE if self.last_ns < segment.start_ns => NameId::NONE,
                NameId::NONE => self.of(segment, wanted, cpus).unwrap_or(NameId::NONE),
                asleep => asleep,
            };
            if segment.stack != NameId::NONE {
                refute(segment, blame, labels);
            }
        }
    }

    fn of(&self, segment: &Segment, wanted: &[Taken], cpus: [CpuId; 2]) -> Option<NameId> {
        let task = task_of(segment.culprit);
        let fits = |kept: &&Kept| {
            let whose = match task {
                Some(task) => task == kept.stack.of,
                None => may_be_in_a_task(segment.culprit) && cpus.contains(&kept.cpu),
            };
            whose && kept.time_ns >= segment.start_ns && wanted.contains(&kept.stack.taken)
        };
        let firsts = self.cpus.iter().filter_map(|kept| kept.iter().find(fits));
        firsts.min_by_key(|kept| kept.time_ns).map(|kept| kept.stack.frames)
    }
}

/// No task is named for a segment whose stack shows that it was not it. What the clock-event device takes is mostly
/// short; of longer ones nobody is known.
fn refute(segment: &mut Segment, blame: &mut Blame, labels: &mut Labels) {
    let is_task = matches!(segment.culprit, Culprit::Task(_) | Culprit::TaskOrInterrupt(_));
    if is_task && cause::is_refuted_at(blame.cause.into(), labels.tables.name(segment.stack)) {
        let is_usual = segment.ns <= DEVICE_NS_MAX;
        segment.culprit = if is_usual { Culprit::ClockEventDevice } else { Culprit::Nobody };
        blame.culprit = labels.id(segment.culprit);
    }
}

fn task_of(culprit: Culprit) -> Option<TaskId> {
    match culprit {
        Culprit::Task(task) | Culprit::TaskOrInterrupt(task) | Culprit::SoftirqIn(_, task) => {
            Some(task)
        }
        _ => None,
    }
}

/// Whether it is something that ran above a task, whose stack shows it.
fn may_be_in_a_task(culprit: Culprit) -> bool {
    matches!(culprit, Culprit::Irq(_) | Culprit::Ipi(..) | Culprit::Softirq(_))
}
