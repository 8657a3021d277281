//! What shares a CPU, or a group's part of it: who of them is to run next (EEVDF, `kernel/sched/fair.c` since 6.6).

use super::fair::{Fair, Kind};
use crate::observer::ThreadAt;

/// Virtual times that are told apart: with the largest weight of [`THREADS_MAX`](crate::workload::THREADS_MAX) threads
/// the sum fits 64 bits.
const APART_NS_MAX: i64 = 1 << 30;

/// A thread, or a group by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Thread(ThreadAt),
    Group(u32),
}

/// Who shares a CPU, with its virtual time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) who: Who,
    pub(super) fair: Fair,
}

impl Queued {
    /// Whether it is eligible, and comes before a deadline.
    fn comes_before(&self, deadline_ns: i64, mean_ns: i64) -> bool {
        self.fair.virtual_ns <= mean_ns && self.fair.deadline_ns < deadline_ns
    }
}

/// What is chosen to run next.
pub(super) enum Choice {
    Runs(Who),
    /// It could not run: it has left.
    Left(Who),
    Nobody,
}

/// The threads and groups of one group, or of none, on a CPU.
#[derive(Debug)]
pub(super) struct Level {
    /// Who runs.
    pub(super) current: Option<Queued>,
    /// Its turn is over.
    pub(super) is_over: bool,
    /// Those that could run and do not.
    pub(super) queued: Vec<Queued>,
    /// Those that sleep, and have not left.
    pub(super) delayed: Vec<Queued>,
    /// Virtual time when there was nobody.
    floor_ns: i64,
    /// The slice, and the most that one is owed or owes.
    slice_ns: u64,
    lag_ns: u64,
}

impl Level {
    pub(super) fn new(room: usize, slice_ns: u64, lag_ns: u64) -> Self {
        Self {
            current: None,
            is_over: false,
            queued: Vec::with_capacity(room),
            delayed: Vec::new(),
            floor_ns: 0,
            slice_ns,
            lag_ns,
        }
    }

    /// Whether anybody in it could run, or does.
    pub(super) fn is_runnable(&self) -> bool {
        self.current.is_some() || !self.queued.is_empty()
    }

    /// Whether anything is in it, so that its group is in the one around it.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_runnable() && self.delayed.is_empty()
    }

    /// All that are in it.
    fn all(&self) -> impl Iterator<Item = &Fair> {
        let waiting = self.queued.iter().chain(&self.delayed);
        waiting.chain(&self.current).map(|queued| &queued.fair)
    }

    /// What all in it weigh.
    pub(super) fn weight(&self) -> u64 {
        self.all().map(|fair| fair.weight).sum()
    }

    /// The weighted mean of virtual times.
    pub(super) fn mean_ns(&self) -> i64 {
        // Alone, it is its own mean.
        match (self.queued.as_slice(), &self.current) {
            _ if !self.delayed.is_empty() => {}
            ([], None) => return self.floor_ns,
            ([], Some(alone)) | ([alone], None) => return alone.fair.virtual_ns,
            _ => {}
        }
        let Some(base_ns) = self.all().next().map(|fair| fair.virtual_ns) else {
            return self.floor_ns;
        };
        // They are within seconds of each other; should they not be, only the choice of who runs next is coarser.
        let (mut sum, mut weights) = (0_i64, 0_i64);
        for fair in self.all() {
            let weight = fair.weight as i64;
            let apart_ns = (fair.virtual_ns - base_ns).clamp(-APART_NS_MAX, APART_NS_MAX);
            sum += apart_ns * weight;
            weights += weight;
        }
        base_ns + sum.div_euclid(weights)
    }

    /// Who runs has run: whether its turn is over.
    pub(super) fn runs(&mut self, ns: u64) -> bool {
        let slice_ns = self.slice_ns;
        self.is_over = self.current.as_mut().is_some_and(|it| it.fair.runs(ns, slice_ns));
        self.is_over
    }

    /// One comes that has slept, or was elsewhere: it keeps what it was owed.
    pub(super) fn place(&self, mut fair: Fair) -> Fair {
        // Its own weight draws the mean to it: so much more is left of it once it is there.
        let others = self.weight();
        let lag_ns = match others {
            0 => 0,
            others => {
                let all = i128::from(others + fair.weight);
                (i128::from(fair.lag_ns) * all / i128::from(others)) as i64
            }
        };
        fair.virtual_ns = self.mean_ns() - lag_ns;
        match fair.left_ns.take() {
            Some(left_ns) => fair.deadline_ns = fair.virtual_ns + left_ns,
            None => fair.begins_slice(self.slice_ns),
        }
        fair
    }

    /// One is woken that has not left yet (`requeue_delayed_entity`). It is where it was, or, if it has paid back what it
    /// owed, at the mean, both as that was when who runs was charged last.
    pub(super) fn stays(&mut self, at: usize) {
        let mut woken = self.delayed.swap_remove(at);
        let mean_ns = self.mean_ns();
        if mean_ns > woken.fair.virtual_ns {
            woken.fair.virtual_ns = mean_ns;
            woken.fair.begins_slice(self.slice_ns);
        }
        self.queued.push(woken);
    }

    /// Takes out one that runs or could: with what it is owed, or owes.
    pub(super) fn takes(&mut self, who: Who) -> Option<Fair> {
        let is_it = |queued: &Queued| queued.who == who;
        let mean_ns = self.mean_ns();
        let taken = self.current.take_if(|it| is_it(it)).or_else(|| {
            let place = self.queued.iter().position(is_it)?;
            Some(self.queued.remove(place))
        });
        let mut fair = taken?.fair;
        let most_ns = fair.virtual_of(self.lag_ns);
        fair.lag_ns = (mean_ns - fair.virtual_ns).clamp(-most_ns, most_ns);
        fair.left_ns = Some(fair.deadline_ns - fair.virtual_ns);
        self.floor_ns = mean_ns;
        Some(fair)
    }

    /// One that runs or waits gets another weight.
    pub(super) fn weighs(&mut self, who: Who, weight: u64) {
        let mean_ns = self.mean_ns();
        let mut all = self.current.iter_mut().chain(&mut self.queued).chain(&mut self.delayed);
        if let Some(it) = all.find(|queued| queued.who == who) {
            it.fair.weighs(weight, mean_ns);
        }
    }

    /// One that could run does so from now on.
    pub(super) fn begins(&mut self, who: Who) {
        if let Some(place) = self.queued.iter().position(|queued| queued.who == who) {
            self.current = Some(self.queued.remove(place));
        }
    }

    /// Who runs is put back among those that could.
    pub(super) fn puts_back(&mut self) {
        self.queued.extend(self.current.take());
    }

    /// The one in the queue that is to run next: of those that are eligible the one with the earliest deadline.
    fn best(&self, mean_ns: i64) -> Option<usize> {
        let eligible = self.queued.iter().enumerate();
        let eligible = eligible.filter(|(_, queued)| queued.fair.virtual_ns <= mean_ns);
        eligible.min_by_key(|(_, queued)| queued.fair.deadline_ns).map(|(at, _)| at)
    }

    /// One that sleeps and would be chosen before whoever has a deadline.
    fn delayed_before(&self, deadline_ns: i64, mean_ns: i64) -> Option<usize> {
        self.delayed.iter().position(|delayed| delayed.comes_before(deadline_ns, mean_ns))
    }

    /// Takes out who is to run next, who ran being put back. It keeps the protection that it has if it ran `before`
    /// (`put_prev_set_next_task`).
    pub(super) fn choose(&mut self, before: Option<Who>) -> Choice {
        // Of any numbers one is not above their mean.
        let best = if self.delayed.is_empty() && self.queued.len() == 1 {
            Some(0)
        } else {
            let mean_ns = self.mean_ns();
            let best = self.best(mean_ns);
            let deadline_ns = best.map_or(i64::MAX, |at| self.queued[at].fair.deadline_ns);
            if let Some(delayed) = self.delayed_before(deadline_ns, mean_ns) {
                return Choice::Left(self.delayed.swap_remove(delayed).who);
            }
            best
        };
        let Some(best) = best else { return Choice::Nobody };
        let mut chosen = self.queued.remove(best);
        if Some(chosen.who) != before {
            chosen.fair.protected_ns = chosen.fair.deadline_ns;
        }
        self.current = Some(chosen);
        Choice::Runs(chosen.who)
    }

    /// The turn of who runs is over, and nobody else could run: takes out one that sleeps and would be chosen.
    pub(super) fn lets_go(&mut self) -> Option<Who> {
        let running = self.current?;
        let delayed = self.delayed_before(running.fair.deadline_ns, self.mean_ns())?;
        Some(self.delayed.remove(delayed).who)
    }

    /// Whether one in the queue is to run before the one that does.
    pub(super) fn prefers(&self, woken: Who) -> bool {
        let Some(Queued { fair: running, .. }) = &self.current else { return false };
        let mean_ns = self.mean_ns();
        let Some(best) = self.best(mean_ns).map(|at| &self.queued[at]) else { return false };
        if self.delayed_before(best.fair.deadline_ns, mean_ns).is_some() {
            return false;
        }
        let is_eligible = running.virtual_ns <= mean_ns;
        let is_protected = is_eligible && running.virtual_ns < running.protected_ns;
        // Of two with the same deadline it is not who runs (`pick_eevdf`).
        let comes_first = !is_eligible || best.fair.deadline_ns <= running.deadline_ns;
        best.who == woken && comes_first && !is_protected
    }

    /// How one in the queue gives way.
    pub(super) fn kind(&self, who: Who) -> Option<Kind> {
        self.queued.iter().find(|queued| queued.who == who).map(|queued| queued.fair.kind)
    }
}
