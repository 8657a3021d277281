//! Perfetto's traces.

use super::Target;
use crate::drain;

pub(super) struct Perfetto;

impl Target for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("perfetto", bytes)
    }
}
