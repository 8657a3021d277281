//! Where lateness went, as a flame graph: an SVG that any browser shows, by the inferno crate.

use crate::cause_stacks::CauseStacks;
use crate::output::Output;
use crate::{About, Export, ExportError, Format};
use inferno::flamegraph::{Options, from_lines};
use std::io;
use std::path::Path;
use tardy_explain::{Explanation, Named};

pub(super) struct FlameGraph;

impl Format for FlameGraph {
    fn name(&self) -> &'static str {
        "flamegraph"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["svg"]
    }

    fn meaning(&self) -> &'static str {
        "where lateness went, as a flame graph of victims, causes, culprits by their groups, and functions (SVG)"
    }

    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError> {
        let out = Output::create(path)?;
        // XML has no control characters, and terminals obey them.
        let host = about.host.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        Ok(Box::new(File { out, host, stacks: CauseStacks::default() }))
    }
}

struct File {
    out: Output,
    host: String,
    stacks: CauseStacks,
}

impl Export for File {
    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.stacks.wakeup(wakeup);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        let lines = self.stacks.lines();
        if lines.is_empty() {
            return Err(ExportError::Needs(
                "there is no wakeup to draw: choose threads with --pid, --comm or --all".to_owned(),
            ));
        }
        let mut options = Options::default();
        options.title = if self.host.is_empty() {
            "Why threads were late".to_owned()
        } else {
            format!("Why threads were late on {}", self.host)
        };
        "ns".clone_into(&mut options.count_name);
        "Thread, cause, culprit or function:".clone_into(&mut options.name_type);
        // The same recording gives the same picture.
        options.hash = true;
        let mut svg = Vec::new();
        self.out.put(|out| {
            from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
                .map_err(io::Error::other)?;
            out.write_all(&svg)
        })?;
        self.out.finish()
    }
}
