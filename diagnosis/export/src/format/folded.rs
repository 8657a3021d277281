//! Where lateness went, as folded stacks: a line per victim, cause, group of culprits, culprit and functions of the
//! kernel with nanoseconds, as flamegraph.pl, inferno and speedscope read them.

use crate::cause_stacks::CauseStacks;
use crate::output::Output;
use crate::{About, Export, ExportError, Format};
use std::path::Path;
use tardy_explain::{Explanation, Named};

pub(super) struct Folded;

impl Format for Folded {
    fn name(&self) -> &'static str {
        "folded"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["folded"]
    }

    fn meaning(&self) -> &'static str {
        "where lateness went, as folded stacks for flame graphs: victim;cause;group;culprit;function ns"
    }

    fn create(&self, path: &Path, _: &About) -> Result<Box<dyn Export>, ExportError> {
        Ok(Box::new(File { out: Output::create(path)?, stacks: CauseStacks::default() }))
    }
}

struct File {
    out: Output,
    stacks: CauseStacks,
}

impl Export for File {
    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.stacks.wakeup(wakeup);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        self.out.put(|out| self.stacks.write(out))?;
        self.out.finish()
    }
}
