//! oslat's `--json`, of rt-tests 2.x.

use super::Format;
use super::oslat::settle;
use super::row::{Filled, Histograms};
use super::rt_tests_json::{Document, has_keys};
use crate::{ImportError, Input};

pub(super) struct OslatJson;

impl Format for OslatJson {
    fn name(&self) -> &'static str {
        "oslat-json"
    }

    fn written_by(&self) -> &'static str {
        "oslat --json"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        has_keys(head, &["rt_test_version:", "freq", "duration"])
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let document = Document::read(input, self.name())?;
        let mut histograms = document.histograms("oslat", 1_000);
        let mut filled = Filled::default();
        for (number, thread) in document.threads()? {
            // A bin is called by its upper edge.
            let mut row = document.row(number, thread, (1_000, 1), &mut filled)?;
            if let Some(cpu) = row.cpu {
                row.name = format!("CPU {cpu}");
            }
            histograms.rows.push(row);
        }
        settle(&mut histograms);
        Ok(histograms)
    }
}
