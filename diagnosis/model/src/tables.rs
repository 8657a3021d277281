//! What does not fit into an event: names, and what a timer is.

use crate::{NameId, TaskId, TimerId};

/// Which of the kernel's two timer subsystems a timer belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimerClass {
    /// High resolution, nanosecond expiry.
    #[default]
    Hrtimer,
    /// Timer wheel, bound to the tick.
    TimerList,
}

/// A timer: one address with one function and one owner. The kernel uses an address again for other
/// timers (sleepers live on their thread's stack), and each of those is an entry of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerDef {
    /// Its id in events.
    pub id: TimerId,
    /// Where the kernel keeps it: a number that is the same for the same place, and tells nothing of its address. 0
    /// where that is not known.
    pub address: u64,
    /// The function that runs at its expiry.
    pub function: NameId,
    /// The thread that sleeps on it; [`TaskId::IDLE`] where it is no sleeper's.
    pub owner: TaskId,
    /// Its subsystem.
    pub class: TimerClass,
}

/// Names and timers of one stream of events. Ids are dense from 1; entry 0 is "not known".
#[derive(Clone, Debug)]
pub struct Tables {
    names: Vec<String>,
    timers: Vec<TimerDef>,
}

impl Default for Tables {
    fn default() -> Self {
        Self { names: vec![String::new()], timers: vec![TimerDef::default()] }
    }
}

impl Tables {
    /// The most names and the most timers that a stream may define. A source that needs more uses
    /// id 0 for the rest; a reader refuses a definition beyond it.
    pub const ENTRIES_MAX: u32 = 1 << 20;

    /// Enters a definition; one that comes again replaces the first. An id at or beyond
    /// [`Tables::ENTRIES_MAX`], or 0, is left out.
    pub fn define_name(&mut self, id: NameId, name: &str) {
        if id != NameId::NONE && id.0 < Self::ENTRIES_MAX {
            put(&mut self.names, id.0, name.to_owned());
        }
    }

    /// Enters a definition, as [`Tables::define_name`] does.
    pub fn define_timer(&mut self, timer: TimerDef) {
        if timer.id != TimerId::UNKNOWN && timer.id.0 < Self::ENTRIES_MAX {
            put(&mut self.timers, timer.id.0, timer);
        }
    }

    /// Whether the most timers or the most names are defined: what came later is not among them.
    pub fn is_full(&self) -> bool {
        self.names.len().max(self.timers.len()) >= Self::ENTRIES_MAX as usize
    }

    /// A name; the empty one where it is not known.
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id.0 as usize).map_or("", String::as_str)
    }

    /// A timer; an entry with id 0 where it is not known.
    pub fn timer(&self, id: TimerId) -> TimerDef {
        self.timers.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// The name of a timer's function.
    pub fn function(&self, id: TimerId) -> &str {
        self.name(self.timer(id).function)
    }
}

fn put<T: Default + Clone>(entries: &mut Vec<T>, id: u32, entry: T) {
    let at = id as usize;
    if at >= entries.len() {
        entries.resize(at + 1, T::default());
    }
    entries[at] = entry;
}
