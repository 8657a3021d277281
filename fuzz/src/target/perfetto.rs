//! Perfetto's traces, as they are or built.

use super::Target;
use crate::{built, drain};

pub(super) struct Perfetto;

impl Target for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("perfetto", &built::file(bytes, built::perfetto))
    }
}
