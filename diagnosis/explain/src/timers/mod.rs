//! Who arms timers, what becomes of them, and what they cost others.
//!
//! [`TimerTable`] is a [`Sink`]: it takes the events that the [`Explainer`](crate::Explainer) has followed,
//! and the wakeups that it explains. A row is one thread's timers of one [`TimerKind`] and one kernel
//! function.
//!
//! **Whose** a timer is and **what becomes of an arming** are told by [`tardy_followers::Timers`]. What an
//! interrupt arms stays in the row in which it was, and so does what the kernel hands on to another CPU,
//! which is no arming of its own.
//!
//! **What it cost others** is their lateness in segments with [`Culprit::Timer`], where the timer's owner
//! is another thread than the victim, and which did not wake it: callbacks that ran first. It is known of
//! wakeups that are explained, so of watched threads; a wakeup is final a second after its end.
//!
//! **Which armings programmed the device** is told by [`Devices`](crate::device::Devices).
//!
//! Time comes in as numbers. Memory is bounded by [`ROWS_MAX`], [`FUNCTIONS_MAX`], and the number of
//! timers that a stream may define ([`Tables::ENTRIES_MAX`]), which a stream without an end exceeds: who
//! follows one begins its source anew from time to time, and calls [`TimerTable::begin_anew`].

mod counts;
mod kind;
mod owners;
mod row;
mod slack;

pub use counts::Counts;
pub use kind::TimerKind;
pub use row::{TimerFindings, TimerProgram, TimerRow, TimerThread, by_program};
pub use slack::Slacks;
pub use tardy_followers::MOVE_NS_MAX;

use crate::device::{DeviceFollower, Why};
use crate::finished::{Named, Sink};
use crate::seen::Seen;
use owners::{OwnerId, Owners};
use rustc_hash::FxHashMap;
use tardy_followers::{Ended, Purpose};
use tardy_model::event::{Call, Comm, TaskInfo, TimerArm};
use tardy_model::{Culprit, Kind, NameId, Tables, TaskId, TimerClass, TimerDef, TimerId};

/// Rows. One more goes into the row of all others.
pub const ROWS_MAX: usize = 1 << 14;

/// Kernel functions that are told apart. The timers of one more go into the row of all others.
pub const FUNCTIONS_MAX: usize = 1 << 12;

/// The row of all others.
const OTHERS: u32 = 0;

/// The function of the timers that no definition tells of.
const NO_FUNCTION: u32 = 0;

/// One that there is no room for.
const FUNCTION_LEFT_OUT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    owner_id: OwnerId,
    kind: TimerKind,
    function: u32,
}

#[derive(Debug, Default)]
struct Row {
    /// `None` for the row of all others, and for one that is free.
    key: Option<Key>,
    /// The thread as it was when it last armed one.
    name: Comm,
    info: TaskInfo,
    counts: Counts,
}

/// Where a timer's events are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Timer {
    /// Its last arming's row; of one that was not seen to be armed, the row of the rest of its life.
    row: Option<u32>,
    purpose: Purpose,
    function: u32,
}

/// Counts what becomes of all timers of a stream.
#[derive(Debug)]
pub struct TimerTable {
    devices: DeviceFollower,
    owners: Owners,
    /// By [`TimerId`].
    timers: Vec<Timer>,
    /// The first is that of all others.
    rows: Vec<Row>,
    free: Vec<u32>,
    by_key: FxHashMap<Key, u32>,
    functions: Vec<String>,
    by_function: FxHashMap<String, u32>,
    /// What a name is among `functions`.
    by_name: FxHashMap<NameId, u32>,
    lost: u64,
    events: u64,
    unknown: u64,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Default for TimerTable {
    fn default() -> Self {
        Self {
            devices: DeviceFollower::default(),
            owners: Owners::default(),
            timers: Vec::new(),
            rows: vec![Row::default()],
            free: Vec::new(),
            by_key: FxHashMap::default(),
            functions: vec![String::new()],
            by_function: FxHashMap::default(),
            by_name: FxHashMap::default(),
            lost: 0,
            events: 0,
            unknown: 0,
            first_ns: None,
            last_ns: 0,
        }
    }
}

impl Sink for TimerTable {
    fn define(&mut self, timers: &[TimerDef]) {
        for timer in timers {
            if let Some(timer) = self.timers.get_mut(timer.id.0 as usize) {
                *timer = Timer::default();
            }
        }
    }

    fn event(&mut self, seen: &Seen<'_>) {
        let (event, followed) = (seen.event, seen.followed);
        self.events += 1;
        self.first_ns.get_or_insert(event.time_ns);
        self.last_ns = event.time_ns;
        match *seen.kind {
            Kind::TimerArm(arm) => self.arm(&arm, seen),
            Kind::TimerCancel(cancel) => {
                if let Some(row) = self.row_of(cancel.timer, seen.tables) {
                    self.rows[row as usize].counts.cancelled += 1;
                }
            }
            Kind::ExpireBegin(begin) => {
                if let Some(row) = self.row_of(begin.timer, seen.tables) {
                    self.ended(row, followed.ended);
                }
            }
            Kind::TaskName(name) => self.owners.rename(event.task, name.comm),
            Kind::TaskInfo(info) => self.owners.inform(event.task, info),
            Kind::TaskExit(_) => self.owners.exit(event.task),
            Kind::Loss(loss) => self.lost += u64::from(loss.count.max(1)),
            _ => {}
        }
        let (rows, timers) = (&mut self.rows, &self.timers);
        self.devices.event(seen, &mut |programming| {
            let timer = timers.get(programming.timer.id.0 as usize);
            if let Some(row) = timer.and_then(|timer| timer.row) {
                let counts = &mut rows[row as usize].counts;
                counts.programmings += 1;
                counts.programmed += u64::from(matches!(programming.why, Why::Armed | Why::Moved));
            }
        });
    }

    /// Of any thread.
    fn wakeup(&mut self, named: &Named<'_>) {
        let (wakeup, tables) = (named.wakeup(), named.tables());
        for segment in &wakeup.segments {
            let Culprit::Timer(timer, armed_by) = segment.culprit else { continue };
            let def = tables.timer(timer);
            let owner = if armed_by == TaskId::IDLE { def.owner } else { armed_by };
            // The timer that woke the victim belongs to the victim, whoever armed it.
            if owner == wakeup.task || timer == wakeup.timer {
                continue;
            }
            let row = self.timer(timer, &def, tables).and_then(|timer| timer.row);
            let row = match row {
                Some(row) => row,
                None => self.row_of_unseen(timer, &def, owner, tables),
            };
            let inflicted_ns = &mut self.rows[row as usize].counts.inflicted_ns;
            *inflicted_ns = inflicted_ns.saturating_add(segment.ns);
        }
    }
}

impl TimerTable {
    /// The source has begun anew, with ids of its own, and so has who follows it: from here on timers are new
    /// ones. What was counted stays. The source must tell who is there.
    pub fn begin_anew(&mut self) {
        self.devices = DeviceFollower::default();
        self.timers = Vec::new();
        self.by_name.clear();
        self.owners.mark_unconfirmed();
    }

    /// Adds the rows of threads that have ended to that of all others.
    pub fn forget_ended(&mut self) {
        let mut forgotten = vec![false; self.rows.len()];
        let mut any = false;
        let (others, rows) = self.rows.split_first_mut().expect("there is one for all others");
        for (row, at) in rows.iter_mut().zip(1u32..) {
            let Some(key) = row.key.filter(|key| !self.owners.is_alive(key.owner_id)) else {
                continue;
            };
            others.counts.add(&std::mem::take(row).counts);
            self.by_key.remove(&key);
            self.free.push(at);
            forgotten[at as usize] = true;
            any = true;
        }
        if any {
            for timer in &mut self.timers {
                if timer.row.is_some_and(|row| forgotten[row as usize]) {
                    timer.row = Some(OTHERS);
                }
            }
        }
        self.owners.forget_exited();
    }

    /// All rows with anything counted, the one of all others last, if there is one.
    pub fn rows(&self) -> Vec<TimerRow> {
        let (others, rows) = self.rows.split_first().expect("there is one for all others");
        let mut all: Vec<TimerRow> = rows.iter().filter_map(|row| self.told(row)).collect();
        if !others.counts.is_empty() {
            all.push(TimerRow { counts: others.counts.clone(), ..TimerRow::default() });
        }
        all
    }

    /// All rows, and the time that they are of.
    pub fn findings(&self) -> TimerFindings {
        TimerFindings { rows: self.rows(), span_ns: self.span_ns() }
    }

    /// From the first event to the last.
    pub fn span_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns))
    }

    /// Events read.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Events that the source lost, at least. What became of the timers that were armed before one is not
    /// known, and not counted unless they expire.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Cancels and expiries of timers that the stream does not define: not counted in any row.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    fn arm(&mut self, arm: &TimerArm, seen: &Seen<'_>) {
        let (task, followed, tables) = (seen.event.task, seen.followed, seen.tables);
        let def = tables.timer(arm.timer);
        let timer = self.timer(arm.timer, &def, tables).copied();
        let before = timer.and_then(|timer| timer.row);
        if let Some(row) = before
            && followed.ended.is_handed_on()
        {
            return self.ended(row, followed.ended);
        }
        let is_tick = timer.is_some_and(|timer| timer.purpose.is_a_tick());
        let (owner, call) = match (def.owner, followed.in_task) {
            _ if is_tick => (TaskId::IDLE, Call::Unknown),
            (TaskId::IDLE, true) => (task, arm.call),
            (TaskId::IDLE, false) => (TaskId::IDLE, Call::Unknown),
            (owner, _) if owner == task => (owner, arm.call),
            (owner, _) => (owner, Call::Unknown),
        };
        let row = if let (Some(row), TaskId::IDLE) = (before, owner) {
            row
        } else {
            let Timer { purpose, function, .. } = timer.unwrap_or_default();
            self.row(owner, purpose, call, function)
        };
        if timer.is_some() {
            self.timers[arm.timer.0 as usize].row = Some(row);
            self.ended(before.unwrap_or(row), followed.ended);
        }
        let is_followed = timer.is_some()
            && def.class == TimerClass::Hrtimer
            && self.devices.is_followed(seen.event.cpu);
        let counts = &mut self.rows[row as usize].counts;
        counts.armed += 1;
        counts.followed += u64::from(is_followed);
        counts.slacks.add(arm.slack_ns);
    }

    fn ended(&mut self, row: u32, ended: Ended) {
        let counts = &mut self.rows[row as usize].counts;
        if ended.was_not_cancelled() {
            counts.cancelled = counts.cancelled.saturating_sub(1);
        }
        match ended {
            Ended::Nothing | Ended::HandedOn | Ended::HandedOnNotCancelled => {}
            Ended::Moved | Ended::MovedNotCancelled => counts.moved += 1,
            Ended::Expired | Ended::ExpiredNotCancelled => counts.expired += 1,
        }
    }

    /// Where a timer counts; `None` of one that the stream does not define.
    fn timer(&mut self, id: TimerId, def: &TimerDef, tables: &Tables) -> Option<&mut Timer> {
        if def.id != id || id == TimerId::UNKNOWN {
            return None;
        }
        let at = id.0 as usize;
        if at >= self.timers.len() {
            self.timers.resize(at + 1, Timer::default());
        }
        if self.timers[at].row.is_none() {
            let text = tables.name(def.function);
            let function = self.function(def.function, text);
            let timer = &mut self.timers[at];
            (timer.function, timer.purpose) = (function, Purpose::of(text));
        }
        Some(&mut self.timers[at])
    }

    /// The row to which a timer's expiry or cancel belongs.
    fn row_of(&mut self, timer: TimerId, tables: &Tables) -> Option<u32> {
        let def = tables.timer(timer);
        match self.timer(timer, &def, tables) {
            None => {
                self.unknown += 1;
                None
            }
            Some(Timer { row: Some(row), .. }) => Some(*row),
            Some(_) => Some(self.row_of_unseen(timer, &def, def.owner, tables)),
        }
    }

    /// The row of a timer that was not seen to be armed.
    fn row_of_unseen(
        &mut self,
        id: TimerId,
        def: &TimerDef,
        owner: TaskId,
        tables: &Tables,
    ) -> u32 {
        let Some(timer) = self.timer(id, def, tables).copied() else { return OTHERS };
        let row = self.row(owner, timer.purpose, Call::Unknown, timer.function);
        self.timers[id.0 as usize].row = Some(row);
        row
    }

    /// The row of a thread's timers of one kind and function: a new one, if there is room.
    fn row(&mut self, owner: TaskId, purpose: Purpose, call: Call, function: u32) -> u32 {
        if function == FUNCTION_LEFT_OUT {
            return OTHERS;
        }
        let owner_id = self.owners.of(owner);
        let known = self.owners.get(owner_id).copied().unwrap_or_default();
        let kind = TimerKind::of(purpose, call, known.info.has(TaskInfo::KERNEL));
        let key = Key { owner_id, kind, function };
        let at = match (self.by_key.get(&key), self.free.pop()) {
            (Some(at), free) => {
                self.free.extend(free);
                *at
            }
            (None, Some(free)) => free,
            (None, None) if self.rows.len() < ROWS_MAX => {
                self.rows.push(Row::default());
                (self.rows.len() - 1) as u32
            }
            (None, None) => return OTHERS,
        };
        let row = &mut self.rows[at as usize];
        if row.key.is_none() {
            row.key = Some(key);
            self.by_key.insert(key, at);
        }
        if known.name != Comm::default() {
            (row.name, row.info) = (known.name, known.info);
        }
        at
    }

    /// What a name is among the functions.
    fn function(&mut self, name: NameId, text: &str) -> u32 {
        if let Some(function) = self.by_name.get(&name) {
            return *function;
        }
        let function = match self.by_function.get(text) {
            _ if text.is_empty() => return NO_FUNCTION,
            Some(function) => *function,
            None if self.functions.len() >= FUNCTIONS_MAX => return FUNCTION_LEFT_OUT,
            None => {
                let function = self.functions.len() as u32;
                self.functions.push(text.to_owned());
                self.by_function.insert(text.to_owned(), function);
                function
            }
        };
        self.by_name.insert(name, function);
        function
    }

    fn told(&self, row: &Row) -> Option<TimerRow> {
        let Key { owner_id: id, kind, function } = row.key?;
        if row.counts.is_empty() {
            return None;
        }
        let owner_id = self.owners.get(id);
        let mut thread = TimerThread {
            task: id.task,
            number: id.number,
            name: owner_id.map_or(row.name, |owner_id| owner_id.name),
            info: owner_id.map_or(row.info, |owner_id| owner_id.info),
            process_name: Comm::default(),
        };
        let process = thread.process();
        thread.process_name = match self.owners.get(self.owners.of(process)) {
            Some(leader) if process != id.task => leader.name,
            _ => thread.name,
        };
        let function = self.functions[function as usize].clone();
        let counts = row.counts.clone();
        Some(TimerRow { thread: Some(thread), kind: Some(kind), function, counts })
    }
}
