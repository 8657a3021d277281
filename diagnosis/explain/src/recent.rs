//! What one thread did lately: where it ran, waited and slept.

use std::collections::VecDeque;
use tardy_model::event::TaskState;
use tardy_model::{CpuId, NameId, Prio};

/// Switches and wakings kept of each thread. Where that was too little once, [`MORE_CHANGES_MAX`] are kept.
pub(crate) const CHANGES_MAX: usize = 16;

/// Switches and wakings kept of a thread of which more was asked than was kept: one that is far behind its timer's
/// expiry, or whose lock another one waits for. What lies further back is not known.
pub(crate) const MORE_CHANGES_MAX: usize = 1 << 12;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It is on a CPU.
    Runs,
    /// It could be, and waits for a CPU.
    Waits,
    /// It sleeps.
    Sleeps(TaskState),
}

/// What a thread does from a time on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) since_ns: u64,
    pub(crate) doing: RunState,
    /// Where it runs, or is queued, or ran last.
    pub(crate) cpu: CpuId,
    /// At which priority, if it runs or waits and that is sure.
    pub(crate) prio: Prio,
    /// Where in the kernel it sleeps, where a stack tells.
    pub(crate) stack: NameId,
}

/// The last [`CHANGES_MAX`] changes, and those before them where they are wanted, oldest first.
#[derive(Debug)]
pub(crate) struct Recent {
    changes: [Change; CHANGES_MAX],
    /// Ever put in.
    count: usize,
    /// Those that `changes` had no room for any more, if they are kept.
    older: Option<VecDeque<Change>>,
    has_forgotten: bool,
}

impl Recent {
    /// Of a thread of which nothing is known.
    pub(crate) fn new() -> Self {
        let (doing, cpu, prio) = (RunState::Waits, CpuId(0), Prio::UNKNOWN);
        let nowhere = Change { since_ns: 0, doing, cpu, prio, stack: NameId::NONE };
        Self { changes: [nowhere; CHANGES_MAX], count: 0, older: None, has_forgotten: false }
    }

    /// Whether what it did at a time is forgotten.
    pub(crate) fn has_forgotten(&self, ns: u64) -> bool {
        self.has_forgotten && self.iter().next().is_some_and(|oldest| oldest.since_ns > ns)
    }

    /// Keeps more from now on. Whether it did not before.
    pub(crate) fn keeps_more(&mut self) -> bool {
        let did_not = self.older.is_none();
        if did_not {
            self.older = Some(VecDeque::new());
        }
        did_not
    }

    /// Keeps no more than usual. Whether it did.
    pub(crate) fn keeps_no_more(&mut self) -> bool {
        self.older.take().is_some()
    }

    pub(crate) fn push(&mut self, change: Change) {
        let place = &mut self.changes[self.count % CHANGES_MAX];
        let oldest = std::mem::replace(place, change);
        self.count += 1;
        if self.count > CHANGES_MAX {
            self.push_older(oldest);
        }
    }

    fn push_older(&mut self, oldest: Change) {
        let Some(older) = &mut self.older else { return self.has_forgotten = true };
        if older.len() == MORE_CHANGES_MAX - CHANGES_MAX {
            older.pop_front();
            self.has_forgotten = true;
        }
        older.push_back(oldest);
    }

    pub(crate) fn last(&self) -> Option<Change> {
        let last = self.count.checked_sub(1)?;
        Some(self.changes[last % CHANGES_MAX])
    }

    pub(crate) fn before_last(&self) -> Option<Change> {
        let before = self.count.checked_sub(2)?;
        Some(self.changes[before % CHANGES_MAX])
    }

    /// It has a priority, at which it did not wait: since when it has it is not known.
    pub(crate) fn is_not_sure(&mut self, prio: Prio) {
        if let Some(last) = self.count.checked_sub(1)
            && let Change { doing: RunState::Waits, prio: before, .. } =
                &mut self.changes[last % CHANGES_MAX]
            && *before != prio
        {
            *before = Prio::UNKNOWN;
        }
    }

    /// A stack of the last sleep comes, when that is over or about to be.
    /// Yields when the sleep began.
    pub(crate) fn tells_sleep(&mut self, stack: NameId) -> Option<u64> {
        let from = self.count.saturating_sub(CHANGES_MAX);
        let mut since_ns = None;
        for at in (from..self.count).rev() {
            let change = &mut self.changes[at % CHANGES_MAX];
            match change.doing {
                RunState::Waits if since_ns.is_none() => {}
                RunState::Sleeps(_) => {
                    since_ns = Some(change.since_ns);
                    // One that was taken as it went to sleep has come before, and shows all of the way there.
                    if change.stack == NameId::NONE {
                        change.stack = stack;
                    }
                }
                _ => break,
            }
        }
        since_ns
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.since(0)
    }

    /// What is known from a time on; of what was before perhaps more than the last change.
    pub(crate) fn since(&self, ns: u64) -> impl DoubleEndedIterator<Item = &Change> {
        let from = self.count.saturating_sub(CHANGES_MAX);
        let lately = (from..self.count).map(|at| &self.changes[at % CHANGES_MAX]);
        let older = self.older.iter().flat_map(move |older| {
            let before = older.partition_point(|change| change.since_ns <= ns);
            older.range(before.saturating_sub(1)..)
        });
        older.chain(lately)
    }

    /// Where it slept for longest in a stretch of time: `NONE` where it slept for less than half of it, or no stack tells of
    /// a quarter.
    pub(crate) fn slept_in(&self, start_ns: u64, end_ns: u64) -> NameId {
        let (mut places, mut slept_ns, mut until_ns): (Vec<(NameId, u64)>, _, _) =
            (Vec::new(), 0_u64, u64::MAX);
        for change in self.iter().rev() {
            let ns = until_ns.min(end_ns).saturating_sub(change.since_ns.max(start_ns));
            if ns > 0 && matches!(change.doing, RunState::Sleeps(_)) {
                slept_ns = slept_ns.saturating_add(ns);
                match places.iter_mut().find(|(stack, _)| *stack == change.stack) {
                    _ if change.stack == NameId::NONE => {}
                    Some((_, sum_ns)) => *sum_ns = sum_ns.saturating_add(ns),
                    None => places.push((change.stack, ns)),
                }
            }
            if change.since_ns <= start_ns {
                break;
            }
            until_ns = change.since_ns;
        }
        let all_ns = end_ns.saturating_sub(start_ns);
        match places.into_iter().max_by_key(|(_, ns)| *ns) {
            Some((stack, ns)) if slept_ns >= all_ns / 2 && ns >= all_ns / 4 => stack,
            _ => NameId::NONE,
        }
    }
}
