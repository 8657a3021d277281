//! What is made of sums when the stream has ended: groups of culprits, and what to do.

use crate::advice;
use crate::findings::Explanation;
use crate::group;
use crate::label::Labels;
use tardy_model::event::TaskInfo;
use tardy_model::{Prio, TaskId};

/// The share of all lateness below which a story is told only where it is that of one of the worst wakeups.
const STORY_SHARE_MIN: f64 = 0.02;

/// Completes an explanation whose sums are made. `prio` tells the priority at which a task was last seen.
pub(crate) fn close(explanation: &mut Explanation, labels: &Labels, prio: &dyn Fn(TaskId) -> Prio) {
    group::group_all(explanation, labels);
    for victim in &mut explanation.victims {
        let Some(task) = victim.label.pid.map(TaskId) else { continue };
        victim.process = labels.process(task).map(|process| process.0);
        victim.prio = Some(prio(task)).filter(|prio| prio.is_known());
        victim.measures = labels.info(task).has(TaskInfo::MARKS);
        victim.has_exited = labels.has_exited(task);
    }
    advice::advise(explanation, prio);
    drop_rare_stories(explanation);
}

/// A story that took next to nothing is none, however much of one single wakeup it took, unless that is one of
/// the worst.
fn drop_rare_stories(explanation: &mut Explanation) {
    let worst_from_ns = explanation.worst_group.from_ns;
    explanation.patterns.retain(|finding| {
        let found = &finding.found;
        let in_worst = found.worst.as_ref().is_some_and(|worst| worst.lateness_ns >= worst_from_ns);
        found.share >= STORY_SHARE_MIN || in_worst || !found.watched.is_empty()
    });
}
