//! Which busy CPU takes fair threads from which (`sched_balance_rq` and `wake_affine` in `kernel/sched/fair.c`).
//!
//! A thread's load is its weight times how much of the time it could run, as a mean that forgets half in 33.6 ms
//! (`kernel/sched/pelt.c`); of a thread in a group it is its part of what the group weighs. Loads are looked at once a
//! tick. All CPUs are one domain.

use super::Fair;
use super::load::{STEP_NS, left_after};
use super::tree::Tree;
use crate::observer::ThreadAt;

/// A part of the time, or a CPU's capacity: the whole.
const WHOLE: u64 = 1 << 16;

/// A load must be so many times another one to count, percent (`imbalance_pct` of CPUs that share a cache).
const IMBALANCE_PERCENT: u64 = 117;

/// A woken thread stays where it ran unless the load there is more than so many times that of its waker's CPU, percent
/// (`wake_affine_weight`).
const WAKE_PERCENT: u64 = 100 + (IMBALANCE_PERCENT - 100) / 2;

/// A busy CPU looks so many times more seldom than an idle one (`busy_factor`).
const BUSY_FACTOR: u64 = 16;

/// A CPU that finds the loads even looks more seldom, up to so many times (`max_interval`).
const INTERVALS_MAX: u64 = 2;

/// Who ran so shortly ago stays for its cache (`sysctl_sched_migration_cost`), ns,
const HOT_NS: u64 = 500_000;

/// unless more attempts than these have failed (`cache_nice_tries`).
const NICE_TRIES: u32 = 1;

/// The most threads that are looked at in one attempt (`sysctl_sched_nr_migrate`).
pub(crate) const THREADS_PER_BALANCING: usize = 32;

const MS: u64 = 1_000_000;

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Demand {
    cpu: usize,
    weight: u64,
    /// Since when it could run, if it can.
    since_ns: Option<u64>,
    /// For how long it could since the last look.
    could_run_ns: u64,
    /// Which part of the time it could.
    mean: u64,
    /// The same of the time in which it ran.
    ran_ns: u64,
    ran: u64,
    /// What it weighs on its CPU.
    load: u64,
    /// When it came to the queue or began to run.
    listed_ns: u64,
    /// When it stopped running, if that was on this CPU.
    ended_ns: Option<u64>,
}

/// What is known of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct OfCpu {
    load: u64,
    /// How many of its threads could run, in parts of one, as a mean.
    runnable: u64,
    /// And for which part of the time they ran. Who has been moved has taken that along, so that it falls behind for a
    /// while.
    ran: u64,
    /// How many threads could run when it was looked at last, of any class.
    count: usize,
    /// In how much of the time threads of a group could run.
    of_group: u64,
    /// What other classes took since the last look.
    taken_ns: u64,
    /// Which part of the time they take.
    taken: u64,
    /// When it looks for more to do, and after how many of the shortest intervals once more.
    next_ns: u64,
    intervals: u64,
    /// Attempts that moved nobody.
    failed: u32,
}

impl OfCpu {
    fn has(&mut self, demand: &Demand) {
        self.load += demand.load;
        self.runnable += demand.mean;
        self.ran += demand.ran;
    }

    /// What is left of it for fair threads.
    fn capacity(&self) -> u64 {
        (WHOLE - self.taken).max(1)
    }

    /// Its threads use all of it (`group_is_overloaded`, with more than one of them).
    fn is_full(&self) -> bool {
        self.wants_more() || self.ran * IMBALANCE_PERCENT > self.capacity() * 100
    }

    /// More could run than it has time for.
    fn wants_more(&self) -> bool {
        self.runnable * 100 > self.capacity() * IMBALANCE_PERCENT
    }

    /// Its load if it had nothing else to do.
    fn scaled_load(&self) -> u64 {
        scaled(self.load, WHOLE, self.capacity())
    }
}

/// `value * up / down`.
fn scaled(value: u64, up: u64, down: u64) -> u64 {
    let wide = u128::from(value) * u128::from(up) / u128::from(down.max(1));
    u64::try_from(wide).unwrap_or(u64::MAX)
}

/// A CPU has too little to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Imbalance {
    /// Where there is more.
    pub(crate) from: usize,
    pub(crate) wanted: Wanted,
}

/// What is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Threads(u64),
    Load(u64),
}

/// How busy CPUs are with fair threads, and when they look at each other.
#[derive(Debug)]
pub(crate) struct Balance {
    /// What groups weigh, and who is in each or in one within it, the innermost first.
    groups: Vec<(u64, Vec<ThreadAt>)>,
    jiffy_ns: u64,
    looked_ns: u64,
    threads: Vec<Demand>,
    cpus: Vec<OfCpu>,
    /// Those that one could take.
    waiting: Vec<ThreadAt>,
}

impl Balance {
    /// Of so many threads in groups of such weights, on so many CPUs, from a time on.
    pub(crate) fn new(
        tree: &Tree,
        weights: &[u64],
        threads: usize,
        cpus: u16,
        jiffy_ns: u64,
        now_ns: u64,
    ) -> Self {
        let cpu = OfCpu { next_ns: now_ns, intervals: 1, ..OfCpu::default() };
        let groups = tree.innermost_first(threads).into_iter();
        Self {
            groups: groups.map(|(group, members)| (weights[group], members)).collect(),
            jiffy_ns,
            looked_ns: now_ns,
            threads: vec![Demand::default(); threads],
            cpus: vec![cpu; cpus.into()],
            waiting: Vec::with_capacity(threads),
        }
    }

    /// A fair thread comes to a queue.
    pub(crate) fn comes(&mut self, thread: ThreadAt, fair: &Fair, cpu: usize, now_ns: u64) {
        let demand = &mut self.threads[thread as usize];
        (demand.weight, demand.listed_ns) = (fair.weight, now_ns);
        demand.since_ns.get_or_insert(now_ns);
        self.moves(thread, cpu);
    }

    /// A fair thread is woken before it has left the queue of its CPU.
    pub(crate) fn stays(&mut self, thread: ThreadAt, now_ns: u64) {
        self.threads[thread as usize].since_ns.get_or_insert(now_ns);
    }

    /// A thread sleeps, or is no fair one any more.
    pub(crate) fn leaves(&mut self, thread: ThreadAt, now_ns: u64) {
        let demand = &mut self.threads[thread as usize];
        if let Some(since_ns) = demand.since_ns.take() {
            // It may have been looked at since.
            demand.could_run_ns += now_ns.saturating_sub(since_ns);
        }
    }

    /// A thread begins to run, or ends.
    pub(crate) fn turns(&mut self, thread: ThreadAt, begins: bool, now_ns: u64) {
        let demand = &mut self.threads[thread as usize];
        if begins {
            demand.listed_ns = now_ns;
        } else {
            demand.ended_ns = Some(now_ns);
        }
    }

    /// A thread has run, a fair one or one of another class, which takes the time from those.
    pub(crate) fn runs(&mut self, thread: ThreadAt, is_fair: bool, cpu: usize, ns: u64) {
        if is_fair {
            self.threads[thread as usize].ran_ns += ns;
        } else {
            self.cpus[cpu].taken_ns += ns;
        }
    }

    /// A thread is on another CPU from now on, with its load.
    fn moves(&mut self, thread: ThreadAt, to: usize) {
        let demand = &mut self.threads[thread as usize];
        if demand.cpu == to {
            return;
        }
        demand.ended_ns = None;
        let from = std::mem::replace(&mut demand.cpu, to);
        let from = &mut self.cpus[from];
        from.load = from.load.saturating_sub(demand.load);
        from.runnable = from.runnable.saturating_sub(demand.mean);
        from.ran = from.ran.saturating_sub(demand.ran);
        self.cpus[to].has(demand);
    }

    /// Looks at all loads, at most once a tick.
    pub(crate) fn looks(&mut self, now_ns: u64) {
        let past_ns = now_ns - self.looked_ns;
        if past_ns < self.jiffy_ns / 2 {
            return;
        }
        self.looked_ns = now_ns;
        let left = left_after(past_ns / STEP_NS);
        let mean = |before: u64, ns: u64| {
            let now = scaled(ns.min(past_ns), WHOLE, past_ns);
            (before * left + now * ((1 << 32) - left)) >> 32
        };
        for cpu in &mut self.cpus {
            cpu.taken = mean(cpu.taken, std::mem::take(&mut cpu.taken_ns));
            (cpu.load, cpu.runnable, cpu.ran) = (0, 0, 0);
        }
        for demand in &mut self.threads {
            if let Some(since_ns) = &mut demand.since_ns {
                demand.could_run_ns += now_ns - std::mem::replace(since_ns, now_ns);
            }
            demand.mean = mean(demand.mean, std::mem::take(&mut demand.could_run_ns));
            demand.ran = mean(demand.ran, std::mem::take(&mut demand.ran_ns));
            demand.load = demand.weight * demand.mean;
        }
        self.weighs_groups();
        for demand in &self.threads {
            self.cpus[demand.cpu].has(demand);
        }
    }

    /// A thread in groups weighs its part of what they weigh on its CPU.
    fn weighs_groups(&mut self) {
        let Self { groups, threads, cpus, .. } = self;
        for (weight, members) in groups {
            // A group weighs something for as much of the time as any of its threads could run.
            let mut all = 0;
            for cpu in cpus.iter_mut() {
                cpu.of_group = 0;
            }
            for member in members.iter() {
                let demand = &threads[*member as usize];
                all += demand.load;
                cpus[demand.cpu].of_group += demand.mean;
            }
            for member in members.iter() {
                let demand = &mut threads[*member as usize];
                let part = cpus[demand.cpu].of_group.min(WHOLE);
                demand.load = scaled(demand.load, *weight * part, all);
            }
        }
    }

    /// Whether it is time for a busy CPU to look whether another one has more to do.
    pub(crate) fn is_time(&self, at: usize, now_ns: u64) -> bool {
        now_ns >= self.cpus[at].next_ns
    }

    /// How many threads could run on a CPU now, the one that does among them.
    pub(crate) fn counts(&mut self, cpu: usize, threads: usize) {
        self.cpus[cpu].count = threads;
    }

    /// Where a busy CPU takes threads from, if another one has so much more to do, beside those CPUs all of whose threads are
    /// bound elsewhere: a bit each.
    pub(crate) fn finds(&mut self, at: usize, now_ns: u64, pinned: u64) -> Option<Imbalance> {
        let found = self.busiest(at, pinned);
        let own = &mut self.cpus[at];
        if found.is_none() {
            own.failed = 0;
            own.intervals = (own.intervals * 2).min(INTERVALS_MAX);
        } else {
            own.intervals = 1;
        }
        let interval_ns = self.cpus[at].intervals * BUSY_FACTOR * self.cpus.len() as u64 * MS;
        // A tick less, so as not to look in step with others.
        let jiffies = interval_ns.div_ceil(self.jiffy_ns).saturating_sub(1).max(1);
        self.cpus[at].next_ns = now_ns + jiffies * self.jiffy_ns - self.jiffy_ns / 2;
        found
    }

    /// The same, without a look at the clock.
    fn busiest(&self, at: usize, pinned: u64) -> Option<Imbalance> {
        let is_overloaded = |cpu: usize| self.cpus[cpu].count > 1 && self.cpus[cpu].is_full();
        let counts = |cpu: usize| pinned >> cpu & 1 == 0;
        let others = (0..self.cpus.len()).filter(|cpu| *cpu != at && counts(*cpu));
        let others = others.filter(|cpu| is_overloaded(*cpu));
        let from = others.max_by_key(|cpu| self.cpus[*cpu].scaled_load())?;
        let (own, other) = (&self.cpus[at], &self.cpus[from]);
        let imbalance = |wanted| Some(Imbalance { from, wanted });
        if !own.is_full() {
            let threads = other.count.saturating_sub(own.count) / 2;
            return if threads == 0 { None } else { imbalance(Wanted::Threads(threads as u64)) };
        }
        let counted = || self.cpus.iter().enumerate().filter(|(cpu, _)| counts(*cpu));
        let all: u64 = counted().map(|(_, cpu)| cpu.load).sum();
        let capacity: u64 = counted().map(|(_, cpu)| cpu.capacity()).sum();
        let mean = scaled(all, WHOLE, capacity);
        let (own_load, other_load) = (own.scaled_load(), other.scaled_load());
        let is_near = is_overloaded(at)
            && u128::from(other_load) * 100 <= u128::from(own_load) * u128::from(IMBALANCE_PERCENT);
        if own_load >= other_load || own_load >= mean || is_near {
            return None;
        }
        let too_much = scaled(other_load.saturating_sub(mean), other.capacity(), WHOLE);
        let too_little = scaled(mean - own_load, own.capacity(), WHOLE);
        match too_much.min(too_little) {
            0 => None,
            load => imbalance(Wanted::Load(load)),
        }
    }

    /// Whether a thread that waits is moved, where so much is still wanted; then that becomes less.
    pub(crate) fn moves_it(&mut self, at: usize, thread: ThreadAt, wanted: &mut Wanted) -> bool {
        let failed = self.cpus[at].failed;
        let demand = &self.threads[thread as usize];
        let is_hot = demand.ended_ns.is_some_and(|ended_ns| self.looked_ns < ended_ns + HOT_NS);
        if is_hot && failed <= NICE_TRIES {
            return false;
        }
        match wanted {
            Wanted::Threads(left) => *left -= 1,
            Wanted::Load(left) => {
                let load = demand.load.max(1);
                if load >> failed.min(63) > *left {
                    return false;
                }
                *left = left.saturating_sub(load);
            }
        }
        true
    }

    /// Those that wait, in the order in which they are looked at: who came or ran longest ago first.
    pub(crate) fn ordered(&mut self, waiting: impl Iterator<Item = ThreadAt>) -> Vec<ThreadAt> {
        let mut ordered = std::mem::take(&mut self.waiting);
        ordered.clear();
        ordered.extend(waiting);
        ordered.sort_unstable_by_key(|thread| (self.threads[*thread as usize].listed_ns, *thread));
        ordered
    }

    /// A CPU has tried to take threads from among those.
    pub(crate) fn tried(&mut self, at: usize, waiting: Vec<ThreadAt>, has_moved: bool) {
        self.gives_back(waiting);
        let failed = &mut self.cpus[at].failed;
        *failed = if has_moved { 0 } else { failed.saturating_add(1) };
    }

    /// A list that is done with is filled again the next time.
    pub(crate) fn gives_back(&mut self, waiting: Vec<ThreadAt>) {
        self.waiting = waiting;
    }

    /// Whether a thread that is woken, and finds no idle CPU, goes to its waker's CPU, which has less to do than the one
    /// on which it ran last.
    pub(crate) fn draws(&self, thread: ThreadAt, waker: usize, last: usize) -> bool {
        let load = self.threads[thread as usize].load;
        let (to, from) = (&self.cpus[waker], &self.cpus[last]);
        let there = u128::from(to.load + load) * 100 * u128::from(from.capacity());
        let here = u128::from(from.load.saturating_sub(load)) * u128::from(WAKE_PERCENT);
        there < here * u128::from(to.capacity())
    }
}

impl Wanted {
    pub(crate) const fn is_none(self) -> bool {
        matches!(self, Self::Threads(0) | Self::Load(0))
    }
}
