//! Which kinds of events a stream records.

use tardy_model::event::{
    Irq, IrqBegin, Migrate, Recorded, SectionBegin, SoftirqBegin, SoftirqEnd, Vector,
};

/// What a stream can tell. A source that knows says it once ([`Recorded`]); of any other it is learnt: what
/// has come once may come again, and what has never come may be happening unseen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visible {
    seen: u64,
    /// The source itself said what it records.
    told: bool,
    /// An interrupt of a device's line, and a call of another CPU's, have been seen: x86 has events of their
    /// own for the two, and one kind says nothing of the other.
    lines: bool,
    calls: bool,
}

impl Visible {
    #[inline]
    pub(crate) fn saw(&mut self, tag: u8) {
        self.seen |= 1u64.checked_shl(tag.into()).unwrap_or(0);
    }

    pub(crate) fn told(&mut self, recorded: Recorded) {
        self.seen |= recorded.kinds;
        self.told = true;
    }

    fn has(self, tag: u8) -> bool {
        self.seen >> tag & 1 == 1
    }

    pub(crate) fn saw_irq(&mut self, irq: Irq) {
        match irq {
            Irq::Line(..) => self.lines = true,
            Irq::Vector(Vector::CALL_FUNCTION | Vector::CALL_FUNCTION_SINGLE) => self.calls = true,
            Irq::Vector(_) => {}
        }
    }

    /// Whether no interrupt and no softirq can run unseen inside what looks like a task.
    pub fn interrupts(self) -> bool {
        let irqs = if self.told { self.has(IrqBegin::TAG) } else { self.lines && self.calls };
        irqs && (self.has(SoftirqBegin::TAG) || self.has(SoftirqEnd::TAG))
    }

    /// Whether sections with interrupts off are recorded, so that elsewhere they are on.
    pub fn section_events(self) -> bool {
        self.has(SectionBegin::TAG)
    }

    /// Whether a task that waits cannot be moved to another CPU unseen.
    pub fn migrations(self) -> bool {
        self.has(Migrate::TAG)
    }
}
