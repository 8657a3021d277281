//! The rings that the kernel side writes: mapped memory, read in place.
//!
//! The protocol is described in `bpf/ring.h`.

use crate::Error;
use crate::window::Window;
use libbpf_rs::MapCore;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use tardy_model::event::{ExpireBegin, Loss, TimerArm};
use tardy_model::{CpuId, Event, Kind, TaskId};

/// A record as the kernel side writes it. All fields are atomics: the kernel writes them while they
/// are mapped here.
#[repr(C)]
struct Slot {
    time_ns: AtomicU64,
    /// Task, CPU (which the ring tells too), tag and flags, the lowest bits first.
    what: AtomicU64,
    a: AtomicU64,
    /// Two numbers of 32 bits, the lower half first.
    bc: AtomicU64,
}

/// One CPU's control block, as `struct ring` in `bpf/ring.h`; its slots follow it.
#[repr(C)]
struct Ring {
    head: AtomicU64,
    limit: AtomicU64,
    lost: AtomicU64,
    lost_since_ns: AtomicU64,
    lost_total: AtomicU64,
    pad0: [u64; 4],
    tail: AtomicU64,
    stolen: u64,
    current: AtomicU64,
    pad1: [u64; 4],
}

/// A record, copied out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) time_ns: u64,
    pub(crate) task: u32,
    pub(crate) cpu: u16,
    pub(crate) tag: u8,
    pub(crate) flags: u8,
    pub(crate) a: u64,
    pub(crate) b: u32,
    pub(crate) c: u32,
}

/// Slots are given back to the kernel side at least this often while a ring is read.
const GIVE_BACK: u64 = 256;

/// Tags whose record is followed by a definition.
pub(crate) const DEFINED_TAGS: [u8; 2] = [TimerArm::TAG, ExpireBegin::TAG];

/// A copy of what a CPU's overwriting ring held.
pub(crate) struct Copied {
    /// By place.
    slots: Vec<Option<Record>>,
    window: Window,
    /// Who came to run at its last switch, and at which priority.
    pub(crate) current: Option<(u32, u16)>,
}

impl Copied {
    /// Hands its records to `take`, in the order in which they were claimed. Returns whether older ones had
    /// been there.
    pub(crate) fn read(&self, take: impl FnMut(Record, Option<Record>)) -> bool {
        self.window.read(|place| self.slots.get(place).copied().flatten(), take)
    }
}

/// All CPUs' rings.
pub(crate) struct Rings {
    memory: Mapping,
    cpus: usize,
    slots_shift: u32,
}

/// Bytes of one CPU's ring: its control block, its slots, and one more for a record of two in the
/// last one.
pub(crate) const fn ring_bytes(slots_shift: u32) -> usize {
    size_of::<Ring>() + ((1 << slots_shift) + 1) * size_of::<Slot>()
}

impl Rings {
    pub(crate) fn map(rings: &impl MapCore, cpus: usize, slots_shift: u32) -> Result<Self, Error> {
        let memory = Mapping::of(rings, cpus * ring_bytes(slots_shift))?;
        Ok(Self { memory, cpus, slots_shift })
    }

    /// From now on there is always room: the newest record takes the place of the oldest. To be called
    /// before anything writes.
    pub(crate) fn overwrite(&self) {
        for cpu in 0..self.cpus {
            self.ring(cpu).limit.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// How many CPUs have one.
    pub(crate) fn cpus(&self) -> u16 {
        self.cpus as u16
    }

    pub(crate) fn bytes_per_cpu(&self) -> u64 {
        (size_of::<Slot>() as u64) << self.slots_shift
    }

    /// Records dropped since the start, on all CPUs.
    pub(crate) fn lost(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.ring(cpu).lost_total.load(Ordering::Relaxed)).sum()
    }

    /// Drops that no later record has told of, once nothing writes any more.
    pub(crate) fn last_losses(&self, now_ns: u64) -> Vec<Event> {
        let mut losses = Vec::new();
        for cpu in 0..self.cpus {
            let ring = self.ring(cpu);
            let count = ring.lost.swap(0, Ordering::Relaxed);
            if count > 0 {
                let since_ns = ring.lost_since_ns.load(Ordering::Relaxed);
                let loss = Loss { since_ns, count: count.try_into().unwrap_or(u32::MAX) };
                losses.push(Event::new(now_ns, CpuId(cpu as u16), TaskId::IDLE, Kind::Loss(loss)));
            }
        }
        losses
    }

    /// Hands everything that is written to `take`, each CPU in its order, a timer's record together
    /// with its definition. Returns whether all rings were found empty at their end (no record in
    /// the middle of being written).
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record, Option<Record>)) -> bool {
        let mut complete = true;
        for cpu in 0..self.cpus {
            let ring = self.ring(cpu);
            let head = ring.head.load(Ordering::Acquire);
            let mut tail = ring.tail.load(Ordering::Relaxed);
            while tail != head {
                let at = self.place(tail);
                let Some(record) = self.slot(cpu, at).take(cpu) else {
                    complete = false;
                    break;
                };
                let mut definition = None;
                if DEFINED_TAGS.contains(&record.tag) {
                    // Published by its event's time, so it is there.
                    definition = self.slot(cpu, at + 1).take(cpu);
                }
                let before = tail;
                tail += 1 + u64::from(definition.is_some());
                take(record, definition);
                // Give slots back in good time, not only at the end of a long drain.
                if before / GIVE_BACK != tail / GIVE_BACK {
                    ring.tail.store(tail, Ordering::Release);
                }
            }
            ring.tail.store(tail, Ordering::Release);
        }
        complete
    }

    /// Where the slot is that was the `at`-th to be claimed.
    fn place(&self, at: u64) -> usize {
        at as usize & ((1 << self.slots_shift) - 1)
    }

    /// Copies what overwriting rings hold, while they are written. `settle` is called once in between, and
    /// returns when the records claimed before it are written.
    pub(crate) fn copy(&self, settle: impl FnOnce()) -> Vec<Copied> {
        let heads: Vec<u64> =
            (0..self.cpus).map(|cpu| self.ring(cpu).head.load(Ordering::Acquire)).collect();
        settle();
        let copy = |(cpu, head)| {
            let ring = self.ring(cpu);
            // Never more than was claimed: of a CPU that is not there that is nothing.
            let slots = ((1_u64 << self.slots_shift) + 1).min(head + 1) as usize;
            let slots = (0..slots).map(|place| self.slot(cpu, place).read(cpu)).collect();
            let current = ring.current.load(Ordering::Relaxed);
            // What is copied was read before the head is.
            fence(Ordering::Acquire);
            let head_after = ring.head.load(Ordering::Relaxed);
            let window = Window { slots_shift: self.slots_shift, head, head_after };
            let current = (current != 0).then_some((current as u32, (current >> 32) as u16));
            Copied { slots, window, current }
        };
        heads.into_iter().enumerate().map(copy).collect()
    }

    fn ring(&self, cpu: usize) -> &Ring {
        assert!(cpu < self.cpus);
        // SAFETY: the mapping holds `cpus` rings of this size, which is a multiple of their
        // alignment (checked when it was made), lives as long as `self`, is aligned to a page, and
        // every field is an atomic or never read.
        unsafe {
            &*self.memory.start.byte_add(cpu * ring_bytes(self.slots_shift)).cast::<Ring>().as_ptr()
        }
    }

    /// The slot at `place` of a CPU; the one after the last is there too.
    fn slot(&self, cpu: usize, place: usize) -> &Slot {
        assert!(place <= 1 << self.slots_shift);
        assert!(cpu < self.cpus);
        let slots_from = cpu * ring_bytes(self.slots_shift) + size_of::<Ring>();
        // SAFETY: as in `ring`, behind which there are `(1 << slots_shift) + 1` slots.
        unsafe { &*self.memory.start.byte_add(slots_from).cast::<Slot>().as_ptr().add(place) }
    }
}

impl Slot {
    /// Copies the record out and marks the slot as not written; `None` where it is not written yet.
    fn take(&self, cpu: usize) -> Option<Record> {
        let record = self.read(cpu)?;
        self.time_ns.store(0, Ordering::Relaxed);
        Some(record)
    }

    /// Copies the record out; `None` where it is not written yet.
    fn read(&self, cpu: usize) -> Option<Record> {
        // Pairs with the publishing store of the kernel side, which is its last.
        let time_ns = self.time_ns.load(Ordering::Acquire);
        if time_ns == 0 {
            return None;
        }
        let what = self.what.load(Ordering::Relaxed);
        let bc = self.bc.load(Ordering::Relaxed);
        Some(Record {
            time_ns,
            task: what as u32,
            cpu: cpu as u16,
            tag: (what >> 48) as u8,
            flags: (what >> 56) as u8,
            a: self.a.load(Ordering::Relaxed),
            b: bc as u32,
            c: (bc >> 32) as u32,
        })
    }
}

/// Memory shared with a BPF map.
pub(crate) struct Mapping {
    pub(crate) start: NonNull<core::ffi::c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to no thread; all access goes through atomics.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(crate) fn of(map: &impl MapCore, bytes: usize) -> Result<Self, Error> {
        let bytes = bytes.next_multiple_of(rustix::param::page_size());
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let mapped = unsafe {
            mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, map.as_fd(), 0)
        };
        let refused = |reason: String| Error::Refused {
            what: format!("to map {bytes} bytes of the rings"),
            reason,
        };
        let start = mapped.map_err(|error| refused(error.to_string()))?;
        let start = NonNull::new(start).ok_or_else(|| refused("a null address".to_owned()))?;
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `of` with this size, and no reference outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}
