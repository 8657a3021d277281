//! The reader's side of `bpf/stacks.h`: kernel stacks of what was late, as addresses.

use crate::Error;
use crate::ring::Mapping;
use libbpf_rs::MapCore;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};
use tardy_model::event::Taken;
use tardy_model::{CpuId, TaskId};

/// Frames of a stack, as in `build.rs`.
const FRAMES: usize = 32;

/// Frames of a program's stack, as in `build.rs`.
const USER_FRAMES: usize = 12;

/// Slots of each CPU, as in `build.rs`.
const SLOTS: usize = 256;

/// `struct stack`.
#[repr(C)]
struct Slot {
    time_ns: AtomicU64,
    what: AtomicU64,
    late_ns: AtomicU64,
    bytes: AtomicI64,
    frames: [AtomicU64; FRAMES],
    user_bytes: AtomicI64,
    user_frames: [AtomicU64; USER_FRAMES],
}

/// `struct stacks`.
#[repr(C)]
struct OnCpu {
    head: AtomicU64,
    tail: AtomicU64,
    left_out: AtomicU64,
    next_ns: [u64; Taken::ALL.len()],
    pad: [u64; 2],
    slots: [Slot; SLOTS],
}

/// Bytes of one CPU's stacks.
pub(crate) const BYTES_PER_CPU: usize = size_of::<OnCpu>();

/// A stack, copied out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawStack {
    pub(crate) time_ns: u64,
    pub(crate) cpu: CpuId,
    pub(crate) of: TaskId,
    pub(crate) taken: Taken,
    pub(crate) late_ns: u64,
    /// Where each function goes on, the innermost first.
    pub(crate) addresses: Vec<u64>,
    /// The same of the program, where there are any.
    pub(crate) user: Vec<u64>,
}

/// All CPUs' stacks.
pub(crate) struct Stacks {
    memory: Mapping,
    cpus: usize,
}

impl Stacks {
    pub(crate) fn map(stacks: &impl MapCore, cpus: usize) -> Result<Self, Error> {
        assert_eq!(stacks.value_size() as usize, BYTES_PER_CPU);
        Ok(Self { memory: Mapping::of(stacks, cpus * BYTES_PER_CPU)?, cpus })
    }

    fn on(&self, cpu: usize) -> &OnCpu {
        assert!(cpu < self.cpus);
        // SAFETY: the mapping holds `cpus` of them (its size was checked when it was made), aligned to eight bytes
        // as it is to a page and their size is a multiple of that; it lives as long as `self`, and every field is
        // an atomic or never read.
        unsafe { &*self.memory.start.byte_add(cpu * BYTES_PER_CPU).cast::<OnCpu>().as_ptr() }
    }

    /// Takes what a stream has written, each CPU's in its order. Returns whether none was found in the middle of
    /// being written.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(RawStack)) -> bool {
        let mut complete = true;
        for cpu in 0..self.cpus {
            let own = self.on(cpu);
            let head = own.head.load(Ordering::Acquire);
            let mut tail = own.tail.load(Ordering::Relaxed);
            while tail != head {
                let slot = &own.slots[tail as usize % SLOTS];
                let Some(stack) = slot.read(cpu) else {
                    complete = false;
                    break;
                };
                slot.time_ns.store(0, Ordering::Relaxed);
                tail += 1;
                own.tail.store(tail, Ordering::Release);
                take(stack);
            }
        }
        complete
    }

    /// Copies what is there, while a flight recorder goes on writing.
    pub(crate) fn copy(&self) -> Vec<RawStack> {
        let mut copied = Vec::new();
        for cpu in 0..self.cpus {
            for slot in &self.on(cpu).slots {
                let stack = slot.read(cpu);
                // What is copied was read before this; one that was begun anew has no time, or another.
                fence(Ordering::Acquire);
                let time_ns = slot.time_ns.load(Ordering::Relaxed);
                copied.extend(stack.filter(|stack| stack.time_ns == time_ns));
            }
        }
        copied
    }

    /// Stacks that were not taken, because another had just been, or there was no room.
    pub(crate) fn left_out(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.on(cpu).left_out.load(Ordering::Relaxed)).sum()
    }
}

/// A sentence for the reader, where stacks were left out.
pub(crate) fn note(left_out: u64) -> Option<String> {
    (left_out > 0).then(|| {
        format!(
            "{left_out} kernel stacks were not recorded, because the CPU had recorded one within \
             100 µs or the buffer was full"
        )
    })
}

impl Slot {
    /// Copies it out; `None` where it is not written, or of no kind that is known.
    fn read(&self, cpu: usize) -> Option<RawStack> {
        // Pairs with the publishing store of the kernel side, which is its last.
        let time_ns = self.time_ns.load(Ordering::Acquire);
        if time_ns == 0 {
            return None;
        }
        let what = self.what.load(Ordering::Relaxed);
        let taken = Taken::ALL.get((what >> 56) as usize).copied().unwrap_or(Taken::Left);
        Some(RawStack {
            time_ns,
            cpu: CpuId(cpu as u16),
            of: TaskId(what as u32),
            taken,
            late_ns: self.late_ns.load(Ordering::Relaxed),
            addresses: loaded(&self.bytes, &self.frames),
            user: loaded(&self.user_bytes, &self.user_frames),
        })
    }
}

/// So many of the frames as there are bytes of.
fn loaded(bytes: &AtomicI64, frames: &[AtomicU64]) -> Vec<u64> {
    let bytes = usize::try_from(bytes.load(Ordering::Relaxed)).unwrap_or(0);
    let frames = frames.iter().take(bytes / size_of::<u64>());
    frames.map(|frame| frame.load(Ordering::Relaxed)).collect()
}
