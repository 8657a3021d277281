//! What is made of sums when the stream has ended: groups of culprits, and what to do.

use crate::advice;
use crate::findings::Explanation;
use crate::group;
use crate::label::Labels;
use tardy_model::event::TaskInfo;
use tardy_model::{Prio, TaskId};

/// Completes an explanation whose sums are made. `prio` tells the priority at which a task was last seen, `about` is
/// the wakeup that it is about.
pub(crate) fn close(
    explanation: &mut Explanation,
    labels: &Labels,
    prio: &dyn Fn(TaskId) -> Prio,
    about: Option<(TaskId, u64)>,
) {
    group::group_all(explanation, labels);
    for victim in &mut explanation.victims {
        let Some(task) = victim.label.pid.map(TaskId) else { continue };
        victim.process = labels.process(task).map(|process| process.0);
        victim.prio = Some(prio(task)).filter(|prio| prio.is_known());
        victim.measures = labels.info(task).has(TaskInfo::MARKS);
        victim.has_exited = labels.has_exited(task);
    }
    advice::advise(explanation, prio, about);
}
