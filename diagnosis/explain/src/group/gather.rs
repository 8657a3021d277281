//! Culprits come one by one and become groups.

use super::{Group, Place, Who, place};
use rustc_hash::{FxHashMap, FxHashSet};
use tardy_model::TaskId;

/// Groups so far, in the order in which they came up.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    places: FxHashMap<(&'static str, String), usize>,
    groups: Vec<Gathered>,
}

#[derive(Debug)]
struct Gathered {
    place: Place,
    /// All members are called as the first.
    is_exact: bool,
    threads: FxHashSet<TaskId>,
    processes: FxHashSet<TaskId>,
    /// The process of every thread is known.
    has_processes: bool,
}

impl Gather {
    /// The number of the culprit's group, which is the next one where it is the first of its group.
    pub(crate) fn add(&mut self, who: &Who<'_>) -> usize {
        let place = place(who);
        let next = self.groups.len();
        let at = *self.places.entry((place.kind, place.name.clone())).or_insert(next);
        if at == next {
            self.groups.push(Gathered {
                place: place.clone(),
                is_exact: true,
                threads: FxHashSet::default(),
                processes: FxHashSet::default(),
                has_processes: true,
            });
        }
        let group = &mut self.groups[at];
        group.is_exact &= group.place.exact == place.exact;
        if let Some(task) = who.task() {
            group.threads.insert(task);
            match who.labels.process(task) {
                Some(process) => {
                    group.processes.insert(process);
                }
                None => group.has_processes = false,
            }
        }
        at
    }

    /// What each is called, by number.
    pub(crate) fn into_groups(self) -> Vec<Group> {
        self.groups.into_iter().map(Gathered::into_group).collect()
    }
}

impl Gathered {
    fn into_group(self) -> Group {
        let Place { kind, name, exact } = self.place;
        let mut threads = self.threads.iter();
        let only = threads.next().filter(|_| threads.next().is_none());
        Group {
            kind,
            name: if self.is_exact { exact } else { name },
            threads: self.threads.len() as u64,
            processes: if self.has_processes { self.processes.len() as u64 } else { 0 },
            pid: only.map(|task| task.0),
        }
    }
}
