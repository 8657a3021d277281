//! The text of perf script.

use super::Target;
use crate::drain;

pub(super) struct PerfScript;

impl Target for PerfScript {
    fn name(&self) -> &'static str {
        "perf-script"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("perf-script", bytes)
    }
}
