//! What a CPU does above its task, and how long: interrupts, softirqs, callbacks.

use tardy_model::event::Irq;

/// Deeper than any kernel nests them.
const NESTING_MAX: usize = 16;

/// What is above the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    /// The timer's interrupt, or one that another CPU sent to reschedule: the simulator makes these itself.
    Simulated,
    Interrupt(Irq),
    Softirq(u32),
    /// A callback that no thread sleeps for.
    Callback,
    /// One for which a thread sleeps, or the tick's.
    SimulatedCallback,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) what: Above,
    pub(crate) since_ns: u64,
    /// What of it was its own.
    pub(crate) ns: u64,
    /// The CPU had nothing to do before.
    pub(crate) was_idle: bool,
}

/// The stack of one CPU.
#[derive(Debug, Default)]
pub(crate) struct Contexts(Vec<Open>);

impl Contexts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn last(&mut self) -> Option<&mut Open> {
        self.0.last_mut()
    }

    /// Whether an interrupt is among it.
    pub(crate) fn has_interrupt(&self) -> bool {
        self.0.iter().any(|open| matches!(open.what, Above::Simulated | Above::Interrupt(_)))
    }

    /// The line of the innermost interrupt, where that is a device's.
    pub(crate) fn line(&self) -> Option<u32> {
        let interrupt = self.0.iter().rev().find_map(|open| match open.what {
            Above::Interrupt(irq) => Some(irq),
            _ => None,
        });
        match interrupt {
            Some(Irq::Line(line, _)) => Some(line),
            _ => None,
        }
    }

    pub(crate) fn begins(&mut self, what: Above, since_ns: u64, was_idle: bool) {
        if self.0.len() < NESTING_MAX {
            self.0.push(Open { what, since_ns, ns: 0, was_idle });
        }
    }

    /// The innermost of a kind ends, and all above it with it.
    pub(crate) fn ends(&mut self, is_it: impl Fn(Above) -> bool) -> Option<Open> {
        let at = self.0.iter().rposition(|open| is_it(open.what))?;
        let ended = self.0[at];
        self.0.truncate(at);
        Some(ended)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
