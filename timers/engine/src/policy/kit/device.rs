//! What the clock-event device is programmed for, and how often that was written.

use crate::policy::{Program, Rearm};

/// The clock-event device as a policy knows it.
#[derive(Debug)]
pub(crate) struct Device {
    rearm: Rearm,
    at_ns: Option<u64>,
    programmed: u64,
    untold: bool,
    /// An interrupt took too long: nothing programs the device until the next one ends.
    is_put_off: bool,
}

impl Device {
    /// One that was programmed for `at_ns` when the clock began; that is not counted.
    pub(crate) fn new(rearm: Rearm, at_ns: Option<u64>) -> Self {
        Self { rearm, at_ns, programmed: 0, untold: true, is_put_off: false }
    }

    /// What it is programmed for.
    pub(crate) fn at_ns(&self) -> Option<u64> {
        self.at_ns
    }

    /// Until when it was put off, if it was.
    pub(crate) fn put_off_ns(&self) -> Option<u64> {
        self.at_ns.filter(|_| self.is_put_off)
    }

    /// How often it was programmed.
    pub(crate) fn programmed(&self) -> u64 {
        self.programmed
    }

    /// Whether a rearm is a removal and a start.
    pub(crate) fn removes_first(&self) -> bool {
        self.rearm == Rearm::EagerDouble
    }

    /// What the caller has not been told yet.
    pub(crate) fn tell(&mut self) -> Program {
        match self.at_ns {
            Some(at_ns) if core::mem::take(&mut self.untold) => Program::At { at_ns },
            _ => Program::Leave,
        }
    }

    /// It interrupted: it is programmed for nothing until the interrupt ends.
    pub(crate) fn fired(&mut self) {
        self.at_ns = None;
    }

    /// It interrupted, and being periodic it will again at `at_ns` without being programmed.
    pub(crate) fn repeats(&mut self, at_ns: Option<u64>) {
        self.at_ns = at_ns;
        self.untold = true;
    }

    /// Something may have come first.
    pub(crate) fn started(&mut self, first_ns: Option<u64>) {
        if let Some(first_ns) = first_ns
            && !self.is_put_off
            && self.at_ns.is_none_or(|at_ns| first_ns < at_ns)
        {
            self.write(first_ns);
        }
    }

    /// What came first may have gone.
    pub(crate) fn removed(&mut self, first_ns: Option<u64>) {
        if self.rearm == Rearm::Lazy {
            self.started(first_ns);
        } else {
            self.settle(first_ns);
        }
    }

    /// Programs it for exactly what comes first.
    pub(crate) fn settle(&mut self, first_ns: Option<u64>) {
        if let Some(first_ns) = first_ns
            && !self.is_put_off
            && self.at_ns != Some(first_ns)
        {
            self.write(first_ns);
        }
    }

    /// An interrupt ends in order: programs it for exactly what comes first.
    pub(crate) fn ends(&mut self, first_ns: Option<u64>) {
        self.is_put_off = false;
        self.settle(first_ns);
    }

    /// An interrupt ends that took too long: programs it for then, and for nothing else before.
    pub(crate) fn puts_off(&mut self, until_ns: u64) {
        self.write(until_ns);
        self.is_put_off = true;
    }

    fn write(&mut self, at_ns: u64) {
        self.at_ns = Some(at_ns);
        self.programmed = self.programmed.saturating_add(1);
        self.untold = true;
    }
}
