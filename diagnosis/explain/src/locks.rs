//! What events tell of locks: calls for them, and priorities lent for their sake.

use crate::cpu::Cpu;
use crate::explainer::{Explainer, Sink, place_of};
use crate::piece::Activity;
use crate::story::Story;
use crate::threads::Doing;
use tardy_model::event::{Call, Priority, SyscallEnter, TaskInfo, futex};
use tardy_model::{Boost, CpuId, Event, Prio, TaskId};

/// What a lock has in its word while somebody waits for it, by glibc, musl and Rust alike: a
/// `FUTEX_WAIT` for this value is a mutex', for any other a condition's, a semaphore's, a counter's.
const CONTENDED: u16 = 2;

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

fn purpose(call: SyscallEnter) -> Purpose {
    if call.call != Call::Futex {
        return Purpose::Other;
    }
    match futex::operation(call.op) {
        futex::LOCK_PI | futex::LOCK_PI2 => Purpose::Lock,
        futex::WAIT | futex::WAIT_BITSET if call.value == CONTENDED => Purpose::Lock,
        futex::WAIT_REQUEUE_PI => Purpose::Condition,
        futex::CMP_REQUEUE_PI => Purpose::Requeue,
        _ => Purpose::Other,
    }
}

impl<S: Sink> Explainer<S> {
    pub(crate) fn enter(&mut self, event: &Event, call: SyscallEnter) {
        self.threads.enter(event.time_ns, event.task, call);
        match purpose(call) {
            Purpose::Lock => {
                let prio = self.prios.of(event.task).unwrap_or(Prio::UNKNOWN);
                let Some(victim) = self.victims.get_mut(&event.task) else { return };
                // Where its returns are not told, the call would have no end.
                if victim.info.has(TaskInfo::SYSCALLS) && victim.story.is_none() {
                    let story = Story::of_lock(event.time_ns, event.task, prio, event.cpu, call);
                    self.begin(event.task, story);
                }
            }
            Purpose::Condition => {
                if let Some(victim) = self.victims.get_mut(&event.task) {
                    victim.waits_for = Some(call);
                }
            }
            Purpose::Requeue => self.requeue(event, call.argument),
            Purpose::Other => {}
        }
    }

    /// Who waits for the condition at `address` waits for its lock from now on, and that is when its
    /// lateness begins.
    fn requeue(&mut self, event: &Event, address: u64) {
        let waiting: Vec<TaskId> = self
            .victims
            .iter()
            .filter(|(_, victim)| {
                let waits = victim.waits_for.is_some_and(|call| call.argument == address);
                waits && victim.story.is_none()
            })
            .map(|(task, _)| *task)
            .collect();
        for task in waiting {
            let Some(change) = self.threads.now(task) else { continue };
            let Doing::Sleeps(state) = change.doing else { continue };
            let prio = self.prios.of(task).unwrap_or(Prio::UNKNOWN);
            let Some(victim) = self.victims.get_mut(&task) else { continue };
            let Some(call) = victim.waits_for.take() else { continue };
            let mut story = Story::of_lock(event.time_ns, task, prio, change.cpu, call);
            story.requeued(event.time_ns, change.cpu, state);
            self.begin(task, story);
            self.blocked.retain(|blocked| *blocked != task);
            self.blocked.push(task);
        }
    }

    pub(crate) fn priority(&mut self, event: &Event, priority: Priority) {
        let Priority { target, old, new, released } = priority;
        // Of a release a source may not know the new priority; the next switch tells it.
        if !released || new != old {
            self.prios.set(target, new);
            for cpu in &mut self.cpus {
                cpu.reprioritise(event.time_ns, target, new);
            }
        }
        let boost = Boost {
            time_ns: event.time_ns,
            by: event.task,
            target,
            from: old,
            to: new,
            released,
            in_unlock: self.threads.is_unlocking(target),
            instead: self.in_place_of(target),
        };
        if !released {
            self.threads.boosts(event.task, target);
        }
        if !released && let Some(story) = self.story_of(event.task) {
            story.boost(boost);
        }
        for at in 0..self.blocked.len() {
            let task = self.blocked[at];
            if task != event.task
                && let Some(story) = self.story_of(task)
                && story.concerns(event.task, target)
            {
                story.boost(boost);
            }
        }
    }

    /// Who runs where `task` could.
    fn in_place_of(&self, task: TaskId) -> Option<TaskId> {
        let change = self.threads.now(task)?;
        if change.doing != Doing::Waits {
            return None;
        }
        match self.activity_of(change.cpu) {
            Activity::Task(other, _) if other != task => Some(other),
            _ => None,
        }
    }

    fn activity_of(&self, cpu: CpuId) -> Activity {
        self.cpus.get(place_of(cpu)).map_or(Activity::Unknown, Cpu::activity)
    }
}
