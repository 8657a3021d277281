//! One bundle: a glance at it in the first reading, its events in the second.

use super::compact::Compact;
use super::index::Ticks;
use super::plan::{Plans, What};
use tardy_perfetto::wire::{Fields, Malformed, numbers};
use tardy_perfetto::{ftrace_clock, own};

/// What the first reading wants to know of a bundle.
#[derive(Debug, Default)]
pub(super) struct Glance<'a> {
    pub(super) cpu: u32,
    /// The stamp of the first event.
    pub(super) first: Option<u64>,
    pub(super) lost: bool,
    pub(super) page_errors: u64,
    pub(super) clock: BundleClock,
    /// Events that are described here: number and descriptor.
    pub(super) descriptors: Vec<(u32, &'a [u8])>,
}

/// The clock of a bundle's stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BundleClock {
    #[default]
    Boot,
    Raw,
    /// One clock for all CPUs, of which the bundle tells how far it is from `CLOCK_BOOTTIME`.
    Global,
    /// Each CPU its own.
    Local,
}

impl BundleClock {
    fn of(number: u64) -> Self {
        match number as i32 {
            ftrace_clock::GLOBAL => Self::Global,
            ftrace_clock::LOCAL => Self::Local,
            ftrace_clock::MONO_RAW => Self::Raw,
            _ => Self::Boot,
        }
    }
}

const EVENT: u32 = 2;
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;
const TIMER_START: u32 = 555;
const TIMER_START_NOW: u32 = 4;

/// Looks at a bundle; `None` where it is none.
pub(super) fn glance<'a>(bundle: &'a [u8], ticks: &mut Ticks) -> Option<Glance<'a>> {
    let mut glance = Glance::default();
    let mut first = u64::MAX;
    let mut has_event = false;
    let mut fields = Fields::of(bundle);
    while let Some((number, value)) = fields.next().ok()? {
        match number {
            1 => glance.cpu = u32::try_from(value.number()).unwrap_or(u32::MAX),
            EVENT => {
                if !has_event && let Some(stamp) = stamp(value.bytes()) {
                    first = first.min(stamp);
                    has_event = true;
                }
                if ticks.is_open() {
                    learn_tick(value.bytes(), ticks);
                }
            }
            3 => glance.lost = value.number() != 0,
            4 => {
                let mut inner = Fields::of(value.bytes());
                while let Ok(Some((column, value))) = inner.next() {
                    if column == Compact::SWITCH_TIMES || column == Compact::WAKING_TIMES {
                        // The first is the stamp itself, those after it differences.
                        let mut begins = None;
                        let _ = numbers(value, |time| {
                            begins.get_or_insert(time);
                        });
                        first = first.min(begins.unwrap_or(u64::MAX));
                    }
                }
            }
            5 => glance.clock = BundleClock::of(value.number()),
            8 => glance.page_errors += 1,
            11 => {
                let (mut id, mut descriptor) = (0, &b""[..]);
                let mut inner = Fields::of(value.bytes());
                while let Ok(Some((part, value))) = inner.next() {
                    match part {
                        1 => id = value.number() as u32,
                        2 => descriptor = value.bytes(),
                        _ => {}
                    }
                }
                glance.descriptors.push((id, descriptor));
            }
            _ => {}
        }
    }
    glance.first = (first != u64::MAX).then_some(first);
    Some(glance)
}

fn stamp(event: &[u8]) -> Option<u64> {
    let mut fields = Fields::of(event);
    while let Ok(Some((number, value))) = fields.next() {
        if number == TIMESTAMP {
            return Some(value.number());
        }
    }
    None
}

fn learn_tick(event: &[u8], ticks: &mut Ticks) {
    let mut stamp = None;
    let mut fields = Fields::of(event);
    while let Ok(Some((number, value))) = fields.next() {
        match number {
            TIMESTAMP => stamp = Some(value.number()),
            TIMER_START => {
                let mut inner = Fields::of(value.bytes());
                while let Ok(Some((field, value))) = inner.next() {
                    if let (TIMER_START_NOW, Some(stamp)) = (field, stamp) {
                        ticks.take(stamp, value.number());
                    }
                }
            }
            _ => {}
        }
    }
}

/// A bundle in memory, its events in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    /// The message.
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    pub(super) compact: Compact,
    pub(super) clock: BundleClock,
    /// What to add to stamps to have them in `CLOCK_BOOTTIME`, for [`BundleClock::Global`].
    pub(super) to_boot_ns: i64,
    pub(super) lost: bool,
    /// The end of the one before, which may not be in the trace; 0 where it is not told.
    pub(super) previous_end: u64,
    /// Events in it that are damaged.
    pub(super) damaged: u64,
    /// Events of kinds that tell nothing.
    pub(super) silent: u64,
    pub(super) scope: u32,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its stamp; then its time.
    pub(super) time_ns: u64,
    /// Where its message is in the bundle; of a compact one, its place among its kind.
    pub(super) at: u32,
    pub(super) bytes: u32,
    /// Who was current.
    pub(super) pid: u32,
    pub(super) what: EntryWhat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryWhat {
    Planned(u16),
    Generic,
    CompactSwitch,
    CompactWaking,
}

impl Bundle {
    /// Reads what is in `bytes`.
    pub(super) fn parse(&mut self, plans: &Plans) {
        self.entries.clear();
        self.compact.clear();
        (self.lost, self.previous_end, self.damaged, self.silent) = (false, 0, 0, 0);
        (self.clock, self.to_boot_ns) = (BundleClock::Boot, 0);
        let (mut ftrace_ns, mut boot_ns, mut last_read) = (0, 0, 0);
        let mut fields = Fields::of(&self.bytes);
        loop {
            match fields.next() {
                Ok(Some((EVENT, value))) => {
                    let bytes = value.bytes();
                    let at = self.bytes.len() - fields.rest().len() - bytes.len();
                    match entry(bytes, at, plans) {
                        Ok(Some(entry)) => self.entries.push(entry),
                        Ok(None) => self.silent += 1,
                        Err(Malformed) => self.damaged += 1,
                    }
                }
                Ok(Some((number, value))) => match number {
                    3 => self.lost = value.number() != 0,
                    4 => self.compact.take(value.bytes()),
                    5 => self.clock = BundleClock::of(value.number()),
                    6 => ftrace_ns = value.number() as i64,
                    7 => boot_ns = value.number() as i64,
                    9 => last_read = value.number(),
                    10 => self.previous_end = value.number(),
                    _ => {}
                },
                Ok(None) => break,
                Err(Malformed) => {
                    self.damaged += 1;
                    break;
                }
            }
        }
        if self.previous_end == 0 {
            self.previous_end = last_read;
        }
        if ftrace_ns != 0 && boot_ns != 0 {
            self.to_boot_ns = boot_ns.saturating_sub(ftrace_ns);
        }
        self.compact.entries(&mut self.entries);
        if !self.entries.is_sorted_by_key(|entry| entry.time_ns) {
            self.entries.sort_by_key(|entry| entry.time_ns);
        }
    }

    pub(super) fn message(&self, entry: Entry) -> &[u8] {
        let at = entry.at as usize;
        self.bytes.get(at..at + entry.bytes as usize).unwrap_or_default()
    }

    /// Whether the first event itself tells of what was lost.
    pub(super) fn begins_with_its_loss(&self) -> bool {
        let is_own = |entry: &Entry| {
            let mut name = Fields::of(self.message(*entry));
            entry.what == EntryWhat::Generic
                && matches!(name.next(), Ok(Some((1, value))) if value.bytes() == own::LOSS.as_bytes())
        };
        self.entries.first().is_some_and(is_own)
    }
}

/// The event of a message, if anything is to be read of it.
#[inline]
fn entry(event: &[u8], at: usize, plans: &Plans) -> Result<Option<Entry>, Malformed> {
    let mut entry = Entry { time_ns: 0, at: 0, bytes: 0, pid: 0, what: EntryWhat::Generic };
    let mut found = false;
    let mut fields = Fields::of(event);
    while let Some((number, value)) = fields.next()? {
        match number {
            TIMESTAMP => entry.time_ns = value.number(),
            PID => entry.pid = value.number() as u32,
            number => {
                if let Some(what) = plans.what(number) {
                    let bytes = value.bytes();
                    entry.at = (at + event.len() - fields.rest().len() - bytes.len()) as u32;
                    entry.bytes = bytes.len() as u32;
                    entry.what = match what {
                        What::Planned(place) => EntryWhat::Planned(place),
                        What::Generic => EntryWhat::Generic,
                    };
                    found = true;
                }
            }
        }
    }
    Ok(found.then_some(entry))
}
