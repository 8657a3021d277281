//! `rtla osnoise hist`: per CPU, how long the system took it away from a loop that measures. What is
//! below the tool's threshold is not counted.

use super::row::Histograms;
use super::{Format, rtla};
use crate::{ImportError, Input};

pub(super) struct RtlaOsnoise;

impl Format for RtlaOsnoise {
    fn name(&self) -> &'static str {
        "rtla-osnoise"
    }

    fn written_by(&self) -> &'static str {
        "rtla osnoise hist"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        rtla::recognises(head, "# RTLA osnoise histogram")
    }

    fn read(&self, input: Input) -> Result<Histograms, ImportError> {
        let mut histograms = rtla::read(input, self.name(), self.written_by(), &["CPU"])?;
        // The kernel counts them in bins already; the tool sees where those begin.
        histograms.notes.push(
            "minimum, mean and maximum are computed from the lower edges of the bins, as rtla \
                osnoise does"
                .to_owned(),
        );
        Ok(histograms)
    }
}
