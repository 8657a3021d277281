//! All queues that run in this process: a line each.

use crate::bench::{Bench, Made};
use crate::queue::TimerQueue;
#[cfg(feature = "hash-wheel")]
use crate::queues::HashWheel;
use crate::queues::{Delays, IndexedHeap, LazyHeap, Ours, Sleeps, SortedMap};
use tardy_timers::queue::{Auto, LazyRearm, Precise, Queue, Wheel};

/// A queue that can be asked for by name.
pub struct Entry {
    /// How it is asked for.
    pub name: &'static str,
    /// What it is, in a clause.
    pub about: &'static str,
    /// Whether it is tardy's.
    pub is_ours: bool,
    /// What can be done with it.
    pub bench: Box<dyn Bench>,
}

/// All queues, tardy's first.
pub fn queues() -> Vec<Entry> {
    vec![
        ours("precise", "tardy Precise", Precise::with_capacity),
        ours("lazy-rearm", "tardy LazyRearm", LazyRearm::with_capacity),
        ours("wheel", "tardy Wheel", Wheel::with_capacity),
        ours("auto", "tardy Auto", Auto::with_capacity),
        peer("binary-heap", "std BinaryHeap, lazy deletion", LazyHeap::with_capacity),
        peer("btree-map", "std BTreeMap", |_| SortedMap::default()),
        peer("priority-queue", "priority-queue, indexed heap", IndexedHeap::with_capacity),
        peer("delay-queue", "tokio-util DelayQueue", Delays::with_capacity),
        peer("tokio-sleep", "tokio Sleep", Sleeps::with_capacity),
        #[cfg(feature = "hash-wheel")]
        peer("hash-wheel", "hierarchical_hash_wheel_timer", |_| HashWheel::new()),
    ]
}

/// One of tardy's queues.
fn ours<Q: Queue<u32> + 'static>(
    name: &'static str,
    about: &'static str,
    make: impl Fn(usize) -> Q + 'static,
) -> Entry {
    Entry { is_ours: true, ..peer(name, about, move |timers| Ours(make(timers))) }
}

/// Anybody else's.
fn peer<Q: TimerQueue + 'static>(
    name: &'static str,
    about: &'static str,
    make: impl Fn(usize) -> Q + 'static,
) -> Entry {
    Entry { name, about, is_ours: false, bench: Box::new(Made(make)) }
}
