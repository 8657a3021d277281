//! What `perf script` prints of tracepoints, with or without call chains between them.

use super::Format;
use crate::text::{Style, Text, has_event};
use crate::{Import, ImportError, Input, Options};

pub(super) struct PerfScript;

impl Format for PerfScript {
    fn name(&self) -> &'static str {
        "perf-script"
    }

    fn written_by(&self) -> &'static str {
        "perf script"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        has_event(Style::Perf, head)
    }

    fn open(&self, input: Input, options: &Options) -> Result<Box<dyn Import>, ImportError> {
        let path = input.path().to_owned();
        Ok(Box::new(Text::new(Style::Perf, &path, input, options)))
    }
}
