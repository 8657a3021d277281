//! Who arms timers, what becomes of them, and what they cost others.
//!
//! [`TimerTable`] takes the same batches as the [`Explainer`](crate::Explainer), and the wakeups that it
//! explains. A row is one thread's timers of one [`TimerKind`] and one kernel function.
//!
//! **Whose** a timer is: of a sleep, the thread that sleeps; of any other, the thread that armed it last
//! in its own context. Armed by an interrupt, or by its own callback, it stays whose it was. The tick is
//! the kernel's, whoever runs when it is set again.
//!
//! **What becomes of an arming.** It ends once, in one of three ways, by the events of its timer:
//!
//! | the timer's next event is | the arming |
//! |---|---|
//! | an expiry | expired, whatever cancel came between: the kernel tells of one before the expiries of some |
//! | an arming, with nothing between | was moved |
//! | a cancel, and an arming as the next event of that CPU by the same task within [`MOVE_NS_MAX`] | was moved |
//! | a cancel | was cancelled |
//!
//! A sleep's timer is never moved: the thread's next sleep finds the same place on its stack.
//!
//! **What it cost others** is their lateness in segments with [`Culprit::Timer`], where the timer's owner
//! is another thread than the victim, and which did not wake it: callbacks that ran first. It is known of
//! wakeups that are explained, so of watched threads; a wakeup is final a second after its end.
//!
//! **Which armings programmed the device** is told by [`Devices`].
//!
//! Time comes in as numbers. Memory is bounded by [`ROWS_MAX`], [`FUNCTIONS_MAX`], and the number of
//! timers that a stream may define ([`Tables::ENTRIES_MAX`]), which a stream without an end exceeds: who
//! follows one begins its source anew from time to time, and calls [`TimerTable::begin_anew`].

mod context;
mod counts;
mod kind;
mod life;
mod people;
mod row;
mod slack;

pub use counts::Counts;
pub use kind::TimerKind;
pub use life::MOVE_NS_MAX;
pub use row::{TimerFindings, TimerProcess, TimerRow, TimerThread, by_process};
pub use slack::Slacks;

use crate::device::{Devices, Why};
use context::{Contexts, Place};
use kind::Purpose;
use life::{Ended, Life};
use people::{People, PersonId};
use rustc_hash::FxHashMap;
use tardy_model::event::{Call, Comm, TaskInfo, TimerArm};
use tardy_model::{
    Batch, Culprit, Event, Kind, NameId, Tables, TaskId, TimerClass, TimerDef, TimerId, Wakeup,
};

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
    person: PersonId,
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

/// Follows all timers of a stream.
#[derive(Debug)]
pub struct TimerTable {
    tables: Tables,
    contexts: Contexts,
    devices: Devices,
    people: People,
    /// By [`TimerId`].
    lives: Vec<Life>,
    /// The first is that of all others.
    rows: Vec<Row>,
    free: Vec<u32>,
    by_key: FxHashMap<Key, u32>,
    functions: Vec<String>,
    by_function: FxHashMap<String, u32>,
    /// What a name is among `functions`.
    by_name: FxHashMap<NameId, u32>,
    losses: u64,
    lost: u64,
    events: u64,
    unknown: u64,
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Default for TimerTable {
    fn default() -> Self {
        Self {
            tables: Tables::default(),
            contexts: Contexts::default(),
            devices: Devices::default(),
            people: People::default(),
            lives: Vec::new(),
            rows: vec![Row::default()],
            free: Vec::new(),
            by_key: FxHashMap::default(),
            functions: vec![String::new()],
            by_function: FxHashMap::default(),
            by_name: FxHashMap::default(),
            losses: 0,
            lost: 0,
            events: 0,
            unknown: 0,
            first_ns: None,
            last_ns: 0,
        }
    }
}

impl TimerTable {
    /// Takes a batch: its definitions, then its events.
    pub fn batch(&mut self, batch: &Batch) {
        batch.define(&mut self.tables);
        for timer in &batch.timers {
            if let Some(life) = self.lives.get_mut(timer.id.0 as usize) {
                *life = Life::default();
            }
        }
        for event in &batch.events {
            self.event(event);
        }
    }

    /// Takes a wakeup that was explained, of any thread.
    pub fn wakeup(&mut self, wakeup: &Wakeup) {
        for segment in &wakeup.segments {
            let Culprit::Timer(timer, armed_by) = segment.culprit else { continue };
            let def = self.tables.timer(timer);
            let owner = if armed_by == TaskId::IDLE { def.owner } else { armed_by };
            // The timer that woke the victim is the victim's affair, whoever armed it.
            if owner == wakeup.task || timer == wakeup.timer {
                continue;
            }
            let row = self.life(timer, &def).and_then(|life| life.row);
            let row = match row {
                Some(row) => row,
                None => self.row_of_unseen(timer, &def, owner),
            };
            let inflicted_ns = &mut self.rows[row as usize].counts.inflicted_ns;
            *inflicted_ns = inflicted_ns.saturating_add(segment.ns);
        }
    }

    /// The source has begun anew, with ids of its own: from here on timers are new ones. What was counted
    /// stays. The source must tell who is there.
    pub fn begin_anew(&mut self) {
        self.tables = Tables::default();
        self.contexts = Contexts::default();
        self.devices = Devices::default();
        self.lives = Vec::new();
        self.by_name.clear();
        self.people.doubt();
    }

    /// Adds the rows of threads that have ended to that of all others.
    pub fn forget_ended(&mut self) {
        let mut forgotten = vec![false; self.rows.len()];
        let mut any = false;
        let (others, rows) = self.rows.split_first_mut().expect("there is one for all others");
        for (row, at) in rows.iter_mut().zip(1u32..) {
            let Some(key) = row.key.filter(|key| !self.people.is_alive(key.person)) else {
                continue;
            };
            others.counts.add(&std::mem::take(row).counts);
            self.by_key.remove(&key);
            self.free.push(at);
            forgotten[at as usize] = true;
            any = true;
        }
        if any {
            for life in &mut self.lives {
                if life.row.is_some_and(|row| forgotten[row as usize]) {
                    life.row = Some(OTHERS);
                }
            }
        }
        self.people.forget_gone();
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

    fn event(&mut self, event: &Event) {
        self.events += 1;
        self.first_ns.get_or_insert(event.time_ns);
        self.last_ns = event.time_ns;
        let was_followed = self.devices.is_followed(event.cpu);
        let (place, in_task) = self.contexts.event(event);
        match event.kind() {
            Kind::TimerArm(arm) => self.arm(event, &arm, place, in_task, was_followed),
            Kind::TimerCancel(cancel) => {
                if let Some(row) = self.row_of(cancel.timer) {
                    let losses = self.losses;
                    self.lives[cancel.timer.0 as usize].cancel(
                        event.time_ns,
                        place,
                        event.task,
                        losses,
                    );
                    self.rows[row as usize].counts.cancelled += 1;
                }
            }
            Kind::ExpireBegin(begin) => {
                if let Some(row) = self.row_of(begin.timer) {
                    let ended = self.lives[begin.timer.0 as usize].expire(self.losses);
                    self.ended(row, ended);
                }
            }
            Kind::TaskName(name) => self.people.rename(event.task, name.comm),
            Kind::TaskInfo(info) => self.people.inform(event.task, info),
            Kind::TaskExit(_) => self.people.exit(event.task),
            Kind::Loss(loss) => {
                self.losses += 1;
                self.lost += u64::from(loss.count.max(1));
            }
            _ => {}
        }
        let (rows, lives) = (&mut self.rows, &self.lives);
        self.devices.event(event, &self.tables, &mut |programming| {
            let life = lives.get(programming.timer.id.0 as usize);
            if let Some(row) = life.and_then(|life| life.row) {
                let counts = &mut rows[row as usize].counts;
                counts.programmings += 1;
                counts.programmed += u64::from(matches!(programming.why, Why::Armed | Why::Moved));
            }
        });
    }

    fn arm(&mut self, event: &Event, arm: &TimerArm, place: Place, in_task: bool, followed: bool) {
        let def = self.tables.timer(arm.timer);
        let life = self.life(arm.timer, &def).copied();
        let is_tick = life.is_some_and(|life| life.purpose == Purpose::Tick);
        let (owner, call) = match (def.owner, in_task) {
            _ if is_tick => (TaskId::IDLE, Call::Unknown),
            (TaskId::IDLE, true) => (event.task, arm.call),
            (TaskId::IDLE, false) => (TaskId::IDLE, Call::Unknown),
            (owner, _) if owner == event.task => (owner, arm.call),
            (owner, _) => (owner, Call::Unknown),
        };
        let before = life.and_then(|life| life.row);
        let row = if let (Some(row), TaskId::IDLE) = (before, owner) {
            row
        } else {
            let unknown = (Purpose::Other, NO_FUNCTION);
            let (purpose, function) = life.map_or(unknown, |life| (life.purpose, life.function));
            self.row(owner, purpose, call, function)
        };
        if life.is_some() {
            let losses = self.losses;
            let life = &mut self.lives[arm.timer.0 as usize];
            let ended = life.arm(event.time_ns, place, event.task, losses);
            life.row = Some(row);
            self.ended(before.unwrap_or(row), ended);
        }
        let counts = &mut self.rows[row as usize].counts;
        counts.armed += 1;
        counts.followed +=
            u64::from(followed && life.is_some() && def.class == TimerClass::Hrtimer);
        counts.slacks.add(arm.slack_ns);
    }

    fn ended(&mut self, row: u32, ended: Ended) {
        let counts = &mut self.rows[row as usize].counts;
        if matches!(ended, Ended::MovedNotCancelled | Ended::ExpiredNotCancelled) {
            counts.cancelled = counts.cancelled.saturating_sub(1);
        }
        match ended {
            Ended::Nothing => {}
            Ended::Moved | Ended::MovedNotCancelled => counts.moved += 1,
            Ended::Expired | Ended::ExpiredNotCancelled => counts.expired += 1,
        }
    }

    /// What is known of a timer; `None` of one that the stream does not define.
    fn life(&mut self, timer: TimerId, def: &TimerDef) -> Option<&mut Life> {
        if def.id != timer || timer == TimerId::UNKNOWN {
            return None;
        }
        let at = timer.0 as usize;
        if at >= self.lives.len() {
            self.lives.resize(at + 1, Life::default());
        }
        if self.lives[at].row.is_none() {
            let function = self.function(def.function);
            let purpose = Purpose::of(self.tables.name(def.function));
            let life = &mut self.lives[at];
            (life.function, life.purpose) = (function, purpose);
        }
        Some(&mut self.lives[at])
    }

    /// The row to which a timer's expiry or cancel belongs.
    fn row_of(&mut self, timer: TimerId) -> Option<u32> {
        let def = self.tables.timer(timer);
        match self.life(timer, &def) {
            None => {
                self.unknown += 1;
                None
            }
            Some(Life { row: Some(row), .. }) => Some(*row),
            Some(_) => Some(self.row_of_unseen(timer, &def, def.owner)),
        }
    }

    /// The row of a timer that was not seen to be armed.
    fn row_of_unseen(&mut self, timer: TimerId, def: &TimerDef, owner: TaskId) -> u32 {
        let Some(life) = self.life(timer, def).copied() else { return OTHERS };
        let row = self.row(owner, life.purpose, Call::Unknown, life.function);
        self.lives[timer.0 as usize].row = Some(row);
        row
    }

    /// The row of a thread's timers of one kind and function: a new one, if there is room.
    fn row(&mut self, owner: TaskId, purpose: Purpose, call: Call, function: u32) -> u32 {
        if function == FUNCTION_LEFT_OUT {
            return OTHERS;
        }
        let person = self.people.of(owner);
        let known = self.people.get(person).copied().unwrap_or_default();
        let kind = purpose.kind(call, known.info.has(TaskInfo::KERNEL));
        let key = Key { person, kind, function };
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
    fn function(&mut self, name: NameId) -> u32 {
        if let Some(function) = self.by_name.get(&name) {
            return *function;
        }
        let text = self.tables.name(name);
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
        let Key { person: id, kind, function } = row.key?;
        if row.counts.is_empty() {
            return None;
        }
        let person = self.people.get(id);
        let mut thread = TimerThread {
            task: id.task,
            number: id.number,
            name: person.map_or(row.name, |person| person.name),
            info: person.map_or(row.info, |person| person.info),
            process_name: Comm::default(),
        };
        let process = thread.process();
        thread.process_name = match self.people.get(self.people.of(process)) {
            Some(leader) if process != id.task => leader.name,
            _ => thread.name,
        };
        let function = self.functions[function as usize].clone();
        let counts = row.counts.clone();
        Some(TimerRow { thread: Some(thread), kind: Some(kind), function, counts })
    }
}
