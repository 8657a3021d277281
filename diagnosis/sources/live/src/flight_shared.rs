//! The flight recorder's side of `bpf/flight.h`: who is watched, and who exceeded the bound.

use crate::Error;
use crate::ring::Mapping;
use libbpf_rs::MapCore;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tardy_kernel::Exceeded;
use tardy_model::{CpuId, TaskId};

/// Places of watched threads, as in `build.rs`.
const DUES: usize = 1 << 16;

/// `exceeded.state`: it is written.
const WRITTEN: u64 = 2;

/// `struct due`.
#[repr(C)]
struct Due {
    task: AtomicU32,
    pad: u32,
    due_ns: AtomicU64,
}

/// `struct flight`, with the exceeding in the middle.
#[repr(C)]
struct InMemory {
    dues: [Due; DUES],
    state: AtomicU64,
    due_ns: AtomicU64,
    ran_ns: AtomicU64,
    task: AtomicU32,
    cpu: AtomicU32,
    bar_ns: AtomicU64,
    over_count: AtomicU64,
}

/// What the programs of a flight recorder share with this process.
pub(crate) struct FlightShared {
    memory: Mapping,
    /// Threads that share a place with another, which has it.
    unwatched: usize,
}

impl FlightShared {
    pub(crate) fn map(bss: &impl MapCore) -> Result<Self, Error> {
        // The linker may put nothing else there: it is the programs' only variable.
        assert!(bss.value_size() as usize >= size_of::<InMemory>());
        Ok(Self { memory: Mapping::of(bss, size_of::<InMemory>())?, unwatched: 0 })
    }

    fn shared(&self) -> &InMemory {
        // SAFETY: the mapping is that large (checked when it was made), aligned to a page, lives as
        // long as `self`, and every field is an atomic or never read.
        unsafe { &*self.memory.start.cast::<InMemory>().as_ptr() }
    }

    /// Watches a thread's lateness.
    pub(crate) fn watch(&mut self, thread: u32) {
        let place = &self.shared().dues[thread as usize % DUES].task;
        let taken = place.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err_and(|other| other != thread) {
            self.unwatched += 1;
        }
    }

    /// Threads that are not watched, because another has their place.
    pub(crate) fn unwatched(&self) -> usize {
        self.unwatched
    }

    /// The threads whose lateness is looked at.
    pub(crate) fn watched(&self) -> impl Iterator<Item = u32> {
        let tasks = self.shared().dues.iter().map(|due| due.task.load(Ordering::Relaxed));
        tasks.filter(|task| *task != 0)
    }

    /// Only who is later than this is told of.
    pub(crate) fn set_bar(&self, ns: u64) {
        self.shared().bar_ns.store(ns, Ordering::Relaxed);
    }

    /// How often anybody exceeded the bound.
    pub(crate) fn over_count(&self) -> u64 {
        self.shared().over_count.load(Ordering::Relaxed)
    }

    /// From now on the next one who exceeds the bar is told of.
    pub(crate) fn look_again(&self) {
        // Whoever is being written just now stays.
        let _ =
            self.shared().state.compare_exchange(WRITTEN, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Who exceeded the bar first, once somebody has.
    pub(crate) fn exceeded(&self) -> Option<Exceeded> {
        let shared = self.shared();
        (shared.state.load(Ordering::Acquire) == WRITTEN).then(|| Exceeded {
            task: TaskId(shared.task.load(Ordering::Relaxed)),
            cpu: CpuId(shared.cpu.load(Ordering::Relaxed) as u16),
            due_ns: shared.due_ns.load(Ordering::Relaxed),
            ran_ns: shared.ran_ns.load(Ordering::Relaxed),
        })
    }
}
