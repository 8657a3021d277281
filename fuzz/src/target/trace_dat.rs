//! trace-cmd's files, as they are or built.

use super::Target;
use crate::{built, drain};

pub(super) struct TraceDat;

impl Target for TraceDat {
    fn name(&self) -> &'static str {
        "trace-dat"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("trace.dat", &built::file(bytes, built::trace_dat))
    }

    // Compressed symbols are held unpacked, 64 MB at most, and so is what is taken of them.
    fn memory_max(&self, bytes: usize) -> u64 {
        (256 << 20) + 2 * bytes as u64
    }
}
