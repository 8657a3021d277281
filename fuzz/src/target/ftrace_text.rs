//! The kernel's text and trace-cmd report's.

use super::Target;
use crate::drain;

pub(super) struct FtraceText;

impl Target for FtraceText {
    fn name(&self) -> &'static str {
        "ftrace-text"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        drain::import("ftrace-text", bytes)
    }
}
