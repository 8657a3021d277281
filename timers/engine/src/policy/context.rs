//! Where callbacks run, and how urgently.

/// Where a callback runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// In the timer interrupt, before any thread.
    HardIrq,
    /// In the thread that the timer interrupt's handler was made into.
    TopHalf,
    /// In a softirq thread that serves nothing but timers, by number: 0, but for `levels`, where the
    /// thread of level n is n.
    TimerThread(u8),
    /// In the softirq thread that serves all other softirqs too (ksoftirqd). What else it has to do,
    /// and in which turn, is the caller's to say.
    CommonSoftirq,
}

/// Above every thread: the priority of [`Context::HardIrq`].
pub const HARD_IRQ_PRIORITY: u8 = 100;

/// The highest priority of a thread. Higher numbers given to a policy count as this one.
pub const THREAD_PRIORITY_MAX: u8 = 99;

/// A context with something to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Runnable {
    /// Which.
    pub context: Context,
    /// At which priority it competes for the CPU now: 0 is an ordinary thread, 1–99 are real-time,
    /// [`HARD_IRQ_PRIORITY`] is above all threads.
    pub priority: u8,
}

/// The most contexts that one policy runs callbacks in: the interrupt, and a thread per level.
pub const CONTEXTS_MAX: usize = 5;

/// The contexts that have something to run, the most urgent first; among equals, those that come
/// first in [`Context`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Runnables {
    items: [Option<Runnable>; CONTEXTS_MAX],
}

impl Runnables {
    /// Enters a context at its place, or raises it there. Beyond [`CONTEXTS_MAX`] contexts the least
    /// urgent one falls out; no policy has so many.
    pub(crate) fn add(&mut self, runnable: Runnable) {
        let mut new = runnable;
        for item in &mut self.items {
            match item {
                None => {
                    *item = Some(new);
                    return;
                }
                Some(old) if old.context == new.context => {
                    old.priority = old.priority.max(new.priority);
                    return;
                }
                Some(old) if (new.priority, old.context) > (old.priority, new.context) => {
                    core::mem::swap(old, &mut new);
                }
                Some(_) => {}
            }
        }
    }

    /// The most urgent one: what a CPU that preempts runs next.
    pub fn first(&self) -> Option<Runnable> {
        self.items[0]
    }

    /// All of them, the most urgent first.
    pub fn iter(&self) -> impl Iterator<Item = Runnable> + '_ {
        self.items.iter().map_while(|item| *item)
    }
}
