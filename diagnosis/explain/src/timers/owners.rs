//! Who threads are, and which of two with the same id.

use rustc_hash::FxHashMap;
use tardy_model::TaskId;
use tardy_model::event::{Comm, TaskInfo};

/// Threads remembered at most. Beyond it those that have ended are forgotten, and if all live, one more
/// has no name.
const OWNERS_MAX: usize = 1 << 18;

/// A thread, of all that have had its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct OwnerId {
    pub(super) task: TaskId,
    /// Which of those with this thread id; 0 is the first.
    pub(super) number: u32,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owner {
    pub(super) name: Comm,
    pub(super) info: TaskInfo,
    number: u32,
    exited: bool,
    /// Nothing has told of it since the source was last begun anew.
    unconfirmed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Owners {
    by_task: FxHashMap<TaskId, Owner>,
    exited: usize,
    /// Some who had exited are forgotten: whoever is new may have the id of one of them.
    forgotten: bool,
    /// Grows with every thread that takes over another's id.
    numbers: u32,
}

impl Owners {
    pub(super) fn rename(&mut self, task: TaskId, name: Comm) {
        if let Some(owner) = self.present(task) {
            owner.name = name;
        }
    }

    pub(super) fn inform(&mut self, task: TaskId, info: TaskInfo) {
        if let Some(owner) = self.present(task) {
            owner.info = info;
        }
    }

    /// It still does a little on its way out; who next tells its name under this id is another.
    pub(super) fn exit(&mut self, task: TaskId) {
        if let Some(owner) = self.by_task.get_mut(&task)
            && !owner.exited
        {
            owner.exited = true;
            self.exited += 1;
        }
    }

    fn present(&mut self, task: TaskId) -> Option<&mut Owner> {
        if self.by_task.len() >= OWNERS_MAX && !self.by_task.contains_key(&task) {
            if self.exited == 0 {
                return None;
            }
            self.forget_exited();
        }
        let forgotten = self.forgotten;
        let unknown = || Owner { exited: forgotten, ..Owner::default() };
        self.exited += usize::from(forgotten && !self.by_task.contains_key(&task));
        let owner = self.by_task.entry(task).or_insert_with(unknown);
        if owner.exited {
            self.exited -= 1;
            self.numbers = self.numbers.wrapping_add(1);
            *owner = Owner { number: self.numbers, ..Owner::default() };
        }
        owner.unconfirmed = false;
        Some(owner)
    }

    pub(super) fn of(&self, task: TaskId) -> OwnerId {
        OwnerId { task, number: self.by_task.get(&task).map_or(0, |owner| owner.number) }
    }

    /// What is known of a thread, if it is still the one of that id.
    pub(super) fn get(&self, id: OwnerId) -> Option<&Owner> {
        self.by_task.get(&id.task).filter(|owner| owner.number == id.number)
    }

    pub(super) fn is_alive(&self, id: OwnerId) -> bool {
        id.task == TaskId::IDLE
            || self.get(id).is_some_and(|owner| !owner.exited && !owner.unconfirmed)
    }

    pub(super) fn forget_exited(&mut self) {
        self.forgotten |= self.exited > 0;
        self.by_task.retain(|_, owner| !owner.exited);
        self.exited = 0;
    }

    /// The source begins anew and tells of everybody once more: who is not told of has exited meanwhile.
    pub(super) fn mark_unconfirmed(&mut self) {
        for owner in self.by_task.values_mut() {
            owner.unconfirmed = true;
        }
    }
}
