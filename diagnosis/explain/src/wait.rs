//! A wait before the victim is back: for what, who has it, and what that one did meanwhile.

use crate::threads::{Change, RunState, Threads};
use tardy_followers::{Activity, Cpu};
use tardy_model::event::TaskState;
use tardy_model::{BlockedOn, CpuId, Culprit, Link, StretchKind, TaskId};

/// How deep a chain of holders, each waiting for the next, is followed.
const HOLDERS_MAX: usize = 16;

/// What a victim waits for.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    state: TaskState,
    pub(crate) on: BlockedOn,
    /// Who has what it waits for, who has what that one waits for, and so on.
    holders: Vec<TaskId>,
    /// Who ended the wait, where a task did; who had ended that one's own wait within this one, and so on.
    ended_by: Vec<TaskId>,
}

/// A part of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<'a> {
    /// What the CPU did that mattered.
    pub(crate) activity: &'a Activity,
    pub(crate) cpu: CpuId,
    /// Who had to do something, or kept that one from doing it.
    pub(crate) by: Culprit,
}

impl Wait {
    pub(crate) fn new(state: TaskState, on: BlockedOn, holders: &[TaskId]) -> Self {
        // Who is stopped waits for nobody's lock, whatever it had asked for.
        let is_stop = state == TaskState::Stopped;
        let kept = if is_stop { 0 } else { holders.len().min(HOLDERS_MAX) };
        Self { state, on, holders: holders[..kept].to_vec(), ended_by: Vec::new() }
    }

    /// Whether the victim is stopped.
    pub(crate) fn is_stop(&self) -> bool {
        self.state == TaskState::Stopped
    }

    pub(crate) fn holders(&self) -> &[TaskId] {
        &self.holders
    }

    /// While the victim waits, `by` lends `target` a priority: if it holds up the victim, it waits
    /// itself, and the chain is longer by one.
    pub(crate) fn boosted(&mut self, by: TaskId, target: TaskId) {
        let known = self.holders.contains(&target);
        if self.holders.last() == Some(&by) && !known && self.holders.len() < HOLDERS_MAX {
            self.holders.push(target);
        }
    }

    /// It ends, by `chain`: who woke the victim, who had woken that one, and so on. Of those only who did
    /// so since `since_ns`, when the wait began, has to do with it: the one before waited for them.
    pub(crate) fn ends(&mut self, since_ns: u64, chain: &[Link]) {
        self.ended_by.clear();
        for link in chain.iter().take_while(|link| link.time_ns >= since_ns) {
            match link.by {
                Culprit::Task(task) if !link.started => self.ended_by.push(task),
                _ => return,
            }
        }
    }

    pub(crate) fn ended_by_whom(&self) -> TaskId {
        self.ended_by.first().copied().unwrap_or(TaskId::IDLE)
    }

    /// All who have something that the victim, or one of them, waits for.
    pub(crate) fn everybody(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.holders.iter().copied().chain([self.first_holder()])
    }

    /// Who has what the victim waits for: whoever is lent a priority for it, else who ended the wait.
    fn first_holder(&self) -> TaskId {
        self.holders.first().copied().unwrap_or_else(|| self.ended_by_whom())
    }

    pub(crate) fn kind(&self) -> StretchKind {
        StretchKind::Blocked { state: self.state, on: self.on, holder: self.first_holder() }
    }

    /// Calls `piece` for each thing that held the victim up from `from_ns` to `to_ns`.
    pub(crate) fn between<'a>(
        &self,
        from_ns: u64,
        to_ns: u64,
        threads: &Threads,
        cpus: &'a [Cpu],
        mut piece: impl FnMut(u64, u64, Held<'a>),
    ) {
        let holders = match (&self.holders[..], &self.ended_by[..]) {
            ([], []) => &[TaskId::IDLE],
            // Who led to its being made to go on has not stopped it.
            ([], [first, ..]) if self.is_stop() => &[*first],
            ([], ended_by) => ended_by,
            (holders, _) => holders,
        };
        follow(holders, from_ns, to_ns, threads, cpus, &mut piece);
    }
}

/// Follows a chain of holders: the first that does not sleep is the one that matters.
fn follow<'a>(
    holders: &[TaskId],
    from_ns: u64,
    to_ns: u64,
    threads: &Threads,
    cpus: &'a [Cpu],
    piece: &mut dyn FnMut(u64, u64, Held<'a>),
) {
    let Some((holder, next)) = holders.split_first() else { return };
    let by = match *holder {
        TaskId::IDLE => Culprit::Nobody,
        holder => Culprit::Task(holder),
    };
    threads.between(*holder, from_ns, to_ns, |start_ns, stop_ns, change| match change {
        Some(Change { doing: RunState::Runs | RunState::Waits, cpu, .. })
            if usize::from(cpu.0) < cpus.len() =>
        {
            let mut walk = cpus[usize::from(cpu.0)].walk(start_ns);
            walk.to(stop_ns, |start_ns, stop_ns, activity| {
                // It is about to run, or what its CPU does is not known.
                let unnamed = *activity == Activity::Unknown || activity.is_idle();
                let by = if unnamed { by } else { activity.culprit() };
                piece(start_ns, stop_ns, Held { activity, cpu, by });
            });
        }
        Some(Change { doing: RunState::Sleeps(_), .. }) if !next.is_empty() => {
            follow(next, start_ns, stop_ns, threads, cpus, piece);
        }
        change => {
            let cpu = change.map_or(CpuId(0), |change| change.cpu);
            piece(start_ns, stop_ns, Held { activity: &Activity::Unknown, cpu, by });
        }
    });
}
