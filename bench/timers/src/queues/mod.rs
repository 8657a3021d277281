//! The queues, each as who uses its library would build it.

mod binary_heap;
mod btree_map;
mod delay_queue;
#[cfg(feature = "hash-wheel")]
mod hash_wheel;
mod ours;
mod priority_queue;
mod slots;
mod tokio_clock;
mod tokio_sleep;

pub(crate) use binary_heap::LazyHeap;
pub(crate) use btree_map::SortedMap;
pub(crate) use delay_queue::Delays;
#[cfg(feature = "hash-wheel")]
pub(crate) use hash_wheel::HashWheel;
pub(crate) use ours::Ours;
pub(crate) use priority_queue::IndexedHeap;
pub(crate) use tokio_sleep::Sleeps;
