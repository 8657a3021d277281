//! Stretches in which a CPU takes no interrupts, or does not preempt.

use super::{Pack, Payload};
use crate::NameId;

/// What is kept off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Section {
    /// Interrupts (`irq_disable`, `irq_enable`).
    IrqsOff = 0,
    /// Preemption (`preempt_disable`, `preempt_enable`).
    PreemptOff = 1,
}

/// A section begins on this CPU. `flags` which, `c` the function that began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionBegin {
    /// Which.
    pub section: Section,
    /// Who called, where the kernel tells.
    pub caller: NameId,
}

/// A section ends on this CPU. As [`SectionBegin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionEnd {
    /// Which.
    pub section: Section,
    /// Who called, where the kernel tells.
    pub caller: NameId,
}

macro_rules! pack_section {
    ($($kind:ident),*) => {$(
        impl Pack for $kind {
            fn pack(&self) -> Payload {
                Payload { flags: self.section as u8, c: self.caller.0, ..Payload::default() }
            }
            #[inline]
            fn unpack(p: Payload) -> Self {
                let section = if p.flags == 0 { Section::IrqsOff } else { Section::PreemptOff };
                Self { section, caller: NameId(p.c) }
            }
        }
    )*};
}
pack_section!(SectionBegin, SectionEnd);
