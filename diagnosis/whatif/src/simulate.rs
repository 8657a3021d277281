//! A model simulated: how late its victims are, and everybody else.

use crate::figures::{Blocks, Means};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::unmodelled::ByClass;
use std::collections::BTreeMap;
use tardy_model::event::{Irq, Vector};
use tardy_model::{Culprit, Prio, TaskId};
use tardy_sim::truth::{Account, Segment};
use tardy_sim::{Observer, START_NS, Simulation, System, ThreadAt, Throttle, Waker};

/// Who loses the CPU for it is late, though nothing wakes it: since Linux 6.18 threads are held where they return to user
/// space.
pub(crate) const THROTTLED: &str = "throttled";

/// How late whom.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub(crate) victims: Blocks,
    /// The other threads' wakeups.
    pub(crate) others: Means,
    /// Lateness of victims by cause, ns, where that was asked for.
    pub(crate) causes: BTreeMap<&'static str, u64>,
    /// How long their wakeups spent in causes of each class, where that was asked for.
    pub(crate) by_class: ByClass,
}

impl Simulated {
    /// Whether everybody is as late as in another simulation.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.victims == other.victims && self.others == other.others
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Other,
    Victim,
    /// What counts of it is how late it is back.
    Marking,
}

struct Onlooker {
    simulated: Simulated,
    is: Vec<Is>,
    /// From when the lateness of a wakeup on its way counts.
    since_ns: Vec<Option<u64>>,
    /// When it lost the CPU, which counts where it is throttled then.
    lost_ns: Vec<Option<u64>>,
    now_ns: u64,
    /// Where the recording begins.
    begin_ns: u64,
}

impl Onlooker {
    fn new(model: &Model) -> Self {
        let is = model.roles.iter().map(|role| match (role.is_victim, role.marks) {
            (true, true) => Is::Marking,
            (true, false) => Is::Victim,
            (false, _) => Is::Other,
        });
        let span_ns = model.span_ns - model.shift_ns;
        let simulated = Simulated {
            victims: Blocks::new(span_ns),
            others: Means::new(span_ns),
            causes: BTreeMap::new(),
            by_class: ByClass::default(),
        };
        Self {
            simulated,
            begin_ns: START_NS + model.shift_ns,
            since_ns: vec![None; model.system.workload.threads.len()],
            lost_ns: vec![None; model.system.workload.threads.len()],
            is: is.collect(),
            now_ns: 0,
        }
    }

    fn is(&self, thread: ThreadAt) -> Is {
        self.is.get(thread as usize).copied().unwrap_or(Is::Other)
    }
}

impl Observer for Onlooker {
    const EVENTS: bool = false;
    const STATES: bool = false;

    fn woken(&mut self, now_ns: u64, thread: ThreadAt, _on: u16, _prio: Prio, by: Waker) {
        let since_ns = match by {
            Waker::Timer(fired) => Some(fired.soft_ns),
            Waker::Start => None,
            Waker::Thread(_) | Waker::Interrupt => Some(now_ns),
        };
        if let Some(slot) = self.since_ns.get_mut(thread as usize) {
            *slot = since_ns;
        }
    }

    fn preempted(&mut self, now_ns: u64, thread: ThreadAt, _cpu: u16, _prio: Prio) {
        if let Some(slot) = self.lost_ns.get_mut(thread as usize) {
            *slot = Some(now_ns);
        }
    }

    fn throttled(&mut self, _: u64, thread: ThreadAt, by: Option<Throttle>) {
        let lost_ns = self.lost_ns.get_mut(thread as usize).and_then(Option::take);
        if let (Some(lost_ns), Some(_)) = (lost_ns, by) {
            self.since_ns[thread as usize].get_or_insert(lost_ns);
        }
    }

    fn ran(&mut self, now_ns: u64, thread: ThreadAt, _cpu: u16) {
        self.now_ns = now_ns;
        if let Some(slot) = self.lost_ns.get_mut(thread as usize) {
            *slot = None;
        }
        let since_ns = self.since_ns.get_mut(thread as usize).and_then(Option::take);
        let Some(since_ns) = since_ns else { return };
        let lateness_ns = now_ns.saturating_sub(since_ns);
        let at_ns = since_ns.saturating_sub(self.begin_ns);
        match self.is(thread) {
            Is::Victim => self.simulated.victims.add(at_ns, lateness_ns),
            Is::Other => self.simulated.others.add(at_ns, lateness_ns),
            Is::Marking => {}
        }
    }

    fn late(&mut self, _: u64, thread: ThreadAt, lateness_ns: u64) {
        if self.is(thread) == Is::Marking {
            let at_ns = self.now_ns.saturating_sub(self.begin_ns);
            self.simulated.victims.add(at_ns, lateness_ns);
        }
    }
}

fn with_seed(model: &Model, seed: u64) -> System {
    System { seed, ..model.system.clone() }
}

fn refused(error: &tardy_sim::SystemError) -> Refusal {
    Refusal::Meaningless(error.to_string())
}

/// Simulates a model.
///
/// # Errors
/// Where the changed system cannot be.
pub(crate) fn simulate(model: &Model, seed: u64) -> Result<Simulated, Refusal> {
    let system = with_seed(model, seed);
    let mut simulation =
        Simulation::new(&system, Onlooker::new(model)).map_err(|error| refused(&error))?;
    simulation.run_until(START_NS + model.span_ns);
    Ok(simulation.into_observer().simulated)
}

/// The same, with what made the victims late, as far as a recording tells it.
pub(crate) fn simulate_with_causes(
    model: &Model,
    seed: u64,
    hides_ends: bool,
) -> Result<Simulated, Refusal> {
    /// The account is taken so often, so that it never grows large.
    const SLICES: u64 = 64;
    let system = with_seed(model, seed);
    let is_victim =
        |thread: ThreadAt| model.roles.get(thread as usize).is_some_and(|role| role.is_victim);
    let marks = |thread: ThreadAt| model.roles.get(thread as usize).is_some_and(|role| role.marks);
    let account = Account::of(&system, is_victim).to_user_space(marks);
    let mut simulation = Simulation::new(&system, (Onlooker::new(model), account))
        .map_err(|error| refused(&error))?;
    let mut causes: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut by_class = ByClass::default();
    for slice in 1..=SLICES {
        let end_ns = u128::from(model.span_ns) * u128::from(slice) / u128::from(SLICES);
        simulation.run_until(START_NS + end_ns as u64);
        for truth in simulation.observer_mut().1.take() {
            let is_throttled = truth.segments.iter().any(|segment| segment.cause == THROTTLED);
            if truth.kind != tardy_sim::truth::Kind::Preempted || is_throttled {
                by_class.add(truth.segments.iter().map(|segment| (segment.cause, segment.ns)));
                for (cause, ns) in as_recorded(&truth.segments, hides_ends) {
                    *causes.entry(cause).or_default() += ns;
                }
            }
        }
    }
    let mut simulated = simulation.into_observer().0.simulated;
    (simulated.causes, simulated.by_class) = (causes, by_class);
    Ok(simulated)
}

/// Each segment's cause, as a recording sees it: where it hides the ends of callbacks, what a timer's interrupt does after a
/// sleep's callback counts as that callback. (The tick's callback ends where it is armed anew. What follows a callback in a
/// softirq, and what an interrupt does that comes right after a callback, stay as they are: that is a microsecond or two.)
fn as_recorded(
    segments: &[Segment],
    hides_ends: bool,
) -> impl Iterator<Item = (&'static str, u64)> {
    const TIMER: Culprit = Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER));
    let mut callback = None;
    segments.iter().map(move |&Segment { cause, culprit, ns, .. }| {
        let is_rest = hides_ends && (cause, culprit) == ("interrupts", TIMER);
        let counts_as = callback.filter(|_| is_rest).unwrap_or(cause);
        callback = match (cause, culprit) {
            ("callback", _) => Some(cause),
            ("stacked_timers", Culprit::Timer(_, owner)) if owner != TaskId::IDLE => Some(cause),
            // Time in which the CPU stood still ends nothing.
            ("hypervisor", _) => callback,
            _ => callback.filter(|_| is_rest),
        };
        (counts_as, ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::TimerId;

    #[test]
    fn what_follows_a_callback_is_part_of_it_where_its_end_is_not_told() {
        let segment = |cause, culprit| Segment { start_ns: 0, ns: 1, cause, culprit };
        let timer = Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER));
        let storm = Culprit::Timer(TimerId(7), TaskId(9));
        let tick = Culprit::Timer(TimerId(8), TaskId::IDLE);
        let segments = [
            segment("interrupts", timer),
            segment("callback", Culprit::Nobody),
            segment("interrupts", timer),
            segment("stacked_timers", storm),
            segment("hypervisor", Culprit::Nobody),
            segment("interrupts", timer),
            segment("stacked_timers", tick),
            segment("interrupts", timer),
            segment("own_kernel_work", Culprit::Task(TaskId(7))),
            segment("interrupts", timer),
        ];
        let seen = |hides_ends| as_recorded(&segments, hides_ends).map(|(cause, _)| cause);
        assert!(seen(false).eq(segments.iter().map(|segment| segment.cause)));
        let of_it = ["interrupts", "callback", "callback", "stacked_timers", "hypervisor"];
        let rest = ["stacked_timers", "stacked_timers", "interrupts", "own_kernel_work"];
        assert!(seen(true).eq(of_it.into_iter().chain(rest).chain(["interrupts"])));
    }
}
