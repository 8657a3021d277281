//! Predictions: how well a recording is simulated, and what changes would do.

mod json;
mod text;

pub use json::WhatIfDocument;
pub use text::whatif_text;

use tardy_whatif::{Baseline, Tried};

/// What was asked of a recording, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Predictions<'a> {
    /// The recorded system, simulated as it was.
    pub baseline: &'a Baseline,
    /// The same without what a hypervisor took, where that is told apart: what is shown then.
    pub apart: Option<&'a Baseline>,
    /// The changes, the best first.
    pub tried: &'a [Tried],
    /// How many are shown; the rest is counted.
    pub shown: usize,
}
