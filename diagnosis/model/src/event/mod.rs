//! Events and their 32-byte record.
//!
//! | bytes | field | meaning |
//! |---|---|---|
//! | 0–7 | `time_ns` | nanoseconds of `CLOCK_MONOTONIC` |
//! | 8–11 | `task` | the task current on the CPU (the thread named, for task events) |
//! | 12–13 | `cpu` | where it happened |
//! | 14 | `tag` | which [`Kind`] |
//! | 15 | `flags` | the kind's own |
//! | 16–23 | `a` | the kind's own |
//! | 24–27 | `b` | the kind's own |
//! | 28–31 | `c` | the kind's own |
//!
//! Everything is little-endian. How a kind uses its 17 bytes is written beside it, in its file. A
//! kind's tag never changes once released; a reader that meets an unknown tag yields
//! [`Kind::Unknown`], so that old programs read new recordings.
//!
//! A new kind is one file here and one line in the registry at the end of this one, which also
//! declares the file.

pub use irq::{Irq, Vector, softirq};
pub use sched::TaskState;
pub use section::Section;
pub use stack::{FOR_IO, FRAME_SEPARATOR, IN_USER_SPACE, Taken, innermost};
pub use syscall::{Call, futex};
pub use task::Comm;
pub use timer::TimerMode;

use crate::{CpuId, TaskId};

/// Bytes of one event, in memory and on disk.
pub const RECORD_BYTES: usize = 32;

/// Something that happened at one time on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Where.
    pub cpu: CpuId,
    /// The task that was current there; for task events, the task spoken of.
    pub task: TaskId,
    tag: u8,
    flags: u8,
    a: u64,
    b: u32,
    c: u32,
}

/// A kind's own 17 bytes, before it is known what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// Byte 15 of the record.
    pub flags: u8,
    /// Bytes 16–23.
    pub a: u64,
    /// Bytes 24–27.
    pub b: u32,
    /// Bytes 28–31.
    pub c: u32,
}

/// What a kind of event must be able to do: fold itself into a [`Payload`] and back.
pub trait Pack: Sized {
    /// Fold into the record's bytes.
    fn pack(&self) -> Payload;
    /// Read back. Any payload yields a value: bytes come from files and kernels.
    fn unpack(payload: Payload) -> Self;
}

impl Event {
    /// An event of `kind`.
    pub fn new(time_ns: u64, cpu: CpuId, task: TaskId, kind: Kind) -> Self {
        Self::from_parts(time_ns, cpu, task, kind.tag(), kind.pack())
    }

    /// What happened.
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::unpack(self.tag, self.payload())
    }

    /// The kind's tag, for sources that pass records through without reading them.
    #[inline]
    pub fn tag(&self) -> u8 {
        self.tag
    }

    /// The kind's own bytes, for sources that pass records through.
    #[inline]
    pub fn payload(&self) -> Payload {
        Payload { flags: self.flags, a: self.a, b: self.b, c: self.c }
    }

    /// An event from parts already folded (a kernel's record).
    #[inline]
    pub fn from_parts(time_ns: u64, cpu: CpuId, task: TaskId, tag: u8, payload: Payload) -> Self {
        let Payload { flags, a, b, c } = payload;
        Self { time_ns, cpu, task, tag, flags, a, b, c }
    }

    /// The record.
    #[inline]
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[0..8].copy_from_slice(&self.time_ns.to_le_bytes());
        out[8..12].copy_from_slice(&self.task.0.to_le_bytes());
        out[12..14].copy_from_slice(&self.cpu.0.to_le_bytes());
        out[14] = self.tag;
        out[15] = self.flags;
        out[16..24].copy_from_slice(&self.a.to_le_bytes());
        out[24..28].copy_from_slice(&self.b.to_le_bytes());
        out[28..32].copy_from_slice(&self.c.to_le_bytes());
        out
    }

    /// Reads a record; every 32 bytes are one.
    #[inline]
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Self {
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        Self {
            time_ns: u64_at(0),
            task: TaskId(u32_at(8)),
            cpu: CpuId(u16::from_le_bytes([bytes[12], bytes[13]])),
            tag: bytes[14],
            flags: bytes[15],
            a: u64_at(16),
            b: u32_at(24),
            c: u32_at(28),
        }
    }
}

/// Two 16-bit numbers in one 32-bit field, low half first.
fn pack_halves(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The inverse of [`pack_halves`].
fn unpack_halves(both: u32) -> (u16, u16) {
    (both as u16, (both >> 16) as u16)
}

/// The registry: the files, and in each its kinds with their tags.
macro_rules! kinds {
    ($($file:ident { $($tag:literal $kind:ident),* $(,)? })*) => {
        $(mod $file; pub use $file::{$($kind),*};)*

        /// What happened. Each variant is documented at its own type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Kind {
            $($($kind($kind),)*)*
            /// A tag that this program does not know (a newer recording).
            Unknown(u8),
        }

        $($(impl From<$kind> for Kind {
            fn from(kind: $kind) -> Self {
                Self::$kind(kind)
            }
        })*)*

        $($(impl $kind {
            /// Its tag in the record.
            pub const TAG: u8 = $tag;
        })*)*

        impl Kind {
            /// Every kind's tag and name, for programs in other languages (the BPF side includes a
            /// header made from this).
            pub const TAGS: &'static [(u8, &'static str)] = &[$($(($tag, stringify!($kind))),*),*];

            /// Whether the task of an event with this tag is the one that was current: not where the
            /// event is about a task, or comes from user space, or says that nothing is known.
            pub const fn speaks_of_current(tag: u8) -> bool {
                !matches!(
                    tag,
                    TaskName::TAG
                        | TaskInfo::TAG
                        | TaskExit::TAG
                        | TaskGroup::TAG
                        | GroupBandwidth::TAG
                        | GroupWeight::TAG
                        | TaskCpus::TAG
                        | Mark::TAG
                        | Loss::TAG
                        | IdleState::TAG
                        | ClockSet::TAG
                        | Recorded::TAG
                )
            }

            /// The tag in the record.
            pub fn tag(&self) -> u8 {
                match self {
                    $($(Self::$kind(_) => $tag,)*)*
                    Self::Unknown(tag) => *tag,
                }
            }

            fn pack(&self) -> Payload {
                match self {
                    $($(Self::$kind(kind) => kind.pack(),)*)*
                    Self::Unknown(_) => Payload::default(),
                }
            }

            #[inline]
            fn unpack(tag: u8, payload: Payload) -> Self {
                match tag {
                    $($($tag => Self::$kind(Pack::unpack(payload)),)*)*
                    other => Self::Unknown(other),
                }
            }
        }
    };
}

kinds! {
    timer { 1 TimerArm, 2 TimerCancel, 3 ExpireBegin, 4 ExpireEnd, 40 TimerPending }
    irq { 5 IrqBegin, 6 IrqEnd, 7 SoftirqRaise, 8 SoftirqBegin, 9 SoftirqEnd, 29 Nmi, 30 IpiSend }
    sched { 10 Waking, 11 WokenNew, 12 Switch, 13 Migrate, 14 Priority, 28 Woken }
    syscall { 15 SyscallEnter, 16 SyscallExit }
    idle { 17 IdleEnter, 18 IdleExit, 34 IdleState }
    mark { 19 Mark }
    loss { 20 Loss }
    task { 21 TaskName, 22 TaskInfo, 23 TaskExit, 35 TaskGroup, 41 GroupBandwidth, 42 GroupWeight, 43 TaskCpus }
    fault { 24 PageFault }
    signal { 25 Signal }
    work { 26 WorkBegin, 27 WorkEnd }
    section { 31 SectionBegin, 32 SectionEnd }
    clock { 33 ClockSet }
    recorded { 36 Recorded }
    stolen { 37 Stolen }
    current { 38 Current }
    stack { 39 Stack }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever 32 bytes come, reading and folding again settles after one round: a kind may
        /// drop bits that it gives no meaning, but never changes what it keeps.
        #[test]
        fn any_record_reads_and_folds(bytes in prop::array::uniform32(any::<u8>()), tag in 0u8..44) {
            let mut bytes = bytes;
            bytes[14] = tag;
            let event = Event::from_bytes(&bytes);
            prop_assert_eq!(event.to_bytes(), bytes);
            let once = Event::new(event.time_ns, event.cpu, event.task, event.kind());
            prop_assert_eq!(once.kind(), event.kind());
            let twice = Event::new(once.time_ns, once.cpu, once.task, once.kind());
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn tags_are_unique() {
        let mut tags: Vec<u8> = Kind::TAGS.iter().map(|(tag, _)| *tag).collect();
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), Kind::TAGS.len());
    }

    #[test]
    fn an_event_is_its_record() {
        assert_eq!(size_of::<Event>(), RECORD_BYTES);
    }
}
