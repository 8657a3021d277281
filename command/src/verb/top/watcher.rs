//! Explains on the fly: from batches of events to rows of threads and of timers, and from look to look.

use crate::session::Consumer;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tardy_explain::lateness::{LateRow, LatenessTable};
use tardy_explain::timers::{Counts, TimerKind, TimerRow, TimerTable, TimerThread};
use tardy_explain::{Explainer, Explanation, Named, Options, Seen, Sink, Watch, WorstWakeup};
use tardy_model::{Batch, TaskId, TimerDef, Wakeup};
use tardy_report::{LATE_TREND, LateLine, TimerUse};

/// Timers that a source defines, and culprits that the explanation names, before both begin anew: some
/// 100 MB. On a machine where few threads come and go that is after days; what happens in the tenths of
/// a second that it takes is not seen.
const TIMERS_MAX: usize = 1 << 18;
const NAMES_MAX: usize = 1 << 18;

/// Events after which they begin anew in any case: an hour at 300,000 a second.
const EVENTS_MAX: u64 = 1 << 30;

/// Events that are explained before it is asked whether somebody wants to look.
const PART_EVENTS: usize = 4096;

/// How long he has to begin.
const GIVE_WAY: Duration = Duration::from_micros(100);

/// What follows the stream, in the hands of the thread that reads it and of who looks.
#[derive(Clone)]
pub(super) struct Watcher {
    watched: Arc<Mutex<Watched>>,
    /// Somebody waits to look: who reads lets him, though it has more to do.
    is_wanted: Arc<AtomicBool>,
}

struct Watched {
    watch: Watch,
    explainer: Explainer<Tables>,
    /// What the source has defined and told since it began.
    timers: usize,
    events: u64,
}

/// What is kept of the stream.
#[derive(Default)]
struct Tables {
    timers: TimerTable,
    late: LatenessTable,
}

impl Sink for Tables {
    fn define(&mut self, defined: &[TimerDef]) {
        self.timers.define(defined);
    }

    #[inline]
    fn event(&mut self, seen: &Seen<'_>) {
        self.timers.event(seen);
        self.late.event(seen);
    }

    fn wakeup(&mut self, named: &Named<'_>) {
        self.timers.wakeup(named);
        self.late.wakeup(named);
    }

    fn wants_whole(&self, wakeup: &Wakeup) -> bool {
        self.late.wants_whole(wakeup)
    }

    fn whole(&mut self, worst: WorstWakeup) {
        self.late.whole(worst);
    }
}

/// Wakeups of whom is watched; of each thread one is kept whole.
fn explainer(watch: Watch, tables: Tables) -> Explainer<Tables> {
    Explainer::new(Options { watch, worst: 0 }, tables)
}

impl Watched {
    fn take(&mut self, batch: &Batch) {
        self.timers += batch.timers.len();
        self.events += batch.events.len() as u64;
        self.explainer.batch(batch);
    }

    fn begin_anew(&mut self) {
        let explained = std::mem::replace(
            &mut self.explainer,
            explainer(self.watch.clone(), Tables::default()),
        );
        let (_, mut tables) = explained.finish();
        tables.timers.begin_anew();
        tables.late.begin_anew();
        self.explainer = explainer(self.watch.clone(), tables);
        (self.timers, self.events) = (0, 0);
    }
}

impl Watcher {
    /// Of whom `watch` chooses, threads and timers.
    pub(super) fn new(watch: Watch) -> Self {
        let explainer = explainer(watch.clone(), Tables::default());
        let watched = Arc::new(Mutex::new(Watched { watch, explainer, timers: 0, events: 0 }));
        Self { watched, is_wanted: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Watcher::lock`], and soon, even where more comes than is read in time.
    fn lock_soon(&self) -> MutexGuard<'_, Watched> {
        self.is_wanted.store(true, Ordering::Relaxed);
        let watched = self.lock();
        self.is_wanted.store(false, Ordering::Relaxed);
        watched
    }

    /// A thread's worst wakeup, and what is needed to tell it.
    pub(super) fn story(&self, task: TaskId) -> Option<Story> {
        let mut now = self.lock_soon();
        let Tables { late, timers } = now.explainer.sink_mut();
        let worst = late.worst(task)?.clone();
        let explanation = Explanation {
            start_ns: late.start_ns(),
            lost: timers.lost(),
            ..Explanation::default()
        };
        Some(Story { explanation, worst })
    }
}

/// One wakeup, to be told.
pub(super) struct Story {
    /// Of the whole stream, as far as a story needs it.
    pub(super) explanation: Explanation,
    pub(super) worst: WorstWakeup,
}

impl Consumer for Watcher {
    fn batch(&mut self, batch: &Batch) {
        // The definitions come with the first part.
        let (first, rest) = batch.events.split_at(batch.events.len().min(PART_EVENTS));
        let (timers, names) = (batch.timers.clone(), batch.names.clone());
        self.lock().take(&Batch { timers, names, events: first.to_vec() });
        for part in rest.chunks(PART_EVENTS) {
            while self.is_wanted.load(Ordering::Relaxed) {
                std::thread::sleep(GIVE_WAY);
            }
            self.lock().take(&Batch { events: part.to_vec(), ..Batch::default() });
        }
    }

    fn has_enough(&self) -> bool {
        let watched = self.lock();
        watched.timers >= TIMERS_MAX
            || watched.explainer.names_known() >= NAMES_MAX
            || watched.events >= EVENTS_MAX
    }

    fn begin_anew(&mut self) {
        self.lock().begin_anew();
    }
}

/// What is seen at one look.
#[derive(Default)]
pub(super) struct Look {
    pub(super) late: Vec<LateLine>,
    pub(super) uses: Vec<TimerUse>,
    pub(super) interval_ns: u64,
    pub(super) total_ns: u64,
    /// In the interval.
    pub(super) events: u64,
    pub(super) lost: u64,
    pub(super) lost_total: u64,
    /// Wakeups of threads for which there was no room.
    pub(super) left_out: u64,
}

/// Which row: the thread, by its id and which of that id, what for, and which function.
type Key = (Option<(TaskId, u32)>, Option<TimerKind>, String);

fn key_of(row: &TimerRow) -> Key {
    let thread = row.thread.map(|thread| (thread.task, thread.number));
    (thread, row.kind, row.function.clone())
}

/// From look to look.
#[derive(Default)]
pub(super) struct Looks {
    before: FxHashMap<Key, Counts>,
    trends: FxHashMap<TaskId, VecDeque<u64>>,
    span_ns: u64,
    events: u64,
    lost: u64,
}

impl Looks {
    /// Looks, and lets go of the threads that have ended: they are seen this time for the last time, and
    /// from then on in the row of all others.
    pub(super) fn look(&mut self, watcher: &Watcher) -> Look {
        let mut now = watcher.lock_soon();
        let Tables { timers: table, late } = now.explainer.sink_mut();
        let (left_out, late) = (late.left_out(), late.look());
        let rows = table.rows();
        let (span_ns, events, lost) = (table.span_ns(), table.events(), table.lost());
        table.forget_ended();
        let after = table.rows();
        let watch = now.watch.clone();
        drop(now);

        let interval_ns = span_ns.saturating_sub(self.span_ns);
        let late = self.trended(late, interval_ns);
        let none = Counts::default();
        let uses = rows.into_iter().map(|row| {
            let now = row.counts.since(self.before.get(&key_of(&row)).unwrap_or(&none));
            TimerUse { row, now }
        });
        // What was armed before the start, and expired once, is soon of no interest.
        let is_watched =
            |thread: TimerThread| watch.includes(thread.task, thread.name, thread.info);
        let is_of_interest = |one: &TimerUse| {
            let is_chosen = watch.all || one.row.thread.is_some_and(is_watched);
            is_chosen && (one.row.counts.armed > 0 || !one.now.is_empty())
        };
        let look = Look {
            late,
            uses: uses.filter(is_of_interest).collect(),
            interval_ns,
            total_ns: span_ns,
            events: events - self.events,
            lost: lost - self.lost,
            lost_total: lost,
            left_out,
        };
        // All others now hold the rows just forgotten: the next interval counts from there.
        self.before = after.into_iter().map(|row| (key_of(&row), row.counts)).collect();
        (self.span_ns, self.events, self.lost) = (span_ns, events, lost);
        look
    }

    /// With what the looks before had; of who is gone that is forgotten.
    fn trended(&mut self, rows: Vec<LateRow>, now_ns: u64) -> Vec<LateLine> {
        let mut trends = FxHashMap::default();
        let line = |row: LateRow| {
            let mut trend = self.trends.remove(&row.task).unwrap_or_default();
            if trend.len() == LATE_TREND {
                trend.pop_front();
            }
            trend.push_back(row.now.max_ns);
            trends.insert(row.task, trend.clone());
            LateLine { row, now_ns, trend }
        };
        let lines = rows.into_iter().map(line).collect();
        self.trends = trends;
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_model::event::{Call, Comm, TaskExit, TaskInfo, TaskName, TimerArm, TimerMode};
    use tardy_model::{CpuId, Event, Kind, NameId, TimerDef, TimerId};

    const TIMER: TimerId = TimerId(1);

    fn everybody() -> Watch {
        Watch { all: true, ..Watch::default() }
    }

    fn at(time_ns: u64, task: u32, kind: impl Into<Kind>) -> Event {
        Event::new(time_ns, CpuId(0), TaskId(task), kind.into())
    }

    fn named(time_ns: u64, task: u32, name: &str) -> [Event; 2] {
        let info = TaskInfo { process: TaskId(task), flags: 0 };
        let comm = Comm::new(name);
        [at(time_ns, task, TaskName { comm }), at(time_ns, task, info)]
    }

    fn armed(time_ns: u64, task: u32) -> Event {
        let (mode, call) = (TimerMode::default(), Call::Poll);
        at(time_ns, task, TimerArm { timer: TIMER, soft_ns: time_ns + 9, slack_ns: 50, mode, call })
    }

    fn batch(events: Vec<Event>) -> Batch {
        let timer = TimerDef { id: TIMER, function: NameId(1), ..TimerDef::default() };
        Batch {
            names: vec![(NameId(1), "timerfd_tmrproc".to_owned())],
            timers: vec![timer],
            events,
        }
    }

    fn seen(look: &Look) -> Vec<(String, u64, u64)> {
        let name = |row: &TimerRow| row.thread.map_or("others".into(), |who| who.name.to_string());
        let told = |one: &TimerUse| (name(&one.row), one.now.armed, one.row.counts.armed);
        look.uses.iter().map(told).collect()
    }

    #[test]
    fn a_look_tells_what_came_since_the_last_and_who_ended_is_seen_once_more() {
        let (mut watcher, mut looks) = (Watcher::new(everybody()), Looks::default());
        let [name, info] = named(0, 7, "short");
        watcher.batch(&batch(vec![name, info, armed(10, 7), armed(20, 7)]));
        let look = looks.look(&watcher);
        assert_eq!(seen(&look), [("short".to_owned(), 2, 2)]);
        assert_eq!((look.events, look.interval_ns, look.total_ns), (4, 20, 20));

        let [name, info] = named(25, 8, "long");
        let events = vec![name, info, armed(30, 7), at(31, 7, TaskExit), armed(32, 8)];
        watcher.batch(&batch(events));
        let look = looks.look(&watcher);
        assert_eq!(seen(&look), [("short".to_owned(), 1, 3), ("long".to_owned(), 1, 1)]);
        let look = looks.look(&watcher);
        assert_eq!(seen(&look), [("long".to_owned(), 0, 1), ("others".to_owned(), 0, 3)]);
        assert_eq!((look.events, look.interval_ns), (0, 0));
    }

    #[test]
    fn timers_of_whom_was_not_chosen_are_not_shown() {
        let watch = Watch { comms: vec!["long".to_owned()], ..Watch::default() };
        let (mut watcher, mut looks) = (Watcher::new(watch), Looks::default());
        let ([short, its], [long, of_it]) = (named(0, 7, "short"), named(0, 8, "long"));
        watcher.batch(&batch(vec![short, its, long, of_it, armed(10, 7), armed(20, 8)]));
        assert_eq!(seen(&looks.look(&watcher)), [("long".to_owned(), 1, 1)]);
    }

    #[test]
    fn a_source_begins_anew_when_it_has_defined_enough_and_counts_go_on() {
        let (mut watcher, mut looks) = (Watcher::new(everybody()), Looks::default());
        assert!(!watcher.has_enough());
        let [name, info] = named(0, 7, "waiter");
        watcher.batch(&batch(vec![name, info, armed(10, 7)]));
        let timers = vec![TimerDef { id: TimerId(2), ..TimerDef::default() }; TIMERS_MAX];
        watcher.batch(&Batch { timers, ..Batch::default() });
        assert!(watcher.has_enough());
        looks.look(&watcher);
        watcher.begin_anew();
        assert!(!watcher.has_enough());
        let [name, info] = named(50, 7, "waiter");
        watcher.batch(&batch(vec![name, info, armed(60, 7)]));
        assert_eq!(seen(&looks.look(&watcher)), [("waiter".to_owned(), 1, 2)]);
    }
}
