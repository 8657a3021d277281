//! The rows of a row group, by column, while they are on their way to the file.

use super::chunk::Dictionary;
use super::{SegmentRow, WakeupRow};
use std::collections::HashMap;

/// Bytes of names after which a row group ends, however few rows it has.
const NAMES_BYTES_MAX: usize = 1 << 20;

/// Numbers of names that are looked up by themselves; a name of a higher one is looked up by its text.
const NUMBERS_MAX: usize = 1 << 20;

/// Rows of `wakeups.parquet`.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    pub(super) id: Vec<i64>,
    pub(super) task: Vec<i32>,
    /// A number among `names`.
    pub(super) task_name: Vec<u32>,
    pub(super) cpu: Vec<i32>,
    pub(super) prio: Vec<i32>,
    /// A number among `kinds`.
    pub(super) kind: Vec<u32>,
    pub(super) expiry_ns: Vec<i64>,
    pub(super) lateness_ns: Vec<i64>,
    pub(super) to_user: Vec<bool>,
    pub(super) touched_by_loss: Vec<bool>,
    pub(super) names: Dictionary,
    pub(super) kinds: Dictionary,
}

/// Rows of `segments.parquet`.
#[derive(Debug, Default)]
pub(super) struct Segments {
    pub(super) wakeup_id: Vec<i64>,
    pub(super) position: Vec<i32>,
    /// A number among `causes`.
    pub(super) cause: Vec<u32>,
    /// A place in `labels`.
    pub(super) culprit: Vec<u32>,
    pub(super) start_ns: Vec<i64>,
    pub(super) ns: Vec<i64>,
    pub(super) labels: Vec<Label>,
    pub(super) causes: Dictionary,
    pub(super) kinds: Dictionary,
    pub(super) names: Dictionary,
    pub(super) pids: Dictionary,
}

/// A culprit, by its numbers among kinds, names and pids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub(super) kind: u32,
    pub(super) name: u32,
    pub(super) pid: Option<u32>,
}

impl Wakeups {
    pub(super) fn rows(&self) -> usize {
        self.id.len()
    }

    /// Whether more names would be too many.
    pub(super) fn is_full(&self) -> bool {
        self.names.bytes() >= NAMES_BYTES_MAX
    }

    pub(super) fn push(&mut self, row: &WakeupRow<'_>, seen: &mut Seen) {
        let name = seen.place(row.victim).unwrap_or_else(|| {
            let name = seen.names.number(row.task_name, &mut self.names);
            seen.keep(row.victim, name);
            name
        });
        // Parquet's unsigned numbers are the same bits.
        self.id.push(row.id as i64);
        self.task.push(row.task as i32);
        self.task_name.push(name);
        self.cpu.push(row.cpu as i32);
        self.prio.push(row.prio);
        self.kind.push(seen.words.number(row.kind, &mut self.kinds));
        self.expiry_ns.push(row.expiry_ns as i64);
        self.lateness_ns.push(row.lateness_ns as i64);
        self.to_user.push(row.to_user);
        self.touched_by_loss.push(row.touched_by_loss);
    }

    pub(super) fn clear(&mut self) {
        self.id.clear();
        self.task.clear();
        self.task_name.clear();
        self.cpu.clear();
        self.prio.clear();
        self.kind.clear();
        self.expiry_ns.clear();
        self.lateness_ns.clear();
        self.to_user.clear();
        self.touched_by_loss.clear();
        self.names.clear();
        self.kinds.clear();
    }
}

impl Segments {
    pub(super) fn rows(&self) -> usize {
        self.wakeup_id.len()
    }

    /// Whether more names would be too many.
    pub(super) fn is_full(&self) -> bool {
        self.names.bytes() >= NAMES_BYTES_MAX
    }

    pub(super) fn push(&mut self, row: &SegmentRow<'_>, seen: &mut Seen) {
        let culprit = seen.place(row.culprit).unwrap_or_else(|| self.label(row, seen));
        self.wakeup_id.push(row.wakeup_id as i64);
        self.position.push(row.position as i32);
        self.cause.push(seen.words.number(row.cause, &mut self.causes));
        self.culprit.push(culprit);
        self.start_ns.push(row.start_ns as i64);
        self.ns.push(row.ns as i64);
    }

    fn label(&mut self, row: &SegmentRow<'_>, seen: &mut Seen) -> u32 {
        let place = self.labels.len() as u32;
        self.labels.push(Label {
            kind: seen.kinds.number(row.culprit_kind, &mut self.kinds),
            name: seen.names.number(row.culprit_name, &mut self.names),
            pid: row
                .culprit_pid
                .map(|pid| *seen.pids.entry(pid).or_insert_with(|| self.pids.push_u32(pid))),
        });
        seen.keep(row.culprit, place);
        place
    }

    pub(super) fn clear(&mut self) {
        self.wakeup_id.clear();
        self.position.clear();
        self.cause.clear();
        self.culprit.clear();
        self.start_ns.clear();
        self.ns.clear();
        self.labels.clear();
        self.causes.clear();
        self.kinds.clear();
        self.names.clear();
        self.pids.clear();
    }
}

/// What the row group that is being filled has seen.
#[derive(Debug)]
pub(super) struct Seen {
    /// By number of a name: the row group that had it last, and its place there.
    places: Vec<(u32, u32)>,
    /// The row group, counted from 1.
    group: u32,
    names: Texts,
    kinds: Words,
    words: Words,
    pids: HashMap<u32, u32>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            group: 1,
            names: Texts::default(),
            kinds: Words::default(),
            words: Words::default(),
            pids: HashMap::new(),
        }
    }
}

impl Seen {
    /// Another row group begins.
    pub(super) fn begin(&mut self) {
        self.group += 1;
        self.names.0.clear();
        self.kinds.0.clear();
        self.words.0.clear();
        self.pids.clear();
    }

    #[inline]
    fn place(&self, number: u32) -> Option<u32> {
        let (group, place) = *self.places.get(number as usize)?;
        (group == self.group).then_some(place)
    }

    fn keep(&mut self, number: u32, place: u32) {
        let at = number as usize;
        if at >= NUMBERS_MAX {
            return;
        }
        if at >= self.places.len() {
            self.places.resize(at + 1, (0, 0));
        }
        self.places[at] = (self.group, place);
    }
}

/// The numbers of texts in a dictionary.
#[derive(Debug, Default)]
struct Texts(HashMap<Box<str>, u32>);

impl Texts {
    fn number(&mut self, text: &str, dictionary: &mut Dictionary) -> u32 {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = dictionary.push_text(text);
        self.0.insert(text.into(), number);
        number
    }
}

/// The same for some dozen words of the program's own.
#[derive(Debug, Default)]
struct Words(Vec<(&'static str, u32)>);

impl Words {
    #[inline]
    fn number(&mut self, word: &'static str, dictionary: &mut Dictionary) -> u32 {
        // The same word nearly always lies at the same place.
        match self.0.iter().find(|(known, _)| std::ptr::eq(*known, word)) {
            Some((_, number)) => *number,
            None => self.add(word, dictionary),
        }
    }

    #[cold]
    fn add(&mut self, word: &'static str, dictionary: &mut Dictionary) -> u32 {
        let known = self.0.iter().find(|(known, _)| *known == word);
        let number = known.map_or_else(|| dictionary.push_text(word), |(_, number)| *number);
        self.0.push((word, number));
        number
    }
}
