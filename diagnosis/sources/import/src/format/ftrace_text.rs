//! The kernel's own text (`trace`, `trace_pipe`) and `trace-cmd report`'s, of any age; also where it
//! is a part of something else, as in a mail.

use super::Format;
use crate::text::{Style, Text, has_event};
use crate::{Import, ImportError, Input, Options};

pub(super) struct FtraceText;

impl Format for FtraceText {
    fn name(&self) -> &'static str {
        "ftrace-text"
    }

    fn written_by(&self) -> &'static str {
        "the kernel (trace, trace_pipe), trace-cmd report"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        has_event(Style::Ftrace, head) || head.starts_with(b"# tracer:")
    }

    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError> {
        let path = input.path().to_owned();
        Ok(Box::new(Text::new(Style::Ftrace, &path, input, options)))
    }
}
