//! What a recording tells of a system: what each thread did, what came from outside, what things cost, and how late
//! the victims were.
//!
//! `observation.rs` looks on while the recording is explained, one reading for both, and knows which event tells
//! what (`interrupts.rs` does of interrupts and softirqs); `draft.rs` writes the threads' scripts, `contexts.rs` knows
//! what a CPU does above its task, `costs.rs` what the machine's own work takes, `pace.rs` how fast CPUs were,
//! `lates.rs` when no interrupt is taken, `turns.rs` who waits for whom; `recent.rs` keeps what may yet have been stolen.

mod cold;
mod contexts;
mod costs;
mod cpu;
mod draft;
mod interrupts;
mod lates;
mod observation;
mod pace;
mod recent;
mod samples;
mod turns;
mod waking;

use costs::Measured;
pub(crate) use costs::{Costs, Programming};
pub(crate) use draft::Draft;
pub(crate) use lates::BySeen;
pub use observation::Observation;
use pace::Paces;
use recent::{As, Stretch};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tardy_model::event::{Comm, TaskCpus, TaskInfo};
use tardy_model::{Culprit, Segment, TaskId};
use tardy_sim::{Arrival, Bandwidth, COST_NS_MAX, NO_THREAD, Pace, Taken};
use turns::Turn;
use waking::Slept;

/// Threads that are replayed, at most.
pub(crate) const THREADS_MAX: usize = 1 << 15;

/// Steps of all threads together, at most: 16 bytes each.
pub(crate) const STEPS_MAX: usize = 1 << 24;

/// Wakings of one thread by another that are kept to see who waits for whom, at most: 120 MB. Of the later ones it is not
/// told what no event tells.
const TURNS_MAX: usize = 1 << 21;

/// Wakeups of victims that are kept, at most, each with its segments.
pub(crate) const WAKEUPS_MAX: usize = 1 << 20;

/// Control groups of which it is kept what they weigh and may use. Of the others it is not known.
const GROUPS_MAX: usize = 1 << 12;

/// Segments of one wakeup that are kept; the rest counts as nobody's.
pub(crate) const SEGMENTS_MAX: usize = 64;

/// The source of what wakes threads and is no thread.
pub(crate) const WAKING: &str = "waking";

/// An interrupt that is late by less than this is not looked at: it is in its usual way.
const STALL_NS_MIN: u64 = 2_000;

/// A wakeup of a victim as it was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub(crate) expiry_ns: u64,
    /// How late it ran, or was back where it marks that.
    pub lateness_ns: u64,
    pub(crate) segments: Box<[Segment]>,
}

/// A thread.
#[derive(Debug)]
pub(crate) struct ThreadSeen {
    pub(crate) task: TaskId,
    pub(crate) comm: Comm,
    pub(crate) info: TaskInfo,
    /// The path of its control group, where it was told.
    pub(crate) group: Option<Arc<str>>,
    /// The CPUs on which it may run, where that was told.
    pub(crate) allowed: Option<u64>,
    /// The place of the thread that began it, where that was seen.
    pub(crate) begun_by: Option<u32>,
    pub(crate) draft: Draft,
    pub(crate) is_victim: bool,
    /// It runs the softirq of high-resolution timers, which the simulator does itself.
    pub(crate) runs_timers: bool,
    /// So long it ran softirqs that devices' interrupts had left.
    pub(crate) softirqs_ns: u64,
}

impl ThreadSeen {
    /// It runs softirqs, and hardly anything else.
    pub(crate) fn serves_softirqs(&self) -> bool {
        self.runs_timers || self.softirqs_ns * 2 > self.draft.runs_ns()
    }

    /// The CPUs to which it is bound, if it is: as was told, or, where it was not, or has run elsewhere, as far as it shows
    /// by where it ran.
    pub(crate) fn bound_to(&self) -> Option<u64> {
        match self.allowed {
            Some(TaskCpus::ANY) => None,
            Some(allowed) if allowed != 0 && self.draft.cpus & !allowed == 0 => Some(allowed),
            _ if self.info.has(TaskInfo::KERNEL) && self.draft.cpus.is_power_of_two() => {
                Some(self.draft.cpus)
            }
            _ => self.draft.stays_on().map(|cpu| 1 << cpu),
        }
    }
}

/// A control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSeen {
    /// As a thread of nice 0 has 1024.
    pub(crate) weight: Option<u32>,
    /// CPU time of all CPUs together, where it may not use all of it.
    pub(crate) bandwidth: Option<Bandwidth>,
}

/// What a recording told.
#[derive(Debug, Default)]
pub struct Observed {
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    /// Events in all, and those that are known to be missing.
    pub events: u64,
    pub(crate) losses: u64,
    pub(crate) cpus: u16,
    pub(crate) threads: Vec<ThreadSeen>,
    at: HashMap<TaskId, u32>,
    pub(crate) arrivals: Vec<Arrival>,
    /// Softirqs that a thread for that ran, by the place of the interrupt that had left it: ns.
    pub(crate) threaded: Vec<(usize, u32)>,
    /// Those among them that woke up a CPU, with the idle state that it was in, and how it had slept.
    woke_up: Vec<(usize, u32, Slept)>,
    pub(crate) thefts: Vec<Taken>,
    /// When timers' interrupts came late to CPUs that only polled.
    pub(crate) stalls: Vec<Taken>,
    /// Sources of arrivals, by name, with the number of an interrupt line.
    pub(crate) sources: Vec<(String, Option<u32>)>,
    pub(crate) costs: Costs,
    seen_paces: Paces,
    /// How the paces of CPUs changed.
    pub(crate) paces: Vec<Pace>,
    pub(crate) wakeups: Vec<Recorded>,
    /// Wakeups that are not among them: of other kinds, or touched by a loss.
    pub(crate) uncounted: usize,
    /// The latter: nobody knows what delayed them.
    pub(crate) near_missing: u64,
    /// Who woke whom.
    turns: Vec<Turn>,
    /// Something was not kept: what.
    pub(crate) bounds: Vec<&'static str>,
    pub(crate) switches: u64,
    pub(crate) expiries: u64,
    /// Those of them whose interrupt was seen to begin.
    pub(crate) expiries_in_interrupts: u64,
    /// Expiries of sleeping ordinary threads: in a softirq, and in an interrupt.
    pub(crate) fair_sleepers: [u64; 2],
    pub(crate) ticks: u64,
    /// When the last one was due.
    pub(crate) tick_ns: u64,
    /// Control groups, and sessions that are such, by path.
    pub(crate) groups: BTreeMap<Arc<str>, GroupSeen>,
}

impl Observed {
    /// How long it lasts, ns.
    pub fn span_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }

    /// Whether any of the victims' lateness is laid at something's feet.
    pub(crate) fn blames(&self, culprit: Culprit) -> bool {
        let segments = self.wakeups.iter().flat_map(|wakeup| wakeup.segments.iter());
        segments.into_iter().any(|segment| segment.culprit == culprit)
    }

    /// The recorded wakeups of the victims.
    pub fn wakeups(&self) -> &[Recorded] {
        &self.wakeups
    }

    fn reached(&mut self, bound: &'static str) {
        if !self.bounds.contains(&bound) {
            self.bounds.push(bound);
        }
    }

    /// The place of a thread; [`NO_THREAD`] of the idle tasks, and where there are too many.
    fn place(&mut self, task: TaskId) -> u32 {
        if task == TaskId::IDLE {
            return NO_THREAD;
        }
        if let Some(at) = self.at.get(&task) {
            return *at;
        }
        if self.threads.len() >= THREADS_MAX {
            self.reached("threads");
            return NO_THREAD;
        }
        let at = self.threads.len() as u32;
        self.at.insert(task, at);
        self.threads.push(ThreadSeen {
            task,
            comm: Comm::default(),
            info: TaskInfo::default(),
            group: None,
            allowed: None,
            begun_by: None,
            draft: Draft::default(),
            is_victim: false,
            runs_timers: false,
            softirqs_ns: 0,
        });
        at
    }

    pub(crate) fn thread(&mut self, task: TaskId) -> Option<&mut ThreadSeen> {
        let at = self.place(task);
        self.threads.get_mut(at as usize)
    }

    /// A thread is begun by another.
    fn begun_by(&mut self, child: TaskId, parent: TaskId) {
        let parent = self.place(parent);
        if let Some(child) = self.thread(child)
            && parent != NO_THREAD
        {
            // The same id may have been another's, in another group.
            (child.group, child.begun_by) = (None, Some(parent));
        }
    }

    /// What is known of a control group, if not of too many.
    fn group(&mut self, path: &str) -> Option<&mut GroupSeen> {
        if !self.groups.contains_key(path) {
            if self.groups.len() >= GROUPS_MAX {
                return None;
            }
            self.groups.insert(path.into(), GroupSeen::default());
        }
        self.groups.get_mut(path)
    }

    /// A thread wakes another, which has slept: both know it as the last step of their scripts.
    fn asks(&mut self, asks: u32, answers: u32) {
        if asks == answers || self.turns.len() >= TURNS_MAX {
            return;
        }
        let turn = self.turns.len() as u32;
        let last = |draft: &Draft| draft.steps.len().checked_sub(1);
        let [one, other] = match self.threads.get_disjoint_mut([asks as usize, answers as usize]) {
            Ok(both) => both.map(|thread| &mut thread.draft),
            Err(_) => return,
        };
        if let (Some(step), Some(wait)) = (last(one), last(other)) {
            (one.asks, other.answers) = (Some(turn), Some(turn));
            let (asks, answers) = ((asks, step), (answers, wait));
            self.turns.push(Turn { asks, answers, over_ns: None, is_beside: false });
        }
    }

    /// A thread sleeps, not for a lock. `runs` tells who runs.
    fn rests(&mut self, now_ns: u64, thread: u32, runs: impl Fn(TaskId) -> bool) {
        let Some(draft) = self.threads.get_mut(thread as usize).map(|thread| &mut thread.draft)
        else {
            return;
        };
        draft.asks = None;
        if let Some(answered) = draft.answers.take()
            && let Some(turn) = self.turns.get_mut(answered as usize)
            && let Some(asking) = self.threads.get(turn.asks.0 as usize)
        {
            let at_ns = now_ns.saturating_sub(self.first_ns);
            turn.is_beside = runs(asking.task);
            turn.over_ns = (asking.draft.asks == Some(answered)).then_some(at_ns);
        }
    }

    /// Threads also do what no event tells of.
    fn completes_turns(&mut self) {
        let turns = std::mem::take(&mut self.turns);
        // What threads for softirqs do is the simulator's.
        let serves: Vec<bool> = self.threads.iter().map(ThreadSeen::serves_softirqs).collect();
        let draft_of = |at: u32| {
            let thread = self.threads.get(at as usize)?;
            (!serves[at as usize]).then_some(&thread.draft)
        };
        let turns::Unseen { steps, woke } = turns::unseen(&turns, draft_of);
        for (at, steps) in steps {
            if let Some(thread) = self.threads.get_mut(at as usize) {
                thread.draft.also_does(&steps);
            }
        }
        for (at, ns, woken) in woke {
            if let Some(thread) = self.threads.get_mut(at as usize) {
                thread.draft.woke.push((ns, woken));
            }
        }
        for thread in &mut self.threads {
            thread.draft.woke.sort_unstable_by_key(|(ns, _)| *ns);
        }
    }

    /// The place of a source of interrupts.
    fn source(&mut self, name: &str, line: Option<u32>) -> u32 {
        let known = self.sources.iter().position(|known| known.0 == name && known.1 == line);
        known.unwrap_or_else(|| {
            self.sources.push((name.to_owned(), line));
            self.sources.len() - 1
        }) as u32
    }

    /// An interrupt came. Its place among all.
    fn arrives(&mut self, cpu: usize, at_ns: u64, arrival: Arrival) -> Option<usize> {
        let at_ns = at_ns.saturating_sub(self.first_ns);
        if self.arrivals.len() >= STEPS_MAX {
            self.reached("interrupts");
            return None;
        }
        self.arrivals.push(Arrival { at_ns, cpu: cpu as u16, ..arrival });
        Some(self.arrivals.len() - 1)
    }

    /// A stretch is what it was taken for.
    fn measures(&mut self, cpu: u16, stretch: Stretch) {
        let As::Work(what) = stretch.taken else { return };
        let ns = stretch.to_ns.saturating_sub(stretch.from_ns);
        let when = Paces::when(cpu, stretch.from_ns.saturating_sub(self.first_ns));
        let when = when.after(stretch.cold);
        self.costs.add(when, what, ns);
        self.seen_paces.add(when, what, ns);
        if let Measured::PollLate(cpu) = what
            && ns >= STALL_NS_MIN
            && self.stalls.len() < STEPS_MAX
        {
            let at_ns = stretch.from_ns.saturating_sub(self.first_ns);
            self.stalls.push(Taken { at_ns, cpu, ns: ns.min(COST_NS_MAX) });
        }
    }

    /// A hypervisor had a CPU in a time.
    fn is_stolen(&mut self, cpu: u16, from_ns: u64, to_ns: u64) {
        if self.thefts.len() < STEPS_MAX {
            let at_ns = from_ns.saturating_sub(self.first_ns);
            let ns = (to_ns - from_ns).min(COST_NS_MAX);
            self.thefts.push(Taken { at_ns, cpu, ns });
        } else {
            self.reached("thefts");
        }
    }

    /// So much of what was taken for something was stolen. Whether the rest can be what it was taken for.
    fn is_robbed(&mut self, taken: As, ns: u64) -> bool {
        let short = u32::try_from(ns).unwrap_or(u32::MAX);
        match taken {
            As::Work(_) => return false,
            As::Run(thread) => {
                if let Some(thread) = self.threads.get_mut(thread as usize) {
                    thread.draft.was_robbed(ns);
                }
            }
            As::Interrupt(at) => {
                if let Some(arrival) = self.arrivals.get_mut(at) {
                    arrival.handler_ns = arrival.handler_ns.saturating_sub(short);
                }
            }
            As::Softirq(at) => {
                if let Some(arrival) = self.arrivals.get_mut(at) {
                    arrival.softirq_ns = arrival.softirq_ns.saturating_sub(short);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::Prio;

    #[test]
    fn a_thread_is_bound_as_was_told_and_else_as_it_shows() {
        let mut observed = Observed::default();
        let thread = observed.thread(TaskId(7)).unwrap();
        (0..50).for_each(|_| thread.draft.comes_to_run(1, Prio(120)));
        assert_eq!(thread.bound_to(), Some(0b10), "nobody told, and it stayed there");
        thread.allowed = Some(TaskCpus::ANY);
        assert_eq!(thread.bound_to(), None, "it could have gone elsewhere");
        thread.allowed = Some(0b110);
        assert_eq!(thread.bound_to(), Some(0b110));
        thread.allowed = Some(0b100);
        assert_eq!(thread.bound_to(), Some(0b10), "it was told before it was bound elsewhere");
    }
}
