//! What to do.

use serde::Serialize;
use tardy_explain::Advice;

#[derive(Debug, Serialize)]
pub(super) struct AdviceDocument<'a> {
    cause: &'static str,
    text: &'a str,
    command: Option<&'a str>,
    /// As `tardy fix --only` takes them, the one that is meant first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<String>,
    gain: f64,
    worst_gain: f64,
}

impl<'a> From<&'a Advice> for AdviceDocument<'a> {
    fn from(advice: &'a Advice) -> Self {
        Self {
            cause: advice.cause.0,
            text: &advice.text,
            command: advice.command.as_deref(),
            changes: advice.changes.iter().map(ToString::to_string).collect(),
            gain: advice.gain,
            worst_gain: advice.worst_gain,
        }
    }
}
