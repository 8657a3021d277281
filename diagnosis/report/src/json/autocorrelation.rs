//! How much neighbours in time depend on each other, the same in every document.

use serde::Serialize;
use tardy_stats::Dependence;

/// What [`Dependence`] tells.
#[derive(Debug, Serialize)]
pub(super) struct AutocorrelationDocument {
    lag1: f64,
    tau: f64,
    tau_error: f64,
    block: u64,
    is_plateau: bool,
    effective_samples: f64,
}

impl From<Dependence> for AutocorrelationDocument {
    fn from(found: Dependence) -> Self {
        Self {
            lag1: found.lag_1,
            tau: found.tau,
            tau_error: found.tau_error,
            block: found.block,
            is_plateau: found.is_plateau,
            effective_samples: found.effective_count(),
        }
    }
}
