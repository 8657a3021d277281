//! Interrupts and softirqs.

use super::{Pack, Payload};
use crate::{CpuId, NameId};

/// Which interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Irq {
    /// A device's line, by Linux' number, with the name of its first action.
    Line(u32, NameId),
    /// One of the system vectors that x86 gives tracepoints of their own.
    Vector(Vector),
}

/// The x86 system vectors with tracepoints (`events/irq_vectors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Vector(pub u32);

impl Vector {
    /// The local APIC's timer.
    pub const LOCAL_TIMER: Self = Self(0);
    /// Another CPU asks this one to schedule.
    pub const RESCHEDULE: Self = Self(1);
    /// Another CPU has this one call a function.
    pub const CALL_FUNCTION: Self = Self(2);
    /// The same, of one CPU.
    pub const CALL_FUNCTION_SINGLE: Self = Self(3);
    /// Work that was put off to an interrupt.
    pub const IRQ_WORK: Self = Self(4);
    /// An inter-processor interrupt of the platform's, or of a reason without a vector here.
    pub const PLATFORM_IPI: Self = Self(5);

    /// Every vector's name, in the order of its number here.
    pub const NAMES: &'static [&'static str] = &[
        "local_timer",
        "reschedule",
        "call_function",
        "call_function_single",
        "irq_work",
        "x86_platform_ipi",
        "thermal_apic",
        "threshold_apic",
        "deferred_error_apic",
        "error_apic",
        "spurious_apic",
    ];

    /// Whether CPUs send it to each other.
    pub const fn is_sent(self) -> bool {
        matches!(self.0, 1..=5)
    }

    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.0 as usize).copied().unwrap_or("unknown vector")
    }
}

/// Softirq vectors, in the kernel's fixed order (`include/linux/interrupt.h`).
pub mod softirq {
    /// Timers of the timer wheel.
    pub const TIMER: u32 = 1;
    /// High-resolution timers that expire in softirq context.
    pub const HRTIMER: u32 = 8;

    const NAMES: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];

    /// Whether a vector's work is done for devices: network, disks, and drivers' tasklets.
    pub const fn is_for_devices(vector: u32) -> bool {
        // NET_TX to TASKLET.
        matches!(vector, 2..=6)
    }

    /// The kernel's name for a vector.
    pub fn name(vector: u32) -> &'static str {
        NAMES.get(vector as usize).copied().unwrap_or("unknown softirq")
    }
}

impl Irq {
    const VECTOR: u8 = 1;

    fn pack(self) -> Payload {
        match self {
            Self::Line(number, name) => Payload { b: number, c: name.0, ..Payload::default() },
            Self::Vector(vector) => {
                Payload { flags: Self::VECTOR, b: vector.0, ..Payload::default() }
            }
        }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        if p.flags & Self::VECTOR == 0 {
            Self::Line(p.b, NameId(p.c))
        } else {
            Self::Vector(Vector(p.b))
        }
    }

    /// Whether both are the same interrupt, whatever name each side knew.
    pub fn is_same(self, other: Self) -> bool {
        match (self, other) {
            (Self::Line(a, _), Self::Line(b, _)) => a == b,
            (Self::Vector(a), Self::Vector(b)) => a == b,
            _ => false,
        }
    }
}

/// An interrupt handler begins. `flags` bit 0: a vector; `b` number, `c` name of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrqBegin {
    /// Which interrupt.
    pub irq: Irq,
}

/// An interrupt handler has returned. As [`IrqBegin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrqEnd {
    /// Which interrupt.
    pub irq: Irq,
}

/// A softirq was marked pending. `b` vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftirqRaise {
    /// Which one.
    pub vector: u32,
}

/// A softirq's action begins. `b` vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftirqBegin {
    /// Which one.
    pub vector: u32,
}

/// A softirq's action has returned. `b` vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftirqEnd {
    /// Which one.
    pub vector: u32,
}

/// A non-maskable interrupt has been handled: the event's time is its end. `a` nanoseconds, `c` handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nmi {
    /// How long it took.
    pub ns: u64,
    /// The handler's function.
    pub handler: NameId,
}

/// The CPU sends an inter-processor interrupt. `a` which CPUs, as bits from `b` on; `c` what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpiSend {
    /// Bit n is CPU `first` + n.
    pub targets: u64,
    /// The CPU that bit 0 stands for.
    pub first: CpuId,
    /// The function to be called there, or the reason where the kernel tells only that.
    pub function: NameId,
}

impl IpiSend {
    /// To one CPU.
    pub const fn to(target: CpuId, function: NameId) -> Self {
        Self { targets: 1, first: target, function }
    }

    /// Whether it goes to this CPU.
    pub const fn reaches(&self, cpu: CpuId) -> bool {
        match cpu.0.checked_sub(self.first.0) {
            Some(bit) => bit < 64 && self.targets >> bit & 1 == 1,
            None => false,
        }
    }
}

impl Pack for Nmi {
    fn pack(&self) -> Payload {
        Payload { a: self.ns, c: self.handler.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { ns: p.a, handler: NameId(p.c) }
    }
}

impl Pack for IpiSend {
    fn pack(&self) -> Payload {
        let first = self.first.0.into();
        Payload { a: self.targets, b: first, c: self.function.0, ..Payload::default() }
    }

    #[inline]
    fn unpack(p: Payload) -> Self {
        Self { targets: p.a, first: CpuId(p.b as u16), function: NameId(p.c) }
    }
}

macro_rules! pack_irq {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                self.irq.pack()
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                Self { irq: Irq::unpack(p) }
            }
        }
    )*};
}
pack_irq!(IrqBegin, IrqEnd);

macro_rules! pack_softirq {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                Payload { b: self.vector, ..Payload::default() }
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                Self { vector: p.b }
            }
        }
    )*};
}
pack_softirq!(SoftirqRaise, SoftirqBegin, SoftirqEnd);
