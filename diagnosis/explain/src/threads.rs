//! What every thread did lately: where it ran, in which call it is, whom it boosted, who woke it.

use crate::recent::Recent;
pub(crate) use crate::recent::{Change, RunState};
use crate::slots::Slots;
use std::collections::VecDeque;
use tardy_model::event::{Call, Stack, SyscallEnter, Taken, TaskState, futex};
use tardy_model::{CpuId, Culprit, Link, NameId, Prio, TaskId};

/// Threads of which this is kept, each below a kilobyte. Of those beyond nothing is known: who holds
/// a lock is then told by whom it wakes alone.
pub(crate) const THREADS_MAX: usize = 1 << 15;

/// Threads of which so much is kept, each up to 100 KB.
const MORE_THREADS_MAX: usize = 1 << 8;

/// Boosts kept that each thread gave since it last ran in user space or blocked.
const BOOSTED_MAX: usize = 8;

/// Threads that have ended and are still known, at most.
const GONE_MAX: usize = 1 << 10;

/// A call that gives the CPU away does so within this time. A switch that comes later is another one, and the
/// call's return was not told.
const YIELD_NS_MAX: u64 = 1_000_000;

/// A stack stands so long before the switch that it is of, by the stream's times.
const STACK_BEFORE_NS_MAX: u64 = 1_000;

/// How far a chain of wakers is followed back.
pub const CHAIN_MAX: usize = 8;

/// Which thread, at which priority, is put where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) task: TaskId,
    pub(crate) prio: Prio,
    pub(crate) cpu: CpuId,
}

/// Who woke whom, the latest link first.
#[derive(Debug)]
struct Chain {
    links: [Link; CHAIN_MAX],
    len: u8,
}

impl Chain {
    const EMPTY: Self = Self {
        links: [Link { time_ns: 0, by: Culprit::Nobody, started: false, work: NameId::NONE };
            CHAIN_MAX],
        len: 0,
    };

    fn links(&self) -> &[Link] {
        &self.links[..usize::from(self.len)]
    }

    /// Becomes a chain of this link and those that led to it.
    fn begin(&mut self, link: Link, before: Option<&Self>) {
        let before = before.map_or(&[] as &[Link], Self::links);
        let kept = before.len().min(CHAIN_MAX - 1);
        self.links[1..=kept].copy_from_slice(&before[..kept]);
        self.links[0] = link;
        self.len = 1 + kept as u8;
    }
}

#[derive(Debug)]
struct Thread {
    recent: Recent,
    /// The call it is in, since when.
    call: Option<(u64, SyscallEnter)>,
    /// Whom it boosted on the way into its present wait, in order: the holder of what it waits for
    /// first, then whom that one waits for.
    boosted: Vec<TaskId>,
    chain: Chain,
    /// What it works on, where it is a kworker.
    work: NameId,
    /// The stack with which it left the CPU last, and when.
    left: (u64, NameId),
}

#[derive(Debug, Default)]
pub(crate) struct Threads {
    places: Slots,
    threads: Vec<Thread>,
    /// Where threads that are gone were.
    free: Vec<usize>,
    /// Threads that have ended and are still known, oldest first.
    gone: VecDeque<TaskId>,
    /// Threads of which more was wanted, see [`MORE_THREADS_MAX`].
    with_more: usize,
    /// Events of threads of which nothing is kept, see [`THREADS_MAX`].
    pub(crate) left_out: u64,
}

impl Threads {
    fn get(&self, task: TaskId) -> Option<&Thread> {
        self.places.get(task).map(|at| &self.threads[at])
    }

    fn get_mut(&mut self, task: TaskId) -> Option<&mut Thread> {
        self.places.get(task).map(|at| &mut self.threads[at])
    }

    #[inline]
    fn of(&mut self, task: TaskId) -> Option<&mut Thread> {
        let place = self.place(task)?;
        Some(&mut self.threads[place])
    }

    /// Where a thread is kept; a new one gets a place, if there is any.
    #[inline]
    fn place(&mut self, task: TaskId) -> Option<usize> {
        if task == TaskId::IDLE {
            return None;
        }
        self.places.get(task).or_else(|| self.new_place(task))
    }

    #[cold]
    fn new_place(&mut self, task: TaskId) -> Option<usize> {
        let fresh = Thread {
            recent: Recent::new(),
            call: None,
            boosted: Vec::new(),
            chain: Chain::EMPTY,
            work: NameId::NONE,
            left: (0, NameId::NONE),
        };
        let place = if let Some(place) = self.free.pop() {
            self.threads[place] = fresh;
            place
        } else if self.threads.len() < THREADS_MAX {
            self.threads.push(fresh);
            self.threads.len() - 1
        } else {
            self.left_out += 1;
            return None;
        };
        self.places.set(task, place);
        Some(place)
    }

    /// It has ended. What it did is known for a while: somebody may have waited for it.
    pub(crate) fn gone(&mut self, task: TaskId) {
        if self.places.get(task).is_none() || self.gone.back() == Some(&task) {
            return;
        }
        self.gone.push_back(task);
        if self.gone.len() > GONE_MAX
            && let Some(oldest) = self.gone.pop_front()
            && let Some(place) = self.places.remove(oldest)
        {
            self.frees(place);
        }
    }

    /// Another thread can be where one was.
    fn frees(&mut self, place: usize) {
        self.with_more -= usize::from(self.threads[place].recent.keeps_no_more());
        self.free.push(place);
    }

    /// A new thread begins, perhaps with the id of one that is gone.
    pub(crate) fn begins(&mut self, task: TaskId) {
        if let Some(at) = self.gone.iter().rposition(|gone| *gone == task) {
            self.gone.remove(at);
            if let Some(place) = self.places.remove(task) {
                self.frees(place);
            }
        }
    }

    pub(crate) fn switch_out(&mut self, time_ns: u64, target: Target, state: TaskState) {
        let Target { task, prio, cpu } = target;
        let Some(thread) = self.of(task) else { return };
        let doing = match state {
            TaskState::Running => RunState::Waits,
            state => RunState::Sleeps(state),
        };
        let (left_ns, stack) = thread.left;
        let is_of_this = time_ns.saturating_sub(left_ns) <= STACK_BEFORE_NS_MAX;
        let stack = if is_of_this { stack } else { NameId::NONE };
        thread.recent.push(Change { since_ns: time_ns, doing, cpu, prio, stack });
    }

    /// Where a task is in the kernel as it is about to leave the CPU, or was while it slept: then yields when that
    /// sleep began.
    pub(crate) fn stack(&mut self, time_ns: u64, stack: Stack) -> Option<u64> {
        let thread = self.get_mut(stack.of)?;
        match stack.taken {
            Taken::Left => thread.left = (time_ns, stack.frames),
            Taken::Slept => return thread.recent.tells_sleep(stack.frames),
            Taken::Interrupted => {}
        }
        None
    }

    /// Where a thread slept for longest in a stretch of time, if it slept for most of it and stacks tell.
    pub(crate) fn slept_in(&self, task: TaskId, start_ns: u64, end_ns: u64) -> NameId {
        self.get(task).map_or(NameId::NONE, |thread| thread.recent.slept_in(start_ns, end_ns))
    }

    /// Where a thread sleeps at a time, if it does and a stack tells.
    pub(crate) fn sleeps_in(&self, task: TaskId, time_ns: u64) -> NameId {
        let Some(thread) = self.get(task) else { return NameId::NONE };
        match thread.recent.iter().rev().find(|change| change.since_ns <= time_ns) {
            Some(Change { doing: RunState::Sleeps(_), stack, .. }) => *stack,
            _ => NameId::NONE,
        }
    }

    pub(crate) fn switch_in(&mut self, time_ns: u64, target: Target) {
        let Target { task, prio, cpu } = target;
        if let Some(thread) = self.of(task) {
            let (doing, stack) = (RunState::Runs, NameId::NONE);
            thread.recent.is_not_sure(prio);
            thread.recent.push(Change { since_ns: time_ns, doing, cpu, prio, stack });
            thread.boosted.clear();
        }
    }

    pub(crate) fn migrate(&mut self, time_ns: u64, task: TaskId, cpu: CpuId) {
        if let Some(thread) = self.get_mut(task)
            && let Some(last) = thread.recent.last()
            && last.doing != RunState::Runs
        {
            thread.recent.push(Change { since_ns: time_ns, cpu, ..last });
        }
    }

    /// It has another priority from now on.
    pub(crate) fn reprioritised(&mut self, time_ns: u64, task: TaskId, prio: Prio) {
        let Some(recent) = self.get_mut(task).map(|thread| &mut thread.recent) else { return };
        if let Some(last @ Change { doing: RunState::Waits, .. }) = recent.last()
            && last.prio != prio
        {
            let has_changed = recent
                .before_last()
                .is_some_and(|before| (before.doing, before.cpu) == (RunState::Waits, last.cpu));
            if has_changed {
                // Those that are lent it again and again would fill all that is kept.
                recent.is_not_sure(prio);
            } else {
                recent.push(Change { since_ns: time_ns, prio, ..last });
            }
        }
    }

    /// A task is woken. `led_by` is the waker whose own waking led to this one.
    pub(crate) fn woken(&mut self, target: Target, link: Link, led_by: TaskId) {
        let Target { task, prio, cpu } = target;
        let Some(place) = self.place(task) else { return };
        let waker = self.places.get(led_by).filter(|waker| *waker != place);
        if let Some(waker) = waker {
            let pair =
                self.threads.get_disjoint_mut([place, waker]).expect("two places in the table");
            let [thread, waker] = pair;
            thread.chain.begin(Link { work: waker.work, ..link }, Some(&waker.chain));
        } else {
            self.threads[place].chain.begin(link, None);
        }
        let thread = &mut self.threads[place];
        if thread.recent.last().is_none_or(|last| last.doing != RunState::Runs) {
            let (since_ns, doing, stack) = (link.time_ns, RunState::Waits, NameId::NONE);
            thread.recent.push(Change { since_ns, doing, cpu, prio, stack });
        }
    }

    /// How a thread came to be woken the last time, the latest link first.
    pub(crate) fn chain(&self, task: TaskId) -> &[Link] {
        self.get(task).map_or(&[], |thread| thread.chain.links())
    }

    pub(crate) fn boosts(&mut self, by: TaskId, target: TaskId) {
        if let Some(thread) = self.of(by)
            && thread.boosted.len() < BOOSTED_MAX
        {
            thread.boosted.push(target);
        }
    }

    pub(crate) fn enter(&mut self, time_ns: u64, task: TaskId, call: SyscallEnter) {
        if let Some(thread) = self.of(task) {
            thread.call = Some((time_ns, call));
            thread.boosted.clear();
        }
    }

    pub(crate) fn exit(&mut self, task: TaskId) {
        if let Some(thread) = self.get_mut(task) {
            thread.call = None;
        }
    }

    pub(crate) fn works_on(&mut self, task: TaskId, work: NameId) {
        if let Some(thread) = self.of(task) {
            thread.work = work;
        }
    }

    /// Whether it has just entered a call that gives the CPU away: then it leaves the CPU for that, once.
    pub(crate) fn yields(&mut self, time_ns: u64, task: TaskId) -> bool {
        let Some(call) = self.get_mut(task).and_then(|thread| thread.call.as_mut()) else {
            return false;
        };
        let yields = call.1.call == Call::Yield;
        if yields {
            call.1.call = Call::Other;
        }
        yields && time_ns.saturating_sub(call.0) <= YIELD_NS_MAX
    }

    /// The futex call that it is in: since when, and which operation.
    pub(crate) fn futex_call(&self, task: TaskId) -> Option<(u64, u16)> {
        let (since_ns, call) = self.get(task)?.call?;
        (call.call == Call::Futex).then_some((since_ns, call.op))
    }

    /// The call that it is in, and since when.
    pub(crate) fn call(&self, task: TaskId) -> Option<(u64, SyscallEnter)> {
        self.get(task)?.call
    }

    /// Whether it is in a call that gives up a PI futex.
    pub(crate) fn is_unlocking(&self, task: TaskId) -> bool {
        let call = self.get(task).and_then(|thread| thread.call);
        call.is_some_and(|(_, call)| {
            call.call == Call::Futex && futex::operation(call.op) == futex::UNLOCK_PI
        })
    }

    /// The holders of a chain of locks, the first of which a thread waits for, by its own boosts.
    pub(crate) fn boosted(&self, task: TaskId) -> &[TaskId] {
        self.get(task).map_or(&[], |thread| &thread.boosted)
    }

    /// What a thread does now.
    pub(crate) fn now(&self, task: TaskId) -> Option<Change> {
        self.get(task)?.recent.last()
    }

    /// Whether what a thread did at a time is forgotten for want of room.
    pub(crate) fn has_forgotten(&self, task: TaskId, ns: u64) -> bool {
        self.get(task).is_some_and(|thread| thread.recent.has_forgotten(ns))
    }

    /// What a thread did was asked for and forgotten: more of it is kept from here on.
    pub(crate) fn remember_more(&mut self, task: TaskId) {
        if self.with_more == MORE_THREADS_MAX {
            return;
        }
        if self.get_mut(task).is_some_and(|thread| thread.recent.keeps_more()) {
            self.with_more += 1;
        }
    }

    /// Calls `piece` for each thing that a thread did from `from_ns` to `to_ns`, in order, without a
    /// gap; `None` where it is not known.
    pub(crate) fn between(
        &self,
        task: TaskId,
        from_ns: u64,
        to_ns: u64,
        mut piece: impl FnMut(u64, u64, Option<Change>),
    ) {
        let mut at_ns = from_ns;
        let mut current: Option<Change> = None;
        if let Some(thread) = self.get(task) {
            for change in thread.recent.since(from_ns) {
                if change.since_ns >= to_ns {
                    break;
                }
                let since_ns = change.since_ns.clamp(from_ns, to_ns);
                if since_ns > at_ns {
                    piece(at_ns, since_ns, current);
                    at_ns = since_ns;
                }
                current = Some(*change);
            }
        }
        if to_ns > at_ns {
            piece(at_ns, to_ns, current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent::{CHANGES_MAX, MORE_CHANGES_MAX};

    fn target(task: u32) -> Target {
        Target { task: TaskId(task), prio: Prio(120), cpu: CpuId(1) }
    }

    fn told(threads: &Threads, from_ns: u64, to_ns: u64) -> Vec<(u64, u64, Option<RunState>)> {
        let mut told = Vec::new();
        threads.between(TaskId(7), from_ns, to_ns, |start_ns, end_ns, change| {
            told.push((start_ns, end_ns, change.map(|change| change.doing)));
        });
        told
    }

    #[test]
    fn what_a_thread_did_is_cut_to_what_is_asked() {
        let mut threads = Threads::default();
        let seven = target(7);
        threads.switch_in(10, seven);
        threads.switch_out(20, seven, TaskState::Running);
        threads.switch_in(30, seven);
        assert_eq!(
            told(&threads, 5, 35),
            [
                (5, 10, None),
                (10, 20, Some(RunState::Runs)),
                (20, 30, Some(RunState::Waits)),
                (30, 35, Some(RunState::Runs))
            ]
        );
        assert_eq!(told(&threads, 22, 25), [(22, 25, Some(RunState::Waits))]);
        for at in 0..100 {
            threads.switch_in(40 + at, seven);
        }
        assert_eq!(told(&threads, 0, 41)[0], (0, 41, None), "forgotten");
        assert!(threads.has_forgotten(TaskId(7), 41));
    }

    #[test]
    fn more_is_remembered_of_a_thread_once_too_little_was() {
        let mut threads = Threads::default();
        let switch = |threads: &mut Threads, at: u64| threads.switch_in(at, target(7));
        (0..100).for_each(|at| switch(&mut threads, at));
        threads.remember_more(TaskId(7));
        let known = 100 - CHANGES_MAX as u64;
        (100..1000).for_each(|at| switch(&mut threads, at));
        assert!(threads.has_forgotten(TaskId(7), known - 1));
        assert!(!threads.has_forgotten(TaskId(7), known));
        let runs = Some(RunState::Runs);
        assert_eq!(told(&threads, known + 3, known + 5).len(), 2);
        assert_eq!(told(&threads, known - 1, known + 1)[0], (known - 1, known, None));
        assert_eq!(told(&threads, 998, 1001), [(998, 999, runs), (999, 1001, runs)]);
        let kept = MORE_CHANGES_MAX as u64;
        (1000..3 * kept).for_each(|at| switch(&mut threads, at));
        assert!(threads.has_forgotten(TaskId(7), 2 * kept - 1), "there is a bound");
        assert!(!threads.has_forgotten(TaskId(7), 2 * kept));
        threads.gone(TaskId(7));
        threads.begins(TaskId(7));
        assert_eq!(threads.with_more, 0, "another thread can have the room");
    }

    #[test]
    fn a_chain_is_followed_to_its_depth() {
        let mut threads = Threads::default();
        for n in 1..20u32 {
            let by = Culprit::Task(TaskId(n));
            let link = Link { time_ns: n.into(), by, started: false, work: NameId::NONE };
            threads.woken(target(n + 1), link, TaskId(n));
            let chain = threads.chain(TaskId(n + 1));
            assert_eq!(chain.len(), (n as usize).min(CHAIN_MAX));
            let times: Vec<u64> = chain.iter().map(|link| link.time_ns).collect();
            let expected: Vec<u64> = (1..=u64::from(n)).rev().take(CHAIN_MAX).collect();
            assert_eq!(times, expected);
        }
    }
}
