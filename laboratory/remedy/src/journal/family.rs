//! Who else has what a thread was given: those whom it made, and who stands in its place.
//!
//! Policy, CPUs and slack are inherited. A thread that executes another program, and is not the first of its process,
//! gets the number and the start of the first (`de_thread` in the kernel's `fs/exec.c`), and keeps what it has.

use super::entry::Entry;
use crate::place::{Place, Thread, process_of, threads_of};
use procfs::process::{Process, Stat, StatFlags, all_processes};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use tardy_host::Root;

/// The most processes, and the most threads of one, that are looked at.
const PROCESSES_MAX: usize = 1 << 17;
const THREADS_MAX: usize = 16_384;

/// The most generations between a process and one that it comes from.
const GENERATIONS_MAX: usize = 4096;

/// Ticks since boot, as `/proc/PID/stat` tells them.
pub(super) fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let hz = procfs::ticks_per_second().max(1);
    let part = now.tv_nsec.cast_unsigned() / (1_000_000_000 / hz);
    now.tv_sec.cast_unsigned() * hz + part
}

/// The process of a thread, when that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Family {
    /// Its first thread.
    first: Thread,
    /// What that held, where it is another one.
    held: Option<String>,
    /// The number of its parent.
    parent: i32,
    session: i32,
    /// Where its stack began, which tells one program from the next; 0 where that is not told.
    stack: u64,
    /// When the change was made, in ticks since boot: whoever is older inherited nothing of it.
    since: u64,
}

impl Family {
    /// That of the thread of a place; `None` where nobody inherits it.
    pub(super) fn of(place: &Place, root: &Root) -> Option<Self> {
        let thread = place.thread()?;
        place.of_thread(thread.clone())?;
        let stat = stat(process_of(thread.tid)?)?;
        if stat.flags & StatFlags::PF_KTHREAD.bits() != 0 {
            return None;
        }
        let first = first(&stat);
        let of_first = place.of_thread(first.clone()).filter(|_| first != *thread);
        Some(Self {
            held: of_first.and_then(|place| place.read(root).ok().flatten()),
            first,
            parent: stat.ppid,
            session: stat.session,
            // Its own: of a first thread that has ended it is not told.
            stack: self::stat(thread.tid)?.startstack,
            since: ticks(),
        })
    }
}

fn stat(process: u32) -> Option<Stat> {
    Process::new(process.cast_signed()).ok()?.stat().ok()
}

fn first(stat: &Stat) -> Thread {
    Thread { tid: stat.pid.cast_unsigned(), start: stat.starttime, name: stat.comm.clone() }
}

/// Who took the place of a thread by executing another program, and has what it was given.
pub(super) fn successor(entry: &Entry, root: &Root) -> Option<Place> {
    let (thread, family) = (entry.place.thread()?, entry.family.as_ref()?);
    if family.first == *thread || thread.is_there() {
        return None;
    }
    let now = stat(family.first.tid)?;
    let is_another = now.startstack != 0 && family.stack != 0 && now.startstack != family.stack;
    if first(&now) != family.first || !is_another {
        return None;
    }
    let place = entry.place.of_thread(first(&now))?;
    let has_it = |value: Option<&str>| value.is_some() && place.holds(value, entry.new.as_deref());
    // Where the first one held the same by itself, it is not known whose that is.
    (has_it(place.read(root).ok().flatten().as_deref()) && !has_it(family.held.as_deref()))
        .then_some(place)
}

/// Whether a thread has from another what that was given.
pub(super) fn is_heir(entry: &Entry, place: &Place, all: &Processes, root: &Root) -> bool {
    let (Some(thread), Some(family)) = (place.thread(), entry.family.as_ref()) else {
        return false;
    };
    let is_alike = std::mem::discriminant(place) == std::mem::discriminant(&entry.place);
    is_alike
        && !entry.place.is_kept_from_children(entry.new.as_deref())
        && thread.start >= family.since
        && *place != entry.place
        && *thread != family.first
        && process_of(thread.tid).is_some_and(|process| all.comes_from(process, family))
        && holds(entry, place, root)
}

/// The places of all that have from a thread what it was given.
pub(super) fn heirs(entry: &Entry, all: &Processes, root: &Root) -> Vec<Place> {
    let Some(family) = &entry.family else { return Vec::new() };
    let processes = all.known.keys().filter(|process| all.comes_from(**process, family));
    let since = processes.flat_map(|process| all.threads_since(*process, family.since));
    let is_another =
        |thread: &Thread| Some(thread) != entry.place.thread() && *thread != family.first;
    let others = since.filter(is_another);
    if entry.place.is_kept_from_children(entry.new.as_deref()) {
        if entry.place.slack_of_children(entry.old.as_deref(), entry.new.as_deref()).is_none() {
            return Vec::new();
        }
        return others.filter(|thread| has_no_slack(thread, root)).map(Place::Slack).collect();
    }
    let places = others.filter_map(|thread| entry.place.of_thread(thread));
    places.filter(|place| holds(entry, place, root)).collect()
}

/// Whether an ordinary thread has no timer slack: only one that was made by a real-time thread begins so, and none can
/// choose it.
fn has_no_slack(thread: &Thread, root: &Root) -> bool {
    let told = Place::Policy(thread.clone()).read(root).ok().flatten();
    told.is_some_and(|told| told.split_whitespace().any(|word| word == "slack=0"))
}

fn holds(entry: &Entry, place: &Place, root: &Root) -> bool {
    let now = place.read(root).ok().flatten();
    now.is_some() && place.holds(now.as_deref(), entry.new.as_deref())
}

/// Every process that there is.
pub(super) struct Processes {
    known: BTreeMap<u32, Known>,
    /// The threads of those that were asked for.
    threads: RefCell<BTreeMap<u32, Vec<Thread>>>,
}

struct Known {
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
}

impl Processes {
    pub(super) fn now() -> Self {
        let all = all_processes().into_iter().flatten().take(PROCESSES_MAX);
        let stats = all.filter_map(|process| process.ok()?.stat().ok());
        let known = |stat: Stat| {
            let it = Known {
                parent: stat.ppid,
                group: stat.pgrp,
                session: stat.session,
                start: stat.starttime,
            };
            (stat.pid.cast_unsigned(), it)
        };
        Self { known: stats.map(known).collect(), threads: RefCell::default() }
    }

    /// The threads of a process that are no older than this.
    fn threads_since(&self, process: u32, since: u64) -> Vec<Thread> {
        let mut threads = self.threads.borrow_mut();
        let all = threads.entry(process).or_insert_with(|| threads_of(process, THREADS_MAX));
        all.iter().filter(|thread| thread.start >= since).cloned().collect()
    }

    /// Whether a process is the one of a changed thread, or was made by it or by one that was, since the change.
    fn comes_from(&self, process: u32, family: &Family) -> bool {
        let mut at = process;
        for _ in 0..GENERATIONS_MAX {
            let Some(known) = self.known.get(&at) else { return false };
            if at == family.first.tid && known.start == family.first.start {
                return true;
            }
            if known.start < family.since {
                return false;
            }
            let parent = known.parent.cast_unsigned();
            let above = self.known.get(&parent);
            let is_first = parent == family.first.tid;
            if above.is_some_and(|above| is_first || above.start >= family.since) {
                at = parent;
                continue;
            }
            // Whose parent has ended belongs to one that adopts: such a one is of another session, or is the first of all.
            let is_adopted = above.is_none_or(|above| above.session != family.session)
                || (parent == 1 && family.parent != 1);
            // Nobody tells who made it. Of a session or group that the process leads, only its own are; of one that
            // another leads, anybody may be.
            let first = family.first.tid.cast_signed();
            let is_led = known.session == first || known.group == first;
            return is_led && known.session == family.session && is_adopted;
        }
        false
    }
}
