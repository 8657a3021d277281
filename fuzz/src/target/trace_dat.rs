//! trace-cmd's files.

use super::Target;
use crate::drain;

pub(super) struct TraceDat;

impl Target for TraceDat {
    fn name(&self) -> &'static str {
        "trace-dat"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("trace.dat", bytes)
    }
}
