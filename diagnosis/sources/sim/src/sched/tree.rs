//! The fair threads of a CPU, in the groups by which they share it.
//!
//! A group is in the queue of the group around it as if it were a thread, as long as any of its threads is in its own: it
//! has a virtual time, a slice and a weight on each CPU. Who runs next is chosen from the outermost queue inwards.

use super::fair::{self, Fair, Kind};
use super::level::{Choice, Level, Queued, Who};
use super::load::Loads;
use crate::Policy;
use crate::observer::ThreadAt;
use std::sync::Arc;

/// Which groups there are, and who is in them. Queues have a number: 0 the outermost, behind that one for each group.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The queue around each group.
    around: Vec<usize>,
    /// The queue of each thread.
    of_threads: Vec<usize>,
}

impl Tree {
    /// Of the groups around each group and each thread; threads beyond those are in none.
    pub(crate) fn new(groups: &[Option<u32>], threads: &[Option<u32>]) -> Self {
        let queue = |group: &Option<u32>| group.map_or(0, |group| group as usize + 1);
        Self {
            around: groups.iter().map(queue).collect(),
            of_threads: threads.iter().map(queue).collect(),
        }
    }

    fn queue_of(&self, thread: ThreadAt) -> usize {
        self.of_threads.get(thread as usize).copied().unwrap_or(0)
    }

    /// Each group that has any of so many threads, with all in it or in one within it, the innermost first.
    pub(super) fn innermost_first(&self, threads: usize) -> Vec<(usize, Vec<ThreadAt>)> {
        let mut members = vec![Vec::new(); self.around.len()];
        for thread in 0..threads as ThreadAt {
            for (_, who) in self.path(thread) {
                if let Who::Group(group) = who {
                    members[group as usize].push(thread);
                }
            }
        }
        let depth = |group: usize| {
            std::iter::successors(Some(group), |group| self.around[*group].checked_sub(1)).count()
        };
        let mut groups: Vec<_> =
            members.into_iter().enumerate().filter(|(_, members)| !members.is_empty()).collect();
        groups.sort_by_key(|(group, _)| std::cmp::Reverse(depth(*group)));
        groups
    }

    /// A thread with its queue, then each group around it with the one that it is in.
    fn path(&self, thread: ThreadAt) -> impl Iterator<Item = (usize, Who)> + '_ {
        let first = (self.queue_of(thread), Who::Thread(thread));
        std::iter::successors(Some(first), |(queue, _)| {
            let group = queue.checked_sub(1)?;
            Some((self.around[group], Who::Group(group as u32)))
        })
    }
}

/// A place at which a group is: the place of its CPU, and the time.
#[derive(Debug)]
pub(crate) struct Here<'a> {
    pub(crate) cpu: usize,
    pub(crate) now_ns: u64,
    pub(crate) loads: &'a mut Loads,
}

/// The fair threads of a CPU.
#[derive(Debug)]
pub(crate) struct FairQueue {
    tree: Arc<Tree>,
    levels: Vec<Level>,
    /// Each group, as it left the queue around it.
    groups: Vec<Fair>,
    /// Threads that could run, and do not.
    waiting: usize,
}

impl FairQueue {
    /// With room for so many, on a machine of so many CPUs that tick so often.
    pub(crate) fn new(tree: &Arc<Tree>, threads: usize, cpus: u16, jiffy_ns: u64) -> Self {
        let slice_ns = fair::slice_ns(cpus);
        let lag_ns = (2 * slice_ns).max(jiffy_ns);
        let groups = tree.around.len();
        let room = |at| if at == 0 { threads } else { 0 };
        Self {
            tree: Arc::clone(tree),
            levels: (0..=groups).map(|at| Level::new(room(at), slice_ns, lag_ns)).collect(),
            groups: vec![Fair::new(Policy::Other { nice: 0 }); groups],
            waiting: 0,
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// A thread comes that may run.
    pub(crate) fn comes(&mut self, thread: ThreadAt, fair: Fair, here: &mut Here<'_>) {
        let at = self.tree.queue_of(thread);
        let level = &mut self.levels[at];
        let keeps_place = !level.is_empty();
        let fair = level.place(fair);
        level.queued.push(Queued { who: Who::Thread(thread), fair });
        self.waiting += 1;
        self.raises(at, keeps_place, here);
    }

    /// A thread is woken that may not have left yet: then it keeps its place. Whether it does.
    pub(crate) fn stays(&mut self, thread: ThreadAt, here: &mut Here<'_>) -> bool {
        let at = self.tree.queue_of(thread);
        let level = &mut self.levels[at];
        let delayed = level.delayed.iter().position(|it| it.who == Who::Thread(thread));
        let Some(delayed) = delayed else { return false };
        level.stays(delayed);
        self.waiting += 1;
        self.raises(at, true, here);
        true
    }

    /// Whether a thread comes to a group that has not left yet: that is told before who runs is charged, as of a thread
    /// that stays (`enqueue_task_fair` requeues it without `update_curr`).
    pub(crate) fn wakes_group(&self, thread: ThreadAt) -> bool {
        let mut groups = self.tree.path(thread).skip(1);
        let found = groups.find_map(|(at, who)| {
            let (level, is_it) = (&self.levels[at], |queued: &Queued| queued.who == who);
            let is_there = level.current.iter().chain(&level.queued).any(is_it);
            if level.delayed.iter().any(is_it) { Some(true) } else { is_there.then_some(false) }
        });
        found.unwrap_or(false)
    }

    /// Something has come to a group's queue: the groups around it are in theirs, and weigh as much as is in them.
    /// `keeps_place`: there was something in it before.
    fn raises(&mut self, mut at: usize, mut keeps_place: bool, here: &mut Here<'_>) {
        while let Some(group) = at.checked_sub(1) {
            let weight = self.group_weighs(group, here);
            let (who, around) = (Who::Group(group as u32), self.tree.around[group]);
            let is_it = |queued: &Queued| queued.who == who;
            let level = &mut self.levels[around];
            let was_there = !level.is_empty();
            if let Some(delayed) = level.delayed.iter().position(is_it) {
                if keeps_place {
                    let group = level.delayed.swap_remove(delayed);
                    level.queued.push(group);
                } else {
                    level.stays(delayed);
                }
                level.weighs(who, weight);
            } else if level.current.as_ref().is_some_and(is_it) || level.queued.iter().any(is_it) {
                level.weighs(who, weight);
            } else {
                let fair = level.place(self.groups[group].reweighed(weight));
                level.queued.push(Queued { who, fair });
            }
            (at, keeps_place) = (around, was_there);
        }
    }

    /// How much a group weighs here.
    fn group_weighs(&self, group: usize, here: &mut Here<'_>) -> u64 {
        let inside = self.levels[group + 1].weight();
        here.loads.weighs(here.now_ns, group as u32, here.cpu, inside)
    }

    /// The thread that runs goes to sleep, or may not run. Whoever owes stays for a while, if it `sleeps` and anybody else
    /// is there (`DELAY_DEQUEUE`, since 6.12). Says what it keeps.
    pub(crate) fn leaves(
        &mut self,
        thread: ThreadAt,
        sleeps: bool,
        here: &mut Here<'_>,
    ) -> Option<Fair> {
        let (at, who) = (self.tree.queue_of(thread), Who::Thread(thread));
        let level = &mut self.levels[at];
        let mut fair = level.takes(who)?;
        if sleeps && self.waiting > 0 && fair.lag_ns < 0 {
            level.delayed.push(Queued { who, fair });
        }
        if sleeps {
            fair = fair.asleep();
        }
        self.lowers(at, here);
        Some(fair)
    }

    /// Takes a thread out that waits. Says what it keeps.
    pub(crate) fn remove(&mut self, thread: ThreadAt, here: &mut Here<'_>) -> Option<Fair> {
        let at = self.tree.queue_of(thread);
        let fair = self.levels[at].takes(Who::Thread(thread))?;
        self.waiting -= 1;
        self.lowers(at, here);
        Some(fair)
    }

    /// Takes out a thread that sleeps, if it has not left yet.
    pub(crate) fn forgets(&mut self, thread: ThreadAt, here: &mut Here<'_>) {
        let at = self.tree.queue_of(thread);
        self.levels[at].delayed.retain(|delayed| delayed.who != Who::Thread(thread));
        self.lowers(at, here);
    }

    /// Something has gone from a group's queue: a group in which nobody could run any more goes from the one around it, and
    /// the others weigh what is left in them.
    fn lowers(&mut self, mut at: usize, here: &mut Here<'_>) {
        while let Some(group) = at.checked_sub(1) {
            let weight = self.group_weighs(group, here);
            let (who, around) = (Who::Group(group as u32), self.tree.around[group]);
            let (could_run, is_there) =
                (self.levels[at].is_runnable(), !self.levels[at].is_empty());
            let level = &mut self.levels[around];
            if could_run {
                level.weighs(who, weight);
            } else if let Some(fair) = level.takes(who) {
                // Those that sleep in it leave when it would be chosen, as it does by itself.
                if is_there || self.waiting > 0 && fair.lag_ns < 0 {
                    level.delayed.push(Queued { who, fair });
                }
                self.groups[group] = fair.asleep();
            } else if !is_there {
                level.delayed.retain(|delayed| delayed.who != who);
            }
            at = around;
        }
        // Nobody else could run: who sleeps would be chosen.
        let outermost = &self.levels[0];
        if self.waiting == 0 && outermost.current.is_none() {
            while let Some(gone) = self.levels[0].delayed.pop() {
                self.left(0, gone.who, here);
            }
        }
    }

    /// Who runs has run. Whether its turn is over, or that of a group that it is in.
    pub(crate) fn runs(&mut self, ns: u64) -> bool {
        let (mut at, mut is_over) = (Some(0), false);
        while let Some(level) = at {
            is_over |= self.levels[level].runs(ns);
            at = self.inside(level);
        }
        is_over
    }

    /// The queue of the group that runs in a queue, if it is a group.
    fn inside(&self, at: usize) -> Option<usize> {
        match self.levels[at].current?.who {
            Who::Group(group) => Some(group as usize + 1),
            Who::Thread(_) => None,
        }
    }

    /// The queues in which anybody runs, from the outermost inwards.
    fn running(&self) -> impl Iterator<Item = usize> + '_ {
        let outermost = self.levels[0].current.is_some().then_some(0);
        std::iter::successors(outermost, |at| self.inside(*at))
    }

    /// Whether anybody could run in place of one whose turn is over.
    pub(crate) fn turn_ends(&self) -> bool {
        self.running().map(|at| &self.levels[at]).any(|it| it.is_over && !it.queued.is_empty())
    }

    /// The turn of who runs is over, and nobody else could: who sleeps and would be chosen leaves.
    pub(crate) fn lets_go(&mut self, here: &mut Here<'_>) {
        let mut at = Some(0);
        while let Some(level) = at {
            if self.levels[level].is_over && self.levels[level].queued.is_empty() {
                while let Some(who) = self.levels[level].lets_go() {
                    self.left(level, who, here);
                }
            }
            at = self.inside(level);
        }
    }

    /// The group weights of whom runs, as they are after it has run for a while (`entity_tick`).
    pub(crate) fn weighs_again(&mut self, here: &mut Here<'_>) {
        let mut at = Some(0);
        while let Some(level) = at {
            at = self.inside(level);
            if let Some(inside) = at {
                let weight = self.group_weighs(inside - 1, here);
                self.levels[level].weighs(Who::Group(inside as u32 - 1), weight);
            }
        }
    }

    /// One that slept has left a queue: where it is a group, all in it have.
    fn left(&mut self, at: usize, who: Who, here: &mut Here<'_>) {
        if let Some(around) = at.checked_sub(1) {
            self.group_weighs(around, here);
        }
        let Who::Group(group) = who else { return };
        let inside = group as usize + 1;
        while let Some(gone) = self.levels[inside].delayed.pop() {
            self.left(inside, gone.who, here);
        }
    }

    /// The thread that runs is put back among those that could.
    pub(crate) fn puts_back(&mut self) {
        let mut at = 0;
        while let Some(Queued { who, .. }) = self.levels[at].current {
            self.levels[at].puts_back();
            match who {
                Who::Thread(_) => return self.waiting += 1,
                Who::Group(group) => at = group as usize + 1,
            }
        }
    }

    /// Chooses who runs next, after a thread that was put back or went to sleep.
    pub(crate) fn choose(
        &mut self,
        after: Option<ThreadAt>,
        here: &mut Here<'_>,
    ) -> Option<ThreadAt> {
        self.puts_back();
        let before = |tree: &Tree, level: usize| {
            tree.path(after?).find(|(at, _)| *at == level).map(|(_, who)| who)
        };
        let mut level = 0;
        while self.waiting > 0 {
            match self.levels[level].choose(before(&self.tree, level)) {
                Choice::Runs(Who::Thread(thread)) => {
                    self.waiting -= 1;
                    return Some(thread);
                }
                Choice::Runs(Who::Group(group)) => level = group as usize + 1,
                Choice::Left(who) => self.left(level, who, here),
                Choice::Nobody => break,
            }
        }
        None
    }

    /// A thread that runs is one of them from now on.
    pub(crate) fn runs_from_now(&mut self, thread: ThreadAt, fair: Fair, here: &mut Here<'_>) {
        self.comes(thread, fair, here);
        let tree = Arc::clone(&self.tree);
        for (at, who) in tree.path(thread) {
            self.levels[at].begins(who);
        }
        self.waiting -= 1;
    }

    /// Whether a thread that waits is to run before the one that does.
    pub(crate) fn prefers(&self, thread: ThreadAt) -> bool {
        // The innermost queue that both are in is where they compete (`find_matching_se`).
        let mut path = self.tree.path(thread);
        let Some((level, running, woken)) = path.find_map(|(at, who)| {
            let level = &self.levels[at];
            Some((level, level.current.as_ref()?, who))
        }) else {
            return false;
        };
        match (level.kind(woken), running.fair.kind) {
            (Some(Kind::Normal | Kind::Batch), Kind::Idle) => return true,
            (Some(Kind::Normal), _) => {}
            _ => return false,
        }
        let own = self.levels[self.tree.queue_of(thread)].kind(Who::Thread(thread));
        own == Some(Kind::Normal) && level.prefers(woken)
    }

    /// Those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = ThreadAt> {
        let all = self.levels.iter().flat_map(|level| &level.queued);
        all.filter_map(|queued| match queued.who {
            Who::Thread(thread) => Some(thread),
            Who::Group(_) => None,
        })
    }

    /// How many could run, the one that does among them.
    pub(crate) fn runnable(&self) -> usize {
        self.waiting + usize::from(self.levels[0].current.is_some())
    }
}
