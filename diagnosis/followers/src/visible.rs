//! Which kinds of events a stream records.

use crate::Activity;
use tardy_model::Tables;
use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleEnter, Irq, IrqBegin, IrqEnd, Migrate, Recorded, SectionBegin,
    SoftirqBegin, SoftirqEnd, Stolen, Vector, Woken,
};

/// So many begins without any end, and ends are not recorded.
const WITHOUT_END: u8 = 3;

/// Names of lines of CPUs' timers: of ARM (`arm_arch_timer.c`, `smp_twd.c`) and RISC-V (`timer-riscv.c`).
const TIMER_LINES: &[&str] = &["arch_timer", "twd", "riscv-timer"];

/// What a stream can tell. A source that knows says it once ([`Recorded`]); of any other it is learnt: what
/// has come once may come again, and what has never come may be happening unseen.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each was seen or not")]
pub struct Visible {
    seen: u64,
    /// Kinds of which one more would tell nothing new.
    settled: u64,
    /// Begins of interrupts, softirqs and callbacks, up to [`WITHOUT_END`].
    begins: [u8; 3],
    /// What the source itself said that it records: of other kinds some events may come all the same, and not all that
    /// there are.
    told: Option<Recorded>,
    /// An interrupt of a device's line, and a call of another CPU's, have been seen: x86 has events of their
    /// own for the two, and one kind says nothing of the other.
    lines: bool,
    calls: bool,
    /// The local timer's, which is x86's.
    vectors: bool,
    /// A task that was preempted, as one that has called the scheduler is not.
    preemptions: bool,
}

impl Visible {
    #[inline]
    pub(crate) fn saw(&mut self, tag: u8) {
        // A tag that is too large for a bit has none, and another's settles nothing.
        if self.settled >> (tag & 63) & 1 == 0 || tag > 63 {
            self.saw_anew(tag);
        }
    }

    #[inline(never)]
    fn saw_anew(&mut self, tag: u8) {
        let bit = 1u64.checked_shl(tag.into()).unwrap_or(0);
        self.seen |= bit;
        let kind = match tag {
            IrqBegin::TAG => Some(0),
            SoftirqBegin::TAG => Some(1),
            ExpireBegin::TAG => Some(2),
            _ => None,
        };
        let begins = kind.map(|kind| &mut self.begins[kind]);
        if begins.is_none_or(|begins| {
            *begins = (*begins + 1).min(WITHOUT_END);
            *begins == WITHOUT_END
        }) {
            self.settled |= bit;
        }
    }

    pub(crate) fn told(&mut self, recorded: Recorded) {
        self.seen |= recorded.kinds;
        let before = self.told.map_or(0, |told| told.kinds);
        self.told = Some(Recorded { kinds: before | recorded.kinds });
    }

    fn has(self, tag: u8) -> bool {
        self.seen >> tag & 1 == 1
    }

    /// Whether it is an imported trace of x86, which alone has events of its own for vectors.
    pub(crate) fn is_x86_trace(self) -> bool {
        self.told.is_none() && self.vectors
    }

    /// Whether the ends of what a CPU does are recorded, as far as can be told: the first few have none yet.
    #[inline]
    pub(crate) fn ends(self, activity: Activity) -> bool {
        match activity {
            Activity::Irq(_) | Activity::Ipi(..) => {
                self.has(IrqEnd::TAG) || self.begins[0] < WITHOUT_END
            }
            Activity::Softirq(_) | Activity::ThreadedSoftirq(..) => {
                self.has(SoftirqEnd::TAG) || self.begins[1] < WITHOUT_END
            }
            Activity::Expiry(..) | Activity::ThreadedExpiry(..) => {
                self.has(ExpireEnd::TAG) || self.begins[2] < WITHOUT_END
            }
            _ => true,
        }
    }

    pub(crate) fn saw_irq(&mut self, irq: Irq) {
        match irq {
            Irq::Line(..) => self.lines = true,
            Irq::Vector(Vector::CALL_FUNCTION | Vector::CALL_FUNCTION_SINGLE) => self.calls = true,
            Irq::Vector(_) => {}
        }
        self.vectors |= irq == Irq::Vector(Vector::LOCAL_TIMER);
    }

    /// Whether an interrupt is that of the CPU's own timer: x86 has a vector for it, others a line.
    #[inline]
    pub(crate) fn is_timer(self, irq: Irq, tables: &Tables) -> bool {
        match irq {
            Irq::Vector(vector) => vector == Vector::LOCAL_TIMER,
            Irq::Line(_, name) => !self.vectors && TIMER_LINES.contains(&tables.name(name)),
        }
    }

    /// Whether no interrupt can run unseen.
    pub fn hard_interrupts(self) -> bool {
        self.told.map_or(self.lines && self.calls, |told| told.has(IrqBegin::TAG))
    }

    /// Whether no interrupt and no softirq can run unseen inside what looks like a task.
    pub fn interrupts(self) -> bool {
        self.hard_interrupts() && self.has(SoftirqBegin::TAG)
    }

    /// Whether no CPU can go to sleep once more unseen.
    pub fn idle_states(self) -> bool {
        self.has(IdleEnter::TAG)
    }

    /// Whether what a hypervisor steals is recorded.
    #[inline]
    pub(crate) fn stolen(self) -> bool {
        self.has(Stolen::TAG)
    }

    /// Whether sections with interrupts off are recorded, so that elsewhere they are on.
    pub fn section_events(self) -> bool {
        self.has(SectionBegin::TAG)
    }

    /// Whether it is told when a woken task is in a queue.
    pub fn wakeups(self) -> bool {
        self.has(Woken::TAG)
    }

    /// Whether it is told of a task that loses the CPU if it was preempted or had called the scheduler.
    pub fn preemptions(self) -> bool {
        self.preemptions
    }

    #[inline]
    pub(crate) fn saw_switch(&mut self, preempted: bool) {
        self.preemptions |= preempted;
    }

    /// Whether a task that waits cannot be moved to another CPU unseen.
    pub fn migrations(self) -> bool {
        self.has(Migrate::TAG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::NameId;

    #[test]
    fn what_has_come_once_may_come_again() {
        let mut visible = Visible::default();
        assert!(!visible.interrupts() && !visible.section_events() && !visible.migrations());
        visible.saw(IrqBegin::TAG);
        assert!(!visible.interrupts(), "softirqs may run unseen");
        visible.saw(SoftirqBegin::TAG);
        visible.saw_irq(Irq::Vector(Vector::CALL_FUNCTION));
        assert!(!visible.interrupts(), "a device's may run unseen");
        visible.saw_irq(Irq::Line(45, NameId::NONE));
        assert!(visible.interrupts());
        visible.saw(Migrate::TAG);
        visible.saw(SectionBegin::TAG);
        assert!(visible.section_events() && visible.migrations());
    }

    #[test]
    fn the_ends_of_softirqs_alone_do_not_show_who_ran_before_them() {
        let mut visible = Visible::default();
        visible.told(Recorded { kinds: 1 << IrqBegin::TAG | 1 << SoftirqEnd::TAG });
        assert!(visible.hard_interrupts() && !visible.interrupts());
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
