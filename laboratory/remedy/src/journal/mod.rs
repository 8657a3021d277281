//! The journal: all that tardy alters and that outlives it.
//!
//! What a place held and what it is to hold is written and synced before it is touched ([`Journal::change`]). A change
//! is held by its process: it is taken back when the [`Changed`] is dropped or, where the process was killed, when
//! any tardy starts ([`Journal::undo_left_over`]). One that is kept stays until it is undone by name. Two journals: what a
//! boot undoes is below `/run`, texts that outlive it below `/var/lib`.

mod book;
mod entry;

use book::{Book, Mark};
pub use entry::Entry;
use std::io;
use std::path::PathBuf;

use crate::place::Place;
use crate::setting::Setting;
use tardy_host::Root;

/// What a boot undoes.
const OF_BOOT: &str = "/run/tardy/changes.jsonl";

/// What outlives it.
const OF_EVER: &str = "/var/lib/tardy/changes.jsonl";

/// The most settings of one change: 16 names of kernel threads on 1,024 CPUs.
const SETTINGS_MAX: usize = 16_384;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RemedyError {
    /// The journal cannot be written, so nothing may be changed.
    #[error("the journal {} cannot be written, so nothing was changed: {error}; run as root, \
        with room on the disk", path.display())]
    Journal {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Somebody else is at work on the same.
    #[error("another tardy (process {by}) has changed {what}: wait for its end, or end it")]
    Busy {
        /// The place.
        what: String,
        /// The process.
        by: u32,
    },
    /// A place is not there, cannot be read, or does not take its value.
    #[error("{what} {why}")]
    Refused {
        /// The place.
        what: String,
        /// Why, in the form of a predicate.
        why: String,
    },
}

/// What became of a change that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The place holds again what it held.
    Restored,
    /// It did already, or it is gone: a thread that has ended.
    Nothing,
    /// Somebody else changed it meanwhile: it is left.
    Left {
        /// What it holds now.
        now: Option<String>,
    },
    /// Another tardy that runs has it.
    InUse {
        /// Which process.
        by: u32,
    },
    /// It could not be undone: the journal keeps it.
    Failed {
        /// Why.
        why: String,
    },
}

/// A change that was to be undone, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Which.
    pub entry: Entry,
    /// What became of it.
    pub outcome: Outcome,
}

impl Undone {
    /// In a sentence without its end.
    pub fn words(&self) -> String {
        let what = self.entry.place.words();
        let value = |value: &Option<String>| match value.as_deref().map(|it| it.lines().next()) {
            Some(line) => line.unwrap_or_default().to_owned(),
            None => "not there".to_owned(),
        };
        match &self.outcome {
            Outcome::Restored => format!("{what} is {} again", value(&self.entry.old)),
            Outcome::Nothing => format!("{what} needs no change"),
            Outcome::Left { now } => format!(
                "{what} is left as it is: it was set to {}, and something else has changed it to \
                    {}",
                value(&self.entry.new),
                value(now)
            ),
            Outcome::InUse { by } => format!("{what} is at work in process {by}"),
            Outcome::Failed { why } => format!("{what} is still {}: {why}", value(&self.entry.new)),
        }
    }
}

/// A journal of which something cannot be read: what that changed is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// How much of it.
    pub what: Damage,
}

/// How much of a journal cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// So many lines: a later tardy wrote them, or something has damaged them.
    Lines(usize),
    /// All of it.
    All {
        /// Why.
        why: String,
    },
}

/// The journals of a system.
#[derive(Clone, Debug)]
pub struct Journal {
    root: Root,
}

/// A change that is held. Dropped, it is taken back.
#[derive(Debug)]
#[must_use = "it is taken back when it is dropped"]
pub struct Changed {
    journal: Journal,
    /// `None` once it is taken back or kept.
    entries: Option<Vec<Entry>>,
}

/// A change that stays.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What of it is in the journal.
    pub entries: Vec<Entry>,
}

impl Journal {
    /// That of this system.
    pub fn system() -> Self {
        Self::at(Root::system())
    }

    /// That of a folder that looks like a system. Threads are those of this system all the same.
    pub fn at(root: Root) -> Self {
        Self { root }
    }

    /// Makes these settings, all or none. What is left over of them by a process that was killed is taken back first.
    ///
    /// # Errors
    /// Why it cannot be done; then nothing is left changed.
    pub fn change(&self, settings: &[Setting], why: &str) -> Result<Changed, RemedyError> {
        if settings.len() > SETTINGS_MAX {
            let why = format!("and others: {} settings, more than {SETTINGS_MAX}", settings.len());
            return Err(RemedyError::Refused { what: settings[0].place.words(), why });
        }
        let mut changed = Changed { journal: self.clone(), entries: Some(Vec::new()) };
        for of_boot in [true, false] {
            let of_kind = |setting: &&Setting| is_of_boot(&setting.place) == of_boot;
            let settings: Vec<&Setting> = settings.iter().filter(of_kind).collect();
            if !settings.is_empty() {
                // Dropped, it takes back what was done before.
                self.change_in(of_boot, &settings, why, &mut changed)?;
            }
        }
        Ok(changed)
    }

    fn change_in(
        &self,
        of_boot: bool,
        settings: &[&Setting],
        why: &str,
        changed: &mut Changed,
    ) -> Result<(), RemedyError> {
        let not_written = |error| RemedyError::Journal { path: self.path(of_boot), error };
        let mut book = self.open(of_boot).map_err(not_written)?;
        self.take_back_left_over(&mut book);
        for line in book.lines.iter().filter(|line| line.mark == Mark::Held) {
            if settings.iter().any(|setting| setting.place == line.entry.place) {
                return Err(RemedyError::Busy {
                    what: line.entry.place.words(),
                    by: line.entry.by.tid,
                });
            }
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(settings.len());
        for setting in settings {
            let place = &setting.place;
            let refused = |why| RemedyError::Refused { what: place.words(), why };
            let read = place.read(&self.root);
            let read = read.map_err(|error| refused(format!("could not be read: {error}")))?;
            // A place that is changed twice holds by then what it was given first.
            let before = entries.iter().rev().find(|entry| entry.place == *place);
            let old = before.map_or(read, |entry| entry.new.clone());
            if old.is_none() && !place.is_made() {
                return Err(refused("is not there".to_owned()));
            }
            if place.holds(old.as_deref(), Some(&setting.to)) {
                continue;
            }
            entries.push(Entry::new(place.clone(), old, Some(setting.to.clone()), why));
        }
        book.add(&entries).map_err(not_written)?;
        if let Some(all) = &mut changed.entries {
            all.extend(entries.iter().cloned());
        }
        // The lock is held until all is done: who looks for what is left over finds it whole.
        for entry in &entries {
            self.do_one(entry)
                .map_err(|why| RemedyError::Refused { what: entry.place.words(), why })?;
        }
        Ok(())
    }

    fn do_one(&self, entry: &Entry) -> Result<(), String> {
        let (place, new) = (&entry.place, entry.new.as_deref());
        let to = new.unwrap_or_default().lines().next().unwrap_or_default();
        place
            .write(&self.root, new)
            .map_err(|error| format!("could not be set to {to}: {error}"))?;
        let now = place.read(&self.root).map_err(|error| format!("could not be read: {error}"))?;
        if place.holds(now.as_deref(), new) {
            return Ok(());
        }
        let now = now.unwrap_or_else(|| "nothing".to_owned());
        // What the kernel made of it is not what was asked for, and is put back here: it is in no journal.
        let _ = place.write(&self.root, entry.old.as_deref());
        Err(format!("was set to {to}, but the kernel changed it to {now}"))
    }

    /// What cannot be read, by its file.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        let of_book = |(of_boot, book): (bool, io::Result<Book>)| {
            let what = match book {
                Ok(book) if book.unreadable == 0 => return None,
                Ok(book) => Damage::Lines(book.unreadable),
                Err(error) => Damage::All { why: error.to_string() },
            };
            Some(Unreadable { path: self.path(of_boot), what })
        };
        self.books().filter_map(of_book).collect()
    }

    /// What is changed now, the oldest first, and whether it stays. Of what cannot be read
    /// ([`Journal::unreadable`]) there is nothing.
    pub fn entries(&self) -> Vec<(Entry, bool)> {
        let mut all = Vec::new();
        for (of_boot, book) in self.books() {
            let Ok(book) = book else { continue };
            let open = book.lines.into_iter().filter(|line| line.mark != Mark::Done);
            let of_this = open.filter(|line| !of_boot || !line.entry.is_of_another_boot());
            all.extend(of_this.map(|line| (line.entry, line.mark == Mark::Stays)));
        }
        all
    }

    /// Takes back what processes left that are gone.
    pub fn undo_left_over(&self) -> Vec<Undone> {
        let books = self.books().filter_map(|(_, book)| book.ok());
        books.flat_map(|mut book| self.take_back_left_over(&mut book)).collect()
    }

    /// Takes back everything but what tardys that run are at work on, and what cannot be read
    /// ([`Journal::unreadable`]).
    pub fn undo_all(&self) -> Vec<Undone> {
        // One that cannot be read is no reason to leave what the other tells of.
        let books = self.books().filter_map(|(_, book)| book.ok());
        books.flat_map(|mut book| self.take_back(&mut book, |_| true)).collect()
    }

    /// Those that are there, the one of this boot first, each with whether it is that.
    fn books(&self) -> impl Iterator<Item = (bool, io::Result<Book>)> {
        // Where there is none nothing is made. What is no file has no length.
        let is_there = |of_boot: &bool| match std::fs::symlink_metadata(self.path(*of_boot)) {
            Ok(found) => !found.is_file() || found.len() > 0,
            // It may be there, where nobody may look.
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        [true, false].into_iter().filter(is_there).map(|of_boot| (of_boot, self.open(of_boot)))
    }

    fn take_back_left_over(&self, book: &mut Book) -> Vec<Undone> {
        self.take_back(book, |line| line.mark == Mark::Held && !line.entry.is_owned())
    }

    /// Takes back those that are chosen, the last first, so that a place that was changed twice holds what it held at
    /// first.
    fn take_back(&self, book: &mut Book, is_chosen: impl Fn(&book::Line) -> bool) -> Vec<Undone> {
        let mut undone = Vec::new();
        for at in (0..book.lines.len()).rev() {
            // Emptied when the last one was done.
            let Some(line) = book.lines.get(at).cloned() else { break };
            if line.mark == Mark::Done || !is_chosen(&line) {
                continue;
            }
            let above = book.lines[at..].iter().find(|other| {
                other.mark == Mark::Held
                    && other.entry.place == line.entry.place
                    && other.entry.is_owned()
            });
            let is_own = line.mark == Mark::Held && line.entry.is_owned();
            let outcome = match above {
                // One's own are given back by who holds them.
                Some(above) if !is_own || above.entry.by.tid != std::process::id() => {
                    Outcome::InUse { by: above.entry.by.tid }
                }
                _ => self.undo_one(&line.entry),
            };
            let is_done = !matches!(outcome, Outcome::InUse { .. } | Outcome::Failed { .. });
            undone.push(Undone { entry: line.entry, outcome });
            if is_done && let Err(error) = book.mark(at, Mark::Done) {
                // It is found again and needs nothing.
                let last = undone.last_mut().expect("it was put there");
                last.outcome =
                    Outcome::Failed { why: format!("the journal cannot be written: {error}") };
            }
        }
        undone
    }

    fn undo_one(&self, entry: &Entry) -> Outcome {
        let place = &entry.place;
        if is_of_boot(place) && entry.is_of_another_boot() {
            return Outcome::Nothing;
        }
        let failed = |error: &io::Error| Outcome::Failed { why: error.to_string() };
        let now = match place.read(&self.root) {
            Ok(now) => now,
            Err(error) => return failed(&error),
        };
        let is_gone = now.is_none() && entry.old.is_some();
        if is_gone || place.holds(now.as_deref(), entry.old.as_deref()) {
            return Outcome::Nothing;
        }
        if !place.holds(now.as_deref(), entry.new.as_deref()) {
            return Outcome::Left { now };
        }
        match place.write(&self.root, entry.old.as_deref()) {
            Ok(()) => Outcome::Restored,
            // It ended between the two.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Nothing,
            Err(error) => failed(&error),
        }
    }

    fn path(&self, of_boot: bool) -> PathBuf {
        self.root.path(if of_boot { OF_BOOT } else { OF_EVER })
    }

    fn open(&self, of_boot: bool) -> io::Result<Book> {
        Book::open(&self.path(of_boot))
    }
}

fn is_of_boot(place: &Place) -> bool {
    !matches!(place, Place::Text { .. })
}

impl Changed {
    /// Takes it back.
    pub fn undo(mut self) -> Vec<Undone> {
        self.take_back()
    }

    /// What of it was not as wanted before; empty where all of it was.
    pub fn entries(&self) -> &[Entry] {
        self.entries.as_deref().unwrap_or_default()
    }

    /// Lets it stay until it is undone by name.
    ///
    /// # Errors
    /// The journal cannot be written: then it is taken back.
    pub fn keep(mut self) -> Result<Kept, RemedyError> {
        for of_boot in [true, false] {
            let mark = || -> io::Result<()> {
                if !self.entries().iter().any(|entry| is_of_boot(&entry.place) == of_boot) {
                    return Ok(());
                }
                let mut book = self.journal.open(of_boot)?;
                for at in 0..book.lines.len() {
                    let line = &book.lines[at];
                    if line.mark == Mark::Held && self.entries().contains(&line.entry) {
                        book.mark(at, Mark::Stays)?;
                    }
                }
                Ok(())
            };
            let path = self.journal.path(of_boot);
            mark().map_err(|error| RemedyError::Journal { path, error })?;
        }
        Ok(Kept { entries: self.entries.take().unwrap_or_default() })
    }

    fn take_back(&mut self) -> Vec<Undone> {
        let Some(entries) = self.entries.take() else { return Vec::new() };
        if entries.is_empty() {
            return Vec::new();
        }
        let journal = &self.journal;
        let books = journal.books().filter_map(|(_, book)| book.ok());
        let own = |line: &book::Line| entries.contains(&line.entry);
        books.flat_map(|mut book| journal.take_back(&mut book, own)).collect()
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // Who wants to know asks `undo`.
        let _ = self.take_back();
    }
}

#[cfg(test)]
mod tests;
