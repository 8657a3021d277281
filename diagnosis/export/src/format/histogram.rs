//! The wakeups' latencies as cyclictest writes a histogram: one column per thread, bins of 1 µs.
//!
//! The form has no room for names; lines that begin with `#` at its end tell whose columns they are.

use crate::latencies::Latencies;
use crate::output::Output;
use crate::{About, Export, ExportError, Format};
use std::path::Path;
use tardy_explain::{Explanation, Named};
use tardy_stats::histfile;

pub(super) struct CyclictestHistogram;

impl Format for CyclictestHistogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["hist"]
    }

    fn meaning(&self) -> &'static str {
        "latencies of each thread in bins of 1 µs, as cyclictest --histfile writes them"
    }

    fn create(&self, path: &Path, _: &About) -> Result<Box<dyn Export>, ExportError> {
        Ok(Box::new(File { out: Output::create(path)?, latencies: Latencies::default() }))
    }
}

struct File {
    out: Output,
    latencies: Latencies,
}

impl Export for File {
    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.latencies.wakeup(wakeup);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        let victims = self.latencies.victims();
        self.out.put(|out| {
            histfile::write(&mut *out, self.latencies.histograms(), true)?;
            for (number, victim) in victims.iter().enumerate() {
                let name: String =
                    victim.name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
                match victim.pid {
                    Some(pid) => writeln!(out, "# Thread {number} is {name} ({pid})")?,
                    None => writeln!(out, "# Thread {number} is {name}")?,
                }
            }
            Ok(())
        })?;
        self.out.finish()
    }
}
