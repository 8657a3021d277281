//! `rtla timerlat hist`: per CPU, how late the timer's interrupt, its thread and, where it was asked
//! for, the return to user space were.

use super::row::Histograms;
use super::{Format, rtla};
use crate::{ImportError, Input};

pub(super) struct RtlaTimerlat;

impl Format for RtlaTimerlat {
    fn name(&self) -> &'static str {
        "rtla-timerlat"
    }

    fn written_by(&self) -> &'static str {
        "rtla timerlat hist"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        rtla::recognises(head, "# RTLA timerlat histogram")
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        rtla::read(input, self.name(), self.written_by(), &["IRQ", "Thr", "Usr"])
    }
}
