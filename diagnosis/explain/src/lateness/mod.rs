//! How late each thread is, by what and by whom, while a stream goes on: what `tardy top` shows.
//!
//! [`LatenessTable`] is a [`Sink`]: it keeps a row for each thread whose wakeups are explained, and one of them
//! whole, the worst. Memory is bounded; who looks from time to time forgets threads that have ended.

mod classes;

use crate::findings::WorstWakeup;
use crate::finished::{Named, Sink};
use crate::label::Label;
use crate::seen::Seen;
use classes::Classes;
use rustc_hash::FxHashMap;
use tardy_model::event::Comm;
use tardy_model::{Cause, Kind, TaskId, Wakeup};

/// Threads. Wakeups of one more are counted, and nothing else is told of them.
pub const ROWS_MAX: usize = 1 << 12;

/// What one thread's lateness is put down to, by cause and group of culprits. One more counts as unknown.
pub const BLAMES_MAX: usize = 64;

/// Names of groups. One more is called by its cause alone.
const GROUPS_MAX: usize = 1 << 12;

/// Culprits whose groups are remembered. Of one more it is asked again each time.
const NAMES_MAX: usize = 1 << 16;

/// A thread's last wakeups are final so long after its end: a second, in which a loss of events may be told of.
const FINAL_NS: u64 = 1_100_000_000;

/// A group without a name.
const NOBODY: u32 = 0;

#[derive(Debug, Default)]
struct Row {
    label: Label,
    process: Comm,
    classes: Classes,
    sum_ns: u64,
    /// Since the last look.
    now: Interval,
    blames: Vec<Blame>,
    worst: Option<Box<WorstWakeup>>,
}

#[derive(Debug)]
struct Blame {
    cause: Cause,
    group: u32,
    ns: u64,
}

/// What came between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Wakeups.
    pub count: u64,
    /// The latest of them.
    pub max_ns: u64,
    /// How late they were together.
    pub sum_ns: u64,
}

/// One thread, at a look.
#[derive(Clone, Debug, Default)]
pub struct LateRow {
    /// Which thread.
    pub task: TaskId,
    /// Its name and id.
    pub label: Label,
    /// The name of its process; empty where it is not known.
    pub process: Comm,
    /// Wakeups since the start.
    pub count: u64,
    /// How late half of them were at most, within 3 %.
    pub p50_ns: u64,
    /// How late 99 % of them were at most, within 3 %.
    pub p99_ns: u64,
    /// The latest.
    pub max_ns: u64,
    /// How late they were together.
    pub sum_ns: u64,
    /// Since the last look.
    pub now: Interval,
    /// The cause that took most, where anything did.
    pub cause: Option<Cause>,
    /// What a person would call who took most as that; empty where nobody is known.
    pub culprit: String,
}

/// How late each thread is.
#[derive(Debug)]
pub struct LatenessTable {
    rows: FxHashMap<TaskId, Row>,
    /// What is known of culprits, by the numbers of their labels.
    group_of: FxHashMap<u32, u32>,
    groups: Vec<Called>,
    by_group: FxHashMap<String, u32>,
    /// Threads that have ended, and when.
    ended: FxHashMap<TaskId, u64>,
    now_ns: u64,
    left_out: u64,
    start_ns: Option<u64>,
}

impl Default for LatenessTable {
    fn default() -> Self {
        Self {
            rows: FxHashMap::default(),
            group_of: FxHashMap::default(),
            groups: vec![Called::default()],
            by_group: FxHashMap::default(),
            ended: FxHashMap::default(),
            now_ns: 0,
            left_out: 0,
            start_ns: None,
        }
    }
}

impl Sink for LatenessTable {
    fn event(&mut self, seen: &Seen<'_>) {
        self.start_ns.get_or_insert(seen.event.time_ns);
        self.now_ns = seen.event.time_ns;
        match seen.kind {
            Kind::TaskExit(_) => {
                self.ended.insert(seen.event.task, self.now_ns);
            }
            // Its number may be one that another had.
            Kind::WokenNew(new) if self.ended.remove(&new.target).is_some() => {
                self.rows.remove(&new.target);
            }
            _ => {}
        }
    }

    fn wants_whole(&self, wakeup: &Wakeup) -> bool {
        // Of whom no wakeup is counted yet, the first is final only later.
        let row = self.rows.get(&wakeup.task);
        row.is_some_and(|row| {
            let worst_ns = row.worst.as_ref().map_or(0, |worst| worst.wakeup.lateness_ns);
            wakeup.lateness_ns > worst_ns
        })
    }

    fn whole(&mut self, worst: WorstWakeup) {
        if let Some(row) = self.rows.get_mut(&worst.wakeup.task) {
            row.worst = Some(Box::new(worst));
        }
    }

    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&wakeup.task) {
            // Who has ended makes room for who lives.
            let gone = self.rows.keys().copied().find(|task| self.ended.contains_key(task));
            let Some(gone) = gone.filter(|_| !self.ended.contains_key(&wakeup.task)) else {
                self.left_out += 1;
                return;
            };
            self.rows.remove(&gone);
        }
        let row = self.rows.entry(wakeup.task).or_default();
        if row.label != *named.victim() {
            row.label = named.victim().clone();
        }
        if row.process == Comm::default()
            && let Some(process) = named.process()
        {
            row.process = named.comm(process);
        }
        let ns = wakeup.lateness_ns;
        row.classes.add(ns);
        row.sum_ns = row.sum_ns.saturating_add(ns);
        row.now.count += 1;
        row.now.max_ns = row.now.max_ns.max(ns);
        row.now.sum_ns = row.now.sum_ns.saturating_add(ns);
        for ((segment, label), id) in named.segments().zip(named.culprit_ids()) {
            let group = if let Some(group) = self.group_of.get(&id) {
                *group
            } else {
                let groups = named.group_names(segment, label);
                let group = group(&mut self.groups, &mut self.by_group, groups);
                if self.group_of.len() < NAMES_MAX {
                    self.group_of.insert(id, group);
                }
                group
            };
            row.blame(segment.cause, group, segment.ns);
        }
    }
}

/// The number of a group's name.
fn group(
    groups: &mut Vec<Called>,
    by_name: &mut FxHashMap<String, u32>,
    (name, exact): (String, String),
) -> u32 {
    match by_name.get(&name) {
        _ if name.is_empty() => NOBODY,
        Some(group) => {
            groups[*group as usize].is_exact &= groups[*group as usize].exact == exact;
            *group
        }
        None if groups.len() >= GROUPS_MAX => NOBODY,
        None => {
            let group = groups.len() as u32;
            groups.push(Called { name: name.clone(), exact, is_exact: true });
            by_name.insert(name, group);
            group
        }
    }
}

/// What a group is called.
#[derive(Debug, Default)]
struct Called {
    name: String,
    /// What the first of its members is called.
    exact: String,
    /// All members are called as the first.
    is_exact: bool,
}

impl Called {
    fn words(&self) -> String {
        if self.is_exact { self.exact.clone() } else { self.name.clone() }
    }
}

impl Row {
    fn blame(&mut self, cause: Cause, group: u32, ns: u64) {
        let known = |blame: &&mut Blame| blame.cause == cause && blame.group == group;
        if let Some(blame) = self.blames.iter_mut().find(known) {
            blame.ns = blame.ns.saturating_add(ns);
        } else if self.blames.len() < BLAMES_MAX {
            self.blames.push(Blame { cause, group, ns });
        } else if group != NOBODY {
            self.blame(cause, NOBODY, ns);
        }
    }

    /// The cause that took most, and who took most as that.
    fn mostly(&self) -> Option<(Cause, u32)> {
        let mut sums: Vec<(Cause, u64)> = Vec::new();
        for blame in &self.blames {
            match sums.iter_mut().find(|(cause, _)| *cause == blame.cause) {
                Some((_, ns)) => *ns = ns.saturating_add(blame.ns),
                None => sums.push((blame.cause, blame.ns)),
            }
        }
        let (cause, _) = sums.into_iter().max_by_key(|(cause, ns)| (*ns, *cause))?;
        let of_it = self.blames.iter().filter(|blame| blame.cause == cause);
        let most = of_it.max_by_key(|blame| (blame.ns, blame.group))?;
        Some((cause, most.group))
    }
}

impl LatenessTable {
    /// The source has begun anew, and so has who follows it: the numbers of names mean nothing any more. What
    /// was counted stays.
    pub fn begin_anew(&mut self) {
        self.group_of.clear();
    }

    /// All rows; the next interval begins. Those of threads that have ended go once all their wakeups are final.
    pub fn look(&mut self) -> Vec<LateRow> {
        let groups = &self.groups;
        let look = |(task, row): (&TaskId, &mut Row)| {
            let mostly = row.mostly();
            LateRow {
                task: *task,
                label: row.label.clone(),
                process: row.process,
                count: row.classes.count(),
                p50_ns: row.classes.quantile_ns(0.5),
                p99_ns: row.classes.quantile_ns(0.99),
                max_ns: row.classes.max_ns(),
                sum_ns: row.sum_ns,
                now: std::mem::take(&mut row.now),
                cause: mostly.map(|(cause, _)| cause),
                culprit: mostly.map_or_else(String::new, |(_, at)| groups[at as usize].words()),
            }
        };
        let mut rows: Vec<LateRow> = self.rows.iter_mut().map(look).collect();
        rows.retain(|row| row.count > 0);
        let (now_ns, of_ended) = (self.now_ns, &mut self.rows);
        self.ended.retain(|task, ended_ns| {
            let is_final = now_ns.saturating_sub(*ended_ns) > FINAL_NS;
            if is_final {
                of_ended.remove(task);
            }
            !is_final
        });
        rows
    }

    /// A thread's worst wakeup, whole.
    pub fn worst(&self, task: TaskId) -> Option<&WorstWakeup> {
        self.rows.get(&task)?.worst.as_deref()
    }

    /// Wakeups of threads for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The time of the first event.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
