//! Events that meet each other: few CPUs, tasks and timers, times that go on.

use super::Taker;
use tardy_model::event::{
    ExpireBegin, ExpireEnd, Migrate, Payload, Priority, Switch, TimerArm, TimerCancel,
    TimerPending, Waking, Woken, WokenNew,
};
use tardy_model::{Batch, CpuId, Event, NameId, TaskId, TimerClass, TimerDef, TimerId};

/// Events of one stream at most: what a story needs comes soon or not at all.
pub const EVENTS_MAX: usize = 2000;

/// Kinds whose `c` is a timer and kinds whose `b` is a task, and the first number that none has here: tables grow to the
/// highest, a million at most, and that again and again would be all that is done.
const TIMER_TAGS: [u8; 5] =
    [TimerArm::TAG, TimerCancel::TAG, ExpireBegin::TAG, ExpireEnd::TAG, TimerPending::TAG];
const TASK_TAGS: [u8; 7] = [
    Waking::TAG,
    WokenNew::TAG,
    Switch::TAG,
    Migrate::TAG,
    Priority::TAG,
    Woken::TAG,
    TimerPending::TAG,
];
const IDS_MAX: u32 = 1 << 10;

/// Tags of events are below this number.
const TAGS: u8 = 64;

/// Names of functions that timers and stacks have, some of which the explainer knows.
const FUNCTIONS: [&str; 8] = [
    "hrtimer_wakeup",
    "tick_sched_timer",
    "process_timeout",
    "dl_task_timer",
    "sched_rt_period_timer",
    "timerfd_tmrproc",
    "a;b;c",
    "worker/0:1",
];

/// The next event. Its bytes choose its kind, CPU, task, how long after the last it was (or, rarely, before it), and
/// what is in it: small numbers, times near its own, or any.
pub(super) fn event(how: &mut Taker<'_>, now_ns: &mut u64) -> Event {
    // Some are of no kind that is known; more kinds come later, and leave the meaning of inputs as it is.
    let tag = how.byte() % TAGS;
    let place = how.byte();
    *now_ns = match how.byte() {
        255 => now_ns.saturating_sub(u64::from(how.byte())),
        254 => now_ns.saturating_add(how.number() << 16),
        253 => now_ns.saturating_add(how.number()),
        later => now_ns.saturating_add(u64::from(later) * u64::from(later)),
    };
    let flags = how.byte();
    let a = match how.byte() {
        255 => how.number(),
        254 => now_ns.wrapping_add(how.number()),
        253 => now_ns.wrapping_sub(how.number()),
        small => small.into(),
    };
    let (mut b, mut c) = (how.number() as u32, how.number() as u32);
    if TIMER_TAGS.contains(&tag) {
        c %= IDS_MAX;
    }
    if TASK_TAGS.contains(&tag) {
        b %= IDS_MAX;
    }
    let payload = Payload { flags, a, b, c };
    let (cpu, task) = (CpuId(u16::from(place & 3)), TaskId(u32::from(place >> 2 & 7)));
    Event::from_parts(*now_ns, cpu, task, tag, payload)
}

/// A stream: names and timers first, then the events that `how` says.
pub fn stream(how: &[u8]) -> Batch {
    let mut batch = Batch::default();
    let names = (1..).zip(FUNCTIONS).map(|(id, name)| (NameId(id), name.to_owned()));
    batch.names.extend(names);
    for id in 1..8 {
        batch.timers.push(TimerDef {
            id: TimerId(id),
            address: id.into(),
            function: NameId(id),
            owner: TaskId(id % 5),
            class: if id == 3 { TimerClass::TimerList } else { TimerClass::Hrtimer },
        });
    }
    let (mut how, mut now_ns) = (Taker::new(how), 1 << 20);
    while !how.rest.is_empty() && batch.events.len() < EVENTS_MAX {
        batch.events.push(event(&mut how, &mut now_ns));
    }
    batch
}
