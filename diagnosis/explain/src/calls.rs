//! Calls for locks, and priorities lent for their sake.

use crate::machine::Reason;
use crate::sleep::waits_for_lock;
use crate::story::Story;
use crate::threads::{RunState, Target, Threads};
use crate::victims::{Ended, Victims};
use tardy_followers::Followers;
use tardy_model::event::{Call, Priority, SyscallEnter, TaskInfo, futex};
use tardy_model::{Boost, Event, TaskId};

/// What a call has to do with locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It waits until it has a lock.
    Lock,
    /// It waits for a condition, then for the lock that goes with it.
    Condition,
    /// It makes who waits for a condition wait for its lock instead.
    Requeue,
    Other,
}

/// What a call returns that has waited for a lock and comes back without it: its time is up (`-ETIMEDOUT`), or a signal came
/// (`-EINTR`, and what restarts it then, `include/linux/errno.h`).
const ENDED_WITHOUT: [i64; 6] = [-110, -4, -512, -513, -514, -516];

fn purpose(call: SyscallEnter) -> Purpose {
    if call.call != Call::Futex {
        return Purpose::Other;
    }
    match futex::operation(call.op) {
        _ if waits_for_lock(call) => Purpose::Lock,
        futex::WAIT_REQUEUE_PI => Purpose::Condition,
        futex::CMP_REQUEUE_PI => Purpose::Requeue,
        _ => Purpose::Other,
    }
}

impl Victims {
    /// The event's task enters a call.
    pub(crate) fn enters(
        &mut self,
        event: &Event,
        call: SyscallEnter,
        followers: &Followers,
        threads: &Threads,
    ) {
        if let Some(victim) = self.get_mut(event.task)
            && victim.call.take().is_some_and(|before| before.has_waited())
        {
            self.discard(Reason::ReturnMissing);
        }
        match purpose(call) {
            Purpose::Lock => {
                let prio = followers.prio(event.task);
                let Some(victim) = self.get_mut(event.task) else { return };
                // Where its returns are not told, the call would have no end.
                if victim.info.has(TaskInfo::SYSCALLS) {
                    let mut story = victim.ended_call.take().unwrap_or_default();
                    let target = Target { task: event.task, prio, cpu: event.cpu };
                    story.begin_lock(event.time_ns, target, call);
                    victim.call = Some(story);
                }
            }
            Purpose::Condition => {
                if let Some(victim) = self.get_mut(event.task) {
                    victim.waits_for = Some(call);
                }
            }
            Purpose::Requeue => self.requeues(event, call.argument, followers, threads),
            Purpose::Other => {}
        }
    }

    /// The event's task returns from its call.
    pub(crate) fn returns(&mut self, event: &Event, result: i64) -> Option<Ended> {
        let victim = self.get_mut(event.task)?;
        victim.waits_for = None;
        victim.ended_call = victim.call.take();
        // A call that got its lock at once is nothing to tell.
        let waited = victim.ended_call.as_ref().is_some_and(|call| call.has_waited());
        self.blocked.retain(|blocked| *blocked != event.task);
        if waited && ENDED_WITHOUT.contains(&result) {
            self.discard(Reason::LockNotTaken);
            return None;
        }
        let ended = Ended { task: event.task, end_ns: event.time_ns, to_user: true, is_call: true };
        waited.then_some(ended)
    }

    /// Who waits for the condition at `address` waits for its lock from now on.
    fn requeues(&mut self, event: &Event, address: u64, followers: &Followers, threads: &Threads) {
        let waits = |call: &SyscallEnter| call.argument == address;
        let waiting: Vec<TaskId> = self
            .iter()
            .filter(|victim| victim.waits_for.as_ref().is_some_and(waits) && victim.call.is_none())
            .map(|victim| victim.task)
            .collect();
        for task in waiting {
            let Some(change) = threads.now(task) else { continue };
            let RunState::Sleeps(state) = change.doing else { continue };
            let Some(victim) = self.get_mut(task) else { continue };
            let Some(call) = victim.waits_for.take() else { continue };
            let mut story = Box::<Story>::default();
            let target = Target { task, prio: followers.prio(task), cpu: change.cpu };
            story.begin_lock(event.time_ns, target, call);
            story.requeued(event.time_ns, change.cpu, state);
            victim.call = Some(story);
            self.is_blocked(task);
        }
    }

    /// A priority is lent, or given back.
    pub(crate) fn boosted(
        &mut self,
        event: &Event,
        priority: Priority,
        followers: &Followers,
        threads: &Threads,
    ) {
        let Priority { target, old, new, released } = priority;
        let boost = Boost {
            time_ns: event.time_ns,
            by: event.task,
            target,
            from: old,
            to: new,
            released,
            in_unlock: threads.is_unlocking(target),
            instead: in_place_of(target, followers, threads),
        };
        if !released {
            self.each_story(event.task, |story| story.boost(boost));
        }
        for at in 0..self.blocked.len() {
            let task = self.blocked[at];
            if task != event.task {
                self.each_story(task, |story| {
                    if story.concerns(event.task, target) {
                        story.boost(boost);
                    }
                });
            }
        }
    }
}

/// Who runs where `task` could.
fn in_place_of(task: TaskId, followers: &Followers, threads: &Threads) -> Option<TaskId> {
    let change = threads.now(task)?;
    if change.doing != RunState::Waits {
        return None;
    }
    let (other, _) = followers.cpu(change.cpu)?.activity().thread()?;
    (other != task).then_some(other)
}
