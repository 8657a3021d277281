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

/// `struct flight`.
#[repr(C)]
struct Shared {
    dues: [Due; DUES],
    state: AtomicU64,
    due_ns: AtomicU64,
    ran_ns: AtomicU64,
    task: AtomicU32,
    cpu: AtomicU32,
}

/// What the programs of a flight recorder share with this process.
pub(crate) struct Flight {
    memory: Mapping,
    /// Threads that share a place with another, which has it.
    unwatched: usize,
}

impl Flight {
    pub(crate) fn map(bss: &impl MapCore) -> Result<Self, Error> {
        // The linker may put nothing else there: it is the programs' only variable.
        assert!(bss.value_size() as usize >= size_of::<Shared>());
        Ok(Self { memory: Mapping::of(bss, size_of::<Shared>())?, unwatched: 0 })
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the mapping is that large (checked when it was made), aligned to a page, lives as
        // long as `self`, and every field is an atomic or never read.
        unsafe { &*self.memory.start.cast::<Shared>().as_ptr() }
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

    /// Who exceeded the bound first, once somebody has.
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
