//! Histograms of all formats, of which one is found by content; and how traces' formats are found.

use super::Target;
use std::path::Path;
use tardy_import::{HEAD_BYTES, Input, formats, histogram};

pub(super) struct Histogram;

impl Target for Histogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn run(&self, bytes: &[u8]) -> usize {
        for format in formats() {
            let _ = format.recognises(&bytes[..bytes.len().min(HEAD_BYTES)]);
        }
        let input = Input::from_bytes(Path::new("input"), bytes.to_vec());
        match histogram::read(input) {
            Ok(histograms) => {
                assert!(histograms.rows.len() <= histogram::ROWS_MAX);
                let bins: usize = histograms.rows.iter().map(|row| row.bins.len()).sum();
                assert!(bins <= histogram::BINS_MAX);
                for row in &histograms.rows {
                    assert!(row.bins.values().all(|count| *count > 0), "empty bins are no bins");
                    let means = row.mean_ns.is_none_or(|mean| mean.is_finite() && mean >= 0.0);
                    assert!(means, "{:?}", row.mean_ns);
                }
                histograms.rows.len()
            }
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
                0
            }
        }
    }
}
