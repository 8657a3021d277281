//! What to do.

use serde::Serialize;
use tardy_explain::Advice;

#[derive(Debug, Serialize)]
pub(super) struct AdviceDocument<'a> {
    cause: &'static str,
    text: &'a str,
    command: Option<&'a str>,
    gain: f64,
    worst_gain: f64,
}

impl<'a> From<&'a Advice> for AdviceDocument<'a> {
    fn from(advice: &'a Advice) -> Self {
        Self {
            cause: advice.cause.0,
            text: &advice.text,
            command: advice.command.as_deref(),
            gain: advice.gain,
            worst_gain: advice.worst_gain,
        }
    }
}
