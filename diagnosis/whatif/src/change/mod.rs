//! What can be predicted: a file per change, and one line each in the registry. Names are those of `tardy_changes`.

mod affinity;
mod cpu_max;
mod cpu_weight;
mod device;
mod idle_latency;
mod isolate;
mod more;
mod no_theft;
mod preempt;
mod prio;
mod remove;
mod rt_runtime;
mod slack;
mod slower;
mod timers;

use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use std::collections::HashSet;
use tardy_changes::{Change, Whom};
use tardy_model::{Culprit, Segment, TaskId};
use tardy_sim::Arrival;

/// Whether a segment of a lateness goes.
pub(crate) type Removes = Box<dyn Fn(&Segment) -> bool>;

/// A change that can be simulated.
pub(crate) trait Predicted: Sync {
    /// Changes the model.
    ///
    /// # Errors
    /// Where it has no meaning there, or the recording does not tell what it needs.
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal>;

    /// What it costs others, or oneself.
    fn price(&self) -> &'static str;

    /// The same of one change, where it depends on what is set.
    fn price_of(&self, _change: &Change) -> &'static str {
        self.price()
    }

    /// Whether there is more of what they do with it.
    fn multiplies(&self, _change: &Change) -> bool {
        false
    }

    /// Which segments of a lateness go with it, where it does no more than remove some.
    fn removes(&self, _change: &Change, _model: &Model) -> Option<Removes> {
        None
    }

    /// The ones worth trying, by who was in the victims' way.
    fn candidates(&self, _model: &Model, _suspects: &Suspects) -> Vec<String> {
        Vec::new()
    }
}

/// All of them, by name.
const REGISTRY: &[(&str, &dyn Predicted)] = &[
    ("affinity", &affinity::Affinity),
    ("cpu-max", &cpu_max::CpuMax),
    ("cpu-weight", &cpu_weight::CpuWeight),
    ("device", &device::Device),
    ("idle-latency", &idle_latency::IdleLatency),
    ("isolate", &isolate::Isolate),
    ("more", &more::More),
    ("no-theft", &no_theft::NoTheft),
    ("preempt", &preempt::Preempt),
    ("prio", &prio::Prio),
    ("remove", &remove::Remove),
    ("rt-runtime", &rt_runtime::RtRuntime),
    ("slack", &slack::Slack),
    ("slower", &slower::Slower),
    ("timers", &timers::Timers),
];

/// The one of a change; `None` of one that can be done and not predicted.
pub(crate) fn predicted(change: &Change) -> Option<&'static dyn Predicted> {
    let found = REGISTRY.iter().find(|(name, _)| *name == change.name());
    found.map(|(_, predicted)| *predicted)
}

/// The changes worth trying.
pub(crate) fn candidates(model: &Model, suspects: &Suspects) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (_, predicted) in REGISTRY {
        for text in predicted.candidates(model, suspects) {
            // Names come from traces: some cannot be written.
            if let Ok(change) = text.parse()
                && !changes.contains(&change)
            {
                changes.push(change);
            }
        }
    }
    changes
}

/// Segments for which a thread of a set is to blame.
pub(crate) fn blames(tasks: HashSet<TaskId>) -> Removes {
    Box::new(move |segment| blamed(segment).is_some_and(|task| tasks.contains(&task)))
}

/// The thread that is to blame for a segment, where one is.
pub(crate) fn blamed(segment: &Segment) -> Option<TaskId> {
    match segment.culprit {
        Culprit::Task(task) | Culprit::TaskOrInterrupt(task) | Culprit::Timer(_, task) => {
            Some(task)
        }
        _ => None,
    }
}

/// The ids of the threads of which there is more with a change.
pub(crate) fn multiplied(change: &Change, model: &Model) -> HashSet<TaskId> {
    let multiplies = predicted(change).is_some_and(|known| known.multiplies(change));
    let places = if multiplies { places(change, model).unwrap_or_default() } else { Vec::new() };
    tasks(model, &places)
}

/// The ids of threads by their places.
fn tasks(model: &Model, places: &[usize]) -> HashSet<TaskId> {
    places.iter().map(|at| model.roles[*at].task).collect()
}

/// The places of the threads that a change is for.
fn places(change: &Change, model: &Model) -> Result<Vec<usize>, Refusal> {
    match change.whom() {
        Some(whom) => model.whom(whom),
        None => Err(Refusal::Meaningless("it names nobody".to_owned())),
    }
}

/// Changes the interrupts of a line, each of which is kept or not.
fn arrivals(
    model: &mut Model,
    line: u32,
    mut keeps: impl FnMut(&mut Arrival) -> bool,
) -> Result<(), Refusal> {
    let lines = &model.lines;
    let is_it = |arrival: &Arrival| lines.get(arrival.device as usize) == Some(&Some(line));
    let mut found = false;
    let mut arrivals = model.system.workload.outside.arrivals.to_vec();
    arrivals.retain_mut(|arrival| {
        if !is_it(arrival) {
            return true;
        }
        found = true;
        keeps(arrival)
    });
    if !found {
        return Err(Refusal::nobody(&Whom::Irq(line)));
    }
    model.system.workload.outside.arrivals = arrivals.into();
    Ok(())
}
