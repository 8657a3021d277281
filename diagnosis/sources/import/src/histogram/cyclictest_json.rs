//! cyclictest's `--json`, of rt-tests 2.x. It leaves out what lies above the bins: that is the number
//! of cycles less what the bins hold. Without `-h` there are no bins at all.

use super::Format;
use super::row::{Filled, Histograms};
use super::rt_tests_json::{Document, has_keys};
use crate::{ImportError, Input};

pub(super) struct CyclictestJson;

impl Format for CyclictestJson {
    fn name(&self) -> &'static str {
        "cyclictest-json"
    }

    fn written_by(&self) -> &'static str {
        "cyclictest --json"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        has_keys(head, &["rt_test_version:", "resolution_in_ns"])
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let document = Document::read(input, self.name())?;
        let unit_ns = match document.number("resolution_in_ns") {
            Some(0) => 1_000,
            Some(_) => 1,
            None => return Err(document.broken("it does not say whether it counts in µs or ns")),
        };
        let mut histograms = document.histograms("cyclictest", unit_ns);
        let mut filled = Filled::default();
        for (number, thread) in document.threads()? {
            let mut row = document.row(number, thread, (unit_ns, 0), &mut filled)?;
            let cycles = thread.get("cycles").and_then(serde_json::Value::as_u64);
            let cycles = cycles.ok_or_else(|| {
                document.broken(format!("thread {number} has no number of `cycles`"))
            })?;
            if !row.is_countable() {
                return Err(document.broken(format!("thread {number} counts to over 2^64")));
            }
            row.count = cycles;
            row.over = cycles.saturating_sub(row.binned());
            if cycles == 0 {
                (row.min_ns, row.mean_ns, row.max_ns) = (None, None, None);
            }
            histograms.rows.push(row);
        }
        let empty = histograms.rows.iter().all(|row| row.bins.is_empty());
        if empty && histograms.rows.iter().any(|row| row.count > 0) {
            histograms.notes.push(
                "it has no bins, so there are no percentiles: cyclictest counts them only with -h"
                    .to_owned(),
            );
        }
        Ok(histograms)
    }
}
