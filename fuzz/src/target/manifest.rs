//! A recording's description of itself.

use super::{Target, segment};

pub(super) struct Manifest;

impl Target for Manifest {
    fn name(&self) -> &'static str {
        "manifest"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        usize::from(segment::read_recording(Some(bytes), None).is_some())
    }
}
