//! A timer's life, of both subsystems.
//!
//! What the kernel's events do not tell, and what is done about it:
//! - `timer_cancel` comes before every expiry and every rearming too (seen on 6.18; `hrtimer_cancel`
//!   there only before a rearming or where somebody gives up). Cancels are passed on as they come,
//!   and what was armed is remembered beyond them.
//! - `hrtimer_start` does not name its clock. An expiry that is nearer to what `CLOCK_REALTIME`
//!   shows than to `CLOCK_MONOTONIC` is taken as the former's. `CLOCK_BOOTTIME` is recognised at
//!   the expiry only, where the event carries that clock's reading; until then such a timer's
//!   arming shows an expiry later by the time suspended. `CLOCK_TAI` is told from `CLOCK_REALTIME`
//!   there too; until then its lead of whole seconds, where one is set, stays in.
//! - Where it is not known how far an expiry's clock is from the trace's (see [`super::clock`]) when
//!   the timer is armed, the arming shows an expiry that never comes, and the timer counts as one that
//!   was armed before the recording.
//! - `hrtimer_expire_entry` does not tell the expiry: it is what was last armed at that address. A
//!   timer armed before the recording has the clock reading of its expiry loop instead, and a slack
//!   of 0: it looks as if it were nearly on time.
//! - Where events were lost, the last arming may be among them: what should have expired by then counts
//!   as armed before the recording, too, but for whose it is.
//! - A CPU that goes offline leaves its timers to another: whoever does that starts them again, with the
//!   expiry that they have. Their owner and the call in which they were armed stay.
//! - Timers of the wheel count ticks. The expiry is the start of the tick that they wait for, by
//!   the phase in which the kernel's own tick timer was armed; the slack reaches to the end of the
//!   wheel's bucket. Both are as good as the tick is regular.

use super::armed::ArmedTimers;
use super::clock::{Asked, Reading};
use super::tick::Tick;
use super::{Known, Record, State};
use rustc_hash::FxHashMap;
use tardy_kernel::Definitions;
use tardy_model::event::{
    Call, ExpireBegin, ExpireEnd, TimerArm, TimerCancel, TimerMode, TimerPending,
};
use tardy_model::{Batch, CpuId, Event, Prio, TaskId, TimerClass, TimerId};

const fn timer(
    event: &'static str,
    fields: &'static [&'static str],
    decode: super::Handler,
) -> Known {
    Known { group: "timer", event, variant: 0, fields, decode }
}

pub(super) const EVENTS: &[Known] = &[
    timer(
        "hrtimer_start",
        &["hrtimer", "function", "expires", "softexpires", "mode"],
        hrtimer_start,
    ),
    timer("hrtimer_cancel", &["hrtimer"], cancel),
    timer("hrtimer_expire_entry", &["hrtimer", "function", "now"], hrtimer_expire),
    timer("hrtimer_expire_exit", &["hrtimer"], expire_end),
    timer(
        "timer_start",
        &["timer", "function", "expires", "now", "flags", "bucket_expiry", "timeout"],
        timer_start,
    ),
    timer("timer_cancel", &["timer"], cancel),
    timer("timer_expire_entry", &["timer", "function", "now"], timer_expire),
    timer("timer_expire_exit", &["timer"], expire_end),
];

/// The group of events that only kernels with threads for timers have (`kernel/` of this repository).
pub const POLICY_GROUP: &str = "timer_policy";

pub(super) const POLICY_EVENTS: &[Known] = &[Known {
    group: POLICY_GROUP,
    event: "timer_pending",
    variant: 0,
    fields: &["hrtimer", "pid", "prio"],
    decode: pending,
}];

/// The callback of timers on which a thread sleeps, which arms them itself.
const SLEEPER: &str = "hrtimer_wakeup";

/// The callbacks of the tick, whose expiry shows where ticks begin (the first since Linux 6.10).
const TICK: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];

/// What is known of timers beside their ids.
pub(super) struct Timers {
    armed: ArmedTimers,
    callbacks: FxHashMap<u64, Callback>,
    pub(super) tick: Tick,
}

/// What matters of a callback's function, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callback {
    Sleeper,
    Tick,
    Other,
}

/// A timer that is armed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Armed {
    pub(super) id: TimerId,
    pub(super) function: u64,
    /// Where it was armed, and will expire but for few.
    pub(super) cpu: CpuId,
    /// When and by whom it was armed, in which call.
    pub(super) armed_ns: u64,
    pub(super) by: TaskId,
    pub(super) call: Call,
    pub(super) soft_ns: u64,
    /// As the kernel had it, on a clock that is not known for sure; 0 for the wheel's timers.
    pub(super) soft_raw_ns: i64,
    /// `soft_ns` is not known.
    pub(super) is_unplaced: bool,
    pub(super) slack_ns: u32,
    pub(super) mode: TimerMode,
    /// Who cancelled it. The kernel may say "cancel" before an expiry too, so what is known must outlive
    /// it.
    pub(super) cancelled_by: Option<TaskId>,
    /// Of the wheel, where it was not known when the machine ticks: the tick for which it waits, and how many more there
    /// are to the end of its bucket.
    pub(super) ticks: Option<(Jiffies, i64)>,
}

/// A tick by the kernel's count, which wraps at the machine's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    count: u64,
    is_word_short: bool,
}

impl Jiffies {
    /// How many ticks before another one it is.
    fn until(self, later: u64) -> i64 {
        self.since(later).saturating_neg()
    }

    /// How many ticks after another one it is.
    fn since(self, earlier: u64) -> i64 {
        if self.is_word_short {
            i64::from((self.count as u32).wrapping_sub(earlier as u32) as i32)
        } else {
            self.count.wrapping_sub(earlier) as i64
        }
    }
}

impl Armed {
    pub(super) fn is_of_wheel(&self) -> bool {
        self.soft_raw_ns == 0
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled_by.is_some()
    }

    /// Whether one that `task` arms now is this one, which it moves: to another CPU, of those that go
    /// offline. Nobody else's has the same expiry to the nanosecond.
    fn is_moved(&self, task: TaskId, function: u64, soft_raw_ns: i64, slack_ns: u32) -> bool {
        self.by != task
            && self.cancelled_by.is_none_or(|by| by == task)
            && (self.function, self.soft_raw_ns, self.slack_ns) == (function, soft_raw_ns, slack_ns)
    }

    fn begin(&self) -> ExpireBegin {
        let Self { id, soft_ns, slack_ns, mode, .. } = *self;
        ExpireBegin { timer: id, soft_ns, slack_ns, mode }
    }
}

/// The most functions that are kept.
const FUNCTIONS_MAX: usize = 1 << 16;

/// What an arming shows where its expiry is not known: never.
const UNKNOWN_NS: u64 = i64::MAX as u64;

/// An expiry that two readings place within this stays where it was placed when it was armed: so an
/// arming and its expiry show the same.
const SAME_PLACE_NS: u64 = 2_000;

impl Timers {
    pub(super) fn new(tick_ns: u64) -> Self {
        Self {
            armed: ArmedTimers::default(),
            callbacks: FxHashMap::default(),
            tick: Tick::new(tick_ns),
        }
    }

    fn callback(&mut self, function: u64, definitions: &Definitions) -> Callback {
        if let Some(callback) = self.callbacks.get(&function) {
            return *callback;
        }
        let callback = match definitions.function_name(function).as_str() {
            SLEEPER => Callback::Sleeper,
            name if TICK.contains(&name) => Callback::Tick,
            _ => Callback::Other,
        };
        if self.callbacks.len() < FUNCTIONS_MAX {
            self.callbacks.insert(function, callback);
        }
        callback
    }

    /// Events of `cpu` are missing until `time_ns`.
    pub(super) fn lost(&mut self, cpu: CpuId, time_ns: u64) {
        self.armed.lost(cpu, time_ns);
    }

    /// A sentence for the reader, where timers were forgotten.
    pub(super) fn note(&self) -> Option<String> {
        self.armed.note()
    }

    /// What was armed at `address`, if it was with this function: after a loss it may be another.
    fn expire(&mut self, address: u64, function: u64) -> Option<Armed> {
        self.armed.take(address).filter(|armed| armed.function == function)
    }
}

fn to_trace(raw_ns: i64, ahead_ns: i64) -> u64 {
    raw_ns.saturating_sub(ahead_ns).max(0) as u64
}

/// The mode as a text shows it: `ABS`, `REL|PINNED|SOFT`.
fn mode_of_words(words: &[u8]) -> TimerMode {
    let bits = words.split(|byte| *byte == b'|').map(|word| match word {
        b"REL" => TimerMode::REL,
        b"PINNED" => TimerMode::PINNED,
        b"SOFT" => TimerMode::SOFT,
        b"HARD" => TimerMode::HARD,
        _ => 0,
    });
    TimerMode(bits.fold(0, |all, bit| all | bit))
}

fn hrtimer_start(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let (address, function) = (record.number(0)?, state.function(record, 1, batch)?);
    let expires = record.number(2)? as i64;
    let soft_raw_ns = record.number(3).map_or(expires, |soft| soft as i64);
    let slack_ns = expires.saturating_sub(soft_raw_ns).clamp(0, u32::MAX.into()) as u32;
    // Kernels before 4.16 do not tell the mode.
    let mode = match record.text(4) {
        Some(words) => mode_of_words(words),
        None => TimerMode(record.number(4).unwrap_or(0) as u8),
    };
    let callback = state.timers.callback(function, &state.definitions);
    let moved = state
        .timers
        .armed
        .get(address)
        .filter(|armed| armed.is_moved(record.current, function, soft_raw_ns, slack_ns));
    let call = moved.map_or_else(|| state.syscalls.of(record.current), |armed| armed.call);
    let (id, mode) = if let Some(armed) = moved {
        (armed.id, armed.mode)
    } else {
        let owner = if callback == Callback::Sleeper { record.current } else { TaskId::IDLE };
        (state.definitions.timer(address, function, owner, TimerClass::Hrtimer, batch), mode)
    };
    let ahead_ns = state.clocks.of_expiry(soft_raw_ns, record.time_ns);
    let soft_ns = ahead_ns.map_or(UNKNOWN_NS, |ahead_ns| {
        let soft_ns = to_trace(soft_raw_ns, ahead_ns);
        state.clocks.not_before(soft_raw_ns, soft_ns, record.time_ns)
    });
    let is_unplaced = ahead_ns.is_none();
    if callback == Callback::Tick && !is_unplaced {
        state.timers.tick.see_armed(address, soft_raw_ns as u64, soft_ns);
    }
    let (armed_ns, by) =
        moved.map_or((record.time_ns, record.current), |armed| (armed.armed_ns, armed.by));
    state.timers.armed.arm(
        address,
        Armed {
            id,
            function,
            cpu: record.cpu,
            armed_ns,
            by,
            call,
            soft_ns,
            soft_raw_ns,
            is_unplaced,
            slack_ns,
            mode,
            cancelled_by: None,
            ticks: None,
        },
    );
    tell_setting(state, record, batch);
    Some(record.event(TimerArm { timer: id, soft_ns, slack_ns, mode, call }))
}

/// Says that somebody set the clock, where that has been found out.
fn tell_setting(state: &mut State, record: &Record<'_>, batch: &mut Batch) {
    if let Some(set) = state.clocks.take_setting() {
        batch.events.push(record.event(set));
    }
}

/// Where `hrtimer_expire_entry` has its clock reading.
const NOW: usize = 2;

/// The clock reading in an `hrtimer_expire_entry`.
pub(super) fn reading(record: &Record<'_>) -> Option<i64> {
    record.number(NOW).map(|now| now as i64)
}

fn hrtimer_expire(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let (address, function) = (record.number(0)?, state.function(record, 1, batch)?);
    let now = record.number(NOW)? as i64;
    let entered_ns = state.entered.of(record.cpu);
    let armed = state.timers.expire(address, function);
    let asked = armed.filter(|armed| !armed.is_unplaced).map(|armed| Asked {
        raw_ns: armed.soft_raw_ns,
        placed_ns: armed.soft_ns,
        armed_ns: armed.armed_ns,
    });
    let not_before_ns = state.entered.not_before(record.cpu, record.current);
    let time_ns = record.time_ns;
    let reading = Reading { reading_ns: now, time_ns, entered_ns, not_before_ns, asked };
    let ahead_ns = state.clocks.of_reading(reading);
    tell_setting(state, record, batch);
    let begin = match armed {
        Some(armed) if !armed.is_unplaced => {
            let soft_ns = to_trace(armed.soft_raw_ns, ahead_ns);
            let soft_ns = state.clocks.not_before(armed.soft_raw_ns, soft_ns, armed.armed_ns);
            let stays = soft_ns.abs_diff(armed.soft_ns) <= SAME_PLACE_NS;
            ExpireBegin { soft_ns: if stays { armed.soft_ns } else { soft_ns }, ..armed.begin() }
        }
        Some(armed) => {
            ExpireBegin { soft_ns: to_trace(now, ahead_ns), slack_ns: 0, ..armed.begin() }
        }
        None => ExpireBegin {
            timer: unarmed(state, address, function, TimerClass::Hrtimer, batch),
            soft_ns: to_trace(now, ahead_ns),
            slack_ns: 0,
            mode: TimerMode::default(),
        },
    };
    Some(record.event(begin))
}

/// The id of a timer whose arming was not seen: nobody's.
fn unarmed(
    state: &mut State,
    address: u64,
    function: u64,
    class: TimerClass,
    batch: &mut Batch,
) -> TimerId {
    state.definitions.timer(address, function, TaskId::IDLE, class, batch)
}

fn cancel(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let address = record.number(0)?;
    if let Some(armed) = state.timers.armed.get_mut(address) {
        armed.cancelled_by = Some(record.current);
    }
    Some(record.event(TimerCancel { timer: state.definitions.timer_at(address) }))
}

fn pending(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let timer = state.definitions.timer_at(record.number(0)?);
    let thread = record.task(1)?;
    let prio = Prio(i16::try_from(record.number(2)? as i32).ok()?);
    Some(record.event(TimerPending { timer, thread, prio }))
}

fn expire_end(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let timer = state.definitions.timer_at(record.number(0)?);
    Some(record.event(ExpireEnd { timer }))
}

/// `TIMER_PINNED` in a wheel timer's flags.
const WHEEL_PINNED: u64 = 0x0010_0000;

fn timer_start(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let (address, function) = (record.number(0)?, state.function(record, 1, batch)?);
    let expires = record.number(2)?;
    // Text tells the difference instead.
    let now = match record.number(3) {
        Some(now) => now,
        None => expires.wrapping_sub(record.number(6)?),
    };
    // Jiffies wrap at the machine's word.
    let is_word_short = record.size(2).map_or(u32::try_from(expires).is_ok(), |size| size == 4);
    let jiffies = |count: u64| Jiffies { count, is_word_short };
    state.timers.tick.see_count(now, record.time_ns);
    let tick = &state.timers.tick;
    let this_tick_ns = tick.begin_ns(record.time_ns);
    let to_go_ns = tick.ticks_ns(jiffies(expires).since(now));
    let soft_ns = this_tick_ns.saturating_add(to_go_ns).max(record.time_ns);
    let bucket = record.number(5).map_or(0, |bucket| jiffies(bucket).since(expires));
    let slack_ns = u32::try_from(tick.ticks_ns(bucket)).unwrap_or(u32::MAX);
    let ticks = (!tick.is_placed()).then_some((jiffies(expires), bucket));
    let pinned = match record.text(4) {
        Some(letters) => letters.contains(&b'P'),
        None => record.number(4).is_some_and(|flags| flags & WHEEL_PINNED != 0),
    };
    let mode = TimerMode(TimerMode::SOFT | if pinned { TimerMode::PINNED } else { 0 });

    let id = unarmed(state, address, function, TimerClass::TimerList, batch);
    let call = state.syscalls.of(record.current);
    state.timers.armed.arm(
        address,
        Armed {
            id,
            function,
            cpu: record.cpu,
            armed_ns: record.time_ns,
            by: record.current,
            call,
            soft_ns,
            soft_raw_ns: 0,
            is_unplaced: false,
            slack_ns,
            mode,
            cancelled_by: None,
            ticks,
        },
    );
    Some(record.event(TimerArm { timer: id, soft_ns, slack_ns, mode, call }))
}

fn timer_expire(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let address = record.number(0)?;
    let function = state.function(record, 1, batch);
    let armed = match function {
        Some(function) => state.timers.expire(address, function),
        // Old kernels do not tell the function here.
        None => state.timers.armed.take(address),
    };
    let now = record.number(2);
    if let Some(now) = now {
        state.timers.tick.see_count(now, record.time_ns);
    }
    let begin = if let Some(mut armed) = armed {
        if let (Some((expires, bucket)), Some(now)) = (armed.ticks, now)
            && let Some(soft_ns) = state.timers.tick.was_due_ns(record.time_ns, expires.until(now))
        {
            armed.soft_ns = soft_ns.max(armed.armed_ns);
            armed.slack_ns = u32::try_from(state.timers.tick.ticks_ns(bucket)).unwrap_or(u32::MAX);
        }
        armed.begin()
    } else {
        let timer = match function {
            Some(function) => unarmed(state, address, function, TimerClass::TimerList, batch),
            None => TimerId::UNKNOWN,
        };
        let mode = TimerMode(TimerMode::SOFT);
        ExpireBegin { timer, soft_ns: record.time_ns, slack_ns: 0, mode }
    };
    Some(record.event(begin))
}
