//! Who was in the victims' way, by what they may be called in a change.

use crate::model::{Model, Role};
use crate::observed::Observed;
use std::collections::HashMap;
use tardy_changes::Whom;
use tardy_model::event::Irq;
use tardy_model::{Culprit, TaskId};

/// As many of each are worth a try.
const EACH_MAX: usize = 4;

/// A share below this is worth no try.
const SHARE_MIN: f64 = 0.01;

/// Who was in the way, the worst first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Suspects {
    /// Names of threads.
    pub(crate) threads: Vec<String>,
    /// Interrupt lines.
    pub(crate) irqs: Vec<u32>,
    /// Shares of the causes.
    causes: HashMap<&'static str, f64>,
    /// The CPU on which the victims run, where it is one alone.
    pub(crate) victims_cpu: Option<u32>,
}

impl Suspects {
    pub(crate) fn of(observed: &Observed, model: &Model) -> Self {
        let mut tasks: HashMap<TaskId, f64> = HashMap::new();
        let mut irqs: HashMap<u32, f64> = HashMap::new();
        let mut causes: HashMap<&'static str, f64> = HashMap::new();
        let mut all = 0.0;
        let segments = observed.wakeups.iter().flat_map(|wakeup| wakeup.segments.iter());
        for segment in segments {
            let ns = segment.ns as f64;
            all += ns;
            *causes.entry(segment.cause.0).or_default() += ns;
            match segment.culprit {
                Culprit::Task(task)
                | Culprit::TaskOrInterrupt(task)
                | Culprit::Timer(_, task)
                | Culprit::SoftirqIn(_, task) => *tasks.entry(task).or_default() += ns,
                Culprit::Irq(Irq::Line(line, _)) => *irqs.entry(line).or_default() += ns,
                _ => {}
            }
        }
        let mut names: HashMap<&str, f64> = HashMap::new();
        let is_suspect = |role: &&Role| !role.is_victim && !role.is_own && !role.name.is_empty();
        for role in model.roles.iter().filter(is_suspect) {
            if let Some(ns) = tasks.get(&role.task) {
                *names.entry(role.called.as_str()).or_default() += ns;
            }
        }
        for share in causes.values_mut() {
            *share /= f64::max(all, 1.0);
        }
        let masks = model.roles.iter().zip(&model.system.workload.threads);
        let masks = masks.filter(|(role, _)| role.is_victim).map(|(_, thread)| thread.cpus);
        let mask = masks.fold(0, |mask, cpus| mask | cpus);
        let names = names.into_iter().map(|(name, ns)| (name.to_owned(), ns));
        Self {
            threads: worst(names, all),
            irqs: worst(irqs.into_iter(), all),
            causes,
            victims_cpu: mask.is_power_of_two().then(|| mask.trailing_zeros()),
        }
    }

    /// Whether a thread is one of them.
    pub(crate) fn names(&self, role: &Role) -> bool {
        self.threads.contains(&role.called)
    }

    /// The names of those that a change can be for: any thread can call itself as it likes.
    pub(crate) fn changeable(&self) -> impl Iterator<Item = &String> {
        self.threads.iter().filter(|name| Whom::of_trace(name).is_some())
    }

    /// The share of a cause in all lateness.
    pub(crate) fn share(&self, cause: &str) -> f64 {
        self.causes.get(cause).copied().unwrap_or(0.0)
    }

    /// Whether a cause has a part worth a try.
    pub(crate) fn has(&self, cause: &str) -> bool {
        self.share(cause) >= SHARE_MIN
    }

    /// All CPUs of a machine but the victims', as they are written; `None` where there are none.
    pub(crate) fn other_cpus(&self, cpus: u16) -> Option<String> {
        let own = self.victims_cpu?;
        let others: Vec<String> =
            (0..u32::from(cpus)).filter(|cpu| *cpu != own).map(|cpu| cpu.to_string()).collect();
        (!others.is_empty()).then(|| others.join(","))
    }
}

fn worst<T: Ord + Clone>(all: impl Iterator<Item = (T, f64)>, sum: f64) -> Vec<T> {
    let mut found: Vec<(T, f64)> = all.filter(|(_, ns)| *ns >= sum * SHARE_MIN).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(EACH_MAX);
    found.into_iter().map(|(what, _)| what).collect()
}
