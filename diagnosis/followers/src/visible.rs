//! Which kinds of events a stream records.

use tardy_model::event::{IrqBegin, Migrate, Recorded, SectionBegin, SoftirqBegin, SoftirqEnd};

/// What a stream can tell. A source that knows says it once ([`Recorded`]); of any other it is learnt: what
/// has come once may come again, and what has never come may be happening unseen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visible {
    seen: u64,
}

impl Visible {
    #[inline]
    pub(crate) fn saw(&mut self, tag: u8) {
        self.seen |= 1u64.checked_shl(tag.into()).unwrap_or(0);
    }

    pub(crate) fn told(&mut self, recorded: Recorded) {
        self.seen |= recorded.kinds;
    }

    fn has(self, tag: u8) -> bool {
        self.seen >> tag & 1 == 1
    }

    /// Whether no interrupt and no softirq can run unseen inside what looks like a task.
    pub fn interrupts(self) -> bool {
        let vectors = self.has(IrqBegin::TAG);
        vectors && (self.has(SoftirqBegin::TAG) || self.has(SoftirqEnd::TAG))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_once_may_come_again() {
        let mut visible = Visible::default();
        assert!(!visible.interrupts() && !visible.section_events() && !visible.migrations());
        visible.saw(IrqBegin::TAG);
        assert!(!visible.interrupts(), "softirqs may run unseen");
        visible.saw(SoftirqEnd::TAG);
        assert!(visible.interrupts());
        visible.saw(Migrate::TAG);
        visible.saw(SectionBegin::TAG);
        assert!(visible.section_events() && visible.migrations());
    }

    #[test]
    fn a_source_that_knows_says_it_once() {
        let mut visible = Visible::default();
        visible.told(Recorded { kinds: 1 << IrqBegin::TAG | 1 << SoftirqBegin::TAG });
        assert!(visible.interrupts() && !visible.migrations());
        visible.told(Recorded::all());
        assert!(visible.migrations());
        visible.saw(u8::MAX);
    }
}
