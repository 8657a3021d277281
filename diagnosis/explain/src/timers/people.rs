//! Who threads are, and which of two with the same id.

use rustc_hash::FxHashMap;
use tardy_model::TaskId;
use tardy_model::event::{Comm, TaskInfo};

/// Threads remembered at most. Beyond it those that have ended are forgotten, and if all live, one more
/// has no name.
const PEOPLE_MAX: usize = 1 << 18;

/// A thread, of all that have had its id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PersonId {
    pub(super) task: TaskId,
    /// Which of those with this thread id; 0 is the first.
    pub(super) number: u32,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Person {
    pub(super) name: Comm,
    pub(super) info: TaskInfo,
    number: u32,
    gone: bool,
    /// Nothing has told of it since the source was last begun anew.
    doubtful: bool,
}

#[derive(Debug, Default)]
pub(super) struct People {
    by_task: FxHashMap<TaskId, Person>,
    gone: usize,
    /// Some who had gone are forgotten: whoever is new may have the id of one of them.
    forgotten: bool,
    /// Grows with every thread that takes over another's id.
    numbers: u32,
}

impl People {
    pub(super) fn rename(&mut self, task: TaskId, name: Comm) {
        if let Some(person) = self.present(task) {
            person.name = name;
        }
    }

    pub(super) fn inform(&mut self, task: TaskId, info: TaskInfo) {
        if let Some(person) = self.present(task) {
            person.info = info;
        }
    }

    /// It still does a little on its way out; who next tells its name under this id is another.
    pub(super) fn exit(&mut self, task: TaskId) {
        if let Some(person) = self.by_task.get_mut(&task)
            && !person.gone
        {
            person.gone = true;
            self.gone += 1;
        }
    }

    fn present(&mut self, task: TaskId) -> Option<&mut Person> {
        if self.by_task.len() >= PEOPLE_MAX && !self.by_task.contains_key(&task) {
            if self.gone == 0 {
                return None;
            }
            self.forget_gone();
        }
        let forgotten = self.forgotten;
        let unknown = || Person { gone: forgotten, ..Person::default() };
        self.gone += usize::from(forgotten && !self.by_task.contains_key(&task));
        let person = self.by_task.entry(task).or_insert_with(unknown);
        if person.gone {
            self.gone -= 1;
            self.numbers = self.numbers.wrapping_add(1);
            *person = Person { number: self.numbers, ..Person::default() };
        }
        person.doubtful = false;
        Some(person)
    }

    pub(super) fn of(&self, task: TaskId) -> PersonId {
        PersonId { task, number: self.by_task.get(&task).map_or(0, |person| person.number) }
    }

    /// What is known of a thread, if it is still the one of that id.
    pub(super) fn get(&self, id: PersonId) -> Option<&Person> {
        self.by_task.get(&id.task).filter(|person| person.number == id.number)
    }

    pub(super) fn is_alive(&self, id: PersonId) -> bool {
        id.task == TaskId::IDLE
            || self.get(id).is_some_and(|person| !person.gone && !person.doubtful)
    }

    pub(super) fn forget_gone(&mut self) {
        self.forgotten |= self.gone > 0;
        self.by_task.retain(|_, person| !person.gone);
        self.gone = 0;
    }

    /// The source begins anew and tells of everybody once more: who is not told of has gone meanwhile.
    pub(super) fn doubt(&mut self) {
        for person in self.by_task.values_mut() {
            person.doubtful = true;
        }
    }
}
