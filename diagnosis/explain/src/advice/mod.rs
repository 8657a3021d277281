//! What to do about it: for each cause that weighs enough, a sentence, and a command where one does it.

mod command;
mod kernel_threads;
pub(crate) mod softirq;
mod weight;

use weight::InCause;
pub use weight::Weight;

use crate::cause::{REGISTRY, UNEXPLAINED_AT, cause_at};
use crate::findings::Explanation;
use tardy_changes::Change;
use tardy_model::{Cause, Prio, TaskId};

/// A cause below both of these shares, of all lateness and of the worst wakeups', gets no advice: whoever
/// followed it would see no difference.
pub const SHARE_MIN: f64 = 0.05;
/// See [`SHARE_MIN`].
pub const WORST_SHARE_MIN: f64 = 0.10;

/// Nobody changes a system for fewer wakeups: there is no command then.
const WAKEUPS_MIN: u64 = 20;

/// What to do about one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Which.
    pub cause: Cause,
    /// What happens and what helps, in a sentence or two. Holds names from traces: data, whatever they are.
    pub text: String,
    /// A command for a shell that does it, where there is one, for root. It holds numbers and names of the
    /// stream: threads are there as long as they live.
    pub command: Option<String>,
    /// Changes that do it, the one that is meant first: each by itself is for this cause.
    pub changes: Vec<Change>,
    /// The share of all lateness that goes with it at best, 0–1. It is a bound and no forecast: where this
    /// waiting ends, some other may begin.
    pub gain: f64,
    /// The same of the worst wakeups' lateness.
    pub worst_gain: f64,
}

/// What a cause says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy {
    /// [`Advice::text`].
    pub text: String,
    /// [`Advice::command`].
    pub command: Option<String>,
    /// [`Advice::changes`].
    pub changes: Vec<Change>,
    /// It helps against no more than this of the cause, in nanoseconds.
    pub at_most_ns: Option<u64>,
}

impl Remedy {
    /// Without a command.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With a command where there is one.
    pub(crate) fn with(self, command: Option<String>) -> Self {
        Self { command, ..self }
    }

    /// With changes that do it, as they are written. Names of traces that no change can be for are left out.
    pub(crate) fn by<T: AsRef<str>>(self, changes: impl IntoIterator<Item = T>) -> Self {
        let changes = changes.into_iter().filter_map(|text| text.as_ref().parse().ok()).collect();
        Self { changes, ..self }
    }

    /// Against one group alone, not against all of the cause.
    pub(crate) fn against(self, group: &InCause<'_>) -> Self {
        Self { at_most_ns: Some(group.ns), ..self }
    }
}

/// Advises on an explanation whose culprits are grouped. Where it is about one wakeup, who made that one late comes
/// first.
pub(crate) fn advise(
    explanation: &mut Explanation,
    prio: &dyn Fn(TaskId) -> Prio,
    about: Option<(TaskId, u64)>,
) {
    let advice: Vec<Advice> = (0..UNEXPLAINED_AT)
        .filter_map(|at| {
            let finding = explanation.causes.iter().find(|found| found.cause == cause_at(at))?;
            if finding.share < SHARE_MIN && finding.worst_share < WORST_SHARE_MIN {
                return None;
            }
            let weight = Weight::new(explanation, finding, prio, about);
            let remedy = REGISTRY[at].advice(&weight)?;
            let part = remedy.at_most_ns.map_or(1.0, |ns| ns as f64 / finding.ns.max(1) as f64);
            Some(Advice {
                cause: finding.cause,
                text: remedy.text,
                command: remedy.command.filter(|_| explanation.latencies.count() >= WAKEUPS_MIN),
                changes: remedy.changes,
                gain: finding.share * part,
                worst_gain: finding.worst_share * part,
            })
        })
        .collect();
    explanation.advice = advice;
    explanation.advice.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    for found in &mut explanation.causes {
        let its = explanation.advice.iter().find(|advice| advice.cause == found.cause);
        found.advice = its.map(Advice::line);
    }
}

impl Advice {
    /// The sentence with the command, in one line.
    pub fn line(&self) -> String {
        match &self.command {
            Some(command) => format!("{} {command}", self.text),
            None => self.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
