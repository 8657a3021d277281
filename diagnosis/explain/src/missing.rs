//! Events that are missing: told of as a loss, or noticed by a task that should not be current.

use crate::explainer::{Explainer, Sink};
use crate::finished::Finished;
use tardy_model::event::Loss;
use tardy_model::{Culprit, TaskId};

impl<S: Sink> Explainer<S> {
    pub(crate) fn loss(&mut self, cpu: usize, time_ns: u64, loss: Loss) {
        self.summary.loss(&loss);
        self.cpus[cpu].forget(loss.since_ns);
        self.touch(loss.since_ns, time_ns);
    }

    /// Events are missing on a CPU without a loss told of.
    pub(crate) fn gap(&mut self, since_ns: u64, time_ns: u64, task: TaskId) {
        let label = self.labels.id(Culprit::Task(task));
        self.summary.gap(time_ns.saturating_sub(since_ns), label);
        self.touch(since_ns, time_ns);
    }

    /// What lies between these times may not be all that there was.
    fn touch(&mut self, since_ns: u64, time_ns: u64) {
        // Those that wait are many and a gap is short: only they matter that were still on their way.
        let lately = self.pending.iter_mut().rev().take_while(|last| last.at_ns >= since_ns);
        for Finished { wakeup, .. } in lately {
            let end_ns = wakeup.expiry_ns + wakeup.lateness_ns;
            // A wakeup begins with its arm, which may be long before the expiry and be lost; that
            // changes nothing of its balance, which begins at the expiry.
            if wakeup.expiry_ns <= time_ns && end_ns >= since_ns {
                wakeup.touched_by_loss = true;
            }
        }
        self.summary.lost_until(time_ns);
    }
}
