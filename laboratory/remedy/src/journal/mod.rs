//! The journal: all that tardy alters and that outlives it.
//!
//! What a place held and what it is to hold is written and synced before it is touched ([`Journal::change`]). A change
//! is held by its process: it is taken back when the [`Changed`] is dropped or, where the process was killed, when
//! any tardy starts ([`Journal::undo_left_over`]). One that is kept stays until it is undone by name. Two journals: what a
//! boot undoes is below `/run`, texts that outlive it below `/var/lib`.

mod book;
mod entry;
mod family;
mod hold;
mod namespace;
mod taking;

use crate::place::Place;
use crate::setting::Setting;
use book::{Book, Mark};
use entry::Effect;
pub use entry::Entry;
use family::{Processes, is_heir, successor};
pub use hold::{Hold, tell_while_changing};
use namespace::Namespaces;
use std::io;
use std::path::PathBuf;
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
    /// Somebody in another PID namespace is at work on the same, or was.
    #[error(
        "a tardy in another PID namespace (process {by} there) has changed {what}: run tardy undo there"
    )]
    Elsewhere {
        /// The place.
        what: String,
        /// The process, by its number there.
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
    /// It is of another PID namespace, whose numbers say nothing here: it is left.
    Elsewhere {
        /// Which process, by its number there.
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
        let value = |value: &Option<String>| match value {
            Some(value) => self.entry.place.shown(value).to_owned(),
            None => "not there".to_owned(),
        };
        match &self.outcome {
            // systemd has read it, and knows nothing of this.
            Outcome::Restored if what.starts_with("/etc/systemd/") => format!(
                "{what} is {} again (systemctl daemon-reload, then a restart of the service, end what it did)",
                value(&self.entry.old)
            ),
            Outcome::Restored => format!("{what} is {} again", value(&self.entry.old)),
            Outcome::Nothing => format!("{what} needs no change"),
            Outcome::Left { now } => format!(
                "{what} is left as it is: it was set to {}, and something else has changed it to \
                    {}",
                value(&self.entry.new),
                value(now)
            ),
            Outcome::InUse { by } => format!("{what} is at work in process {by}"),
            Outcome::Elsewhere { by } => format!(
                "{what} is left as it is: process {by} of another PID namespace set it to {}, and its numbers mean \
                 nothing here; run tardy undo there",
                value(&self.entry.new)
            ),
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
    /// A real-time policy is not inherited meanwhile.
    ///
    /// # Errors
    /// Why it cannot be done; then nothing is left changed.
    pub fn change(&self, settings: &[Setting], why: &str) -> Result<Changed, RemedyError> {
        let only_tried = |setting: &Setting| Setting {
            place: setting.place.clone(),
            to: setting.place.only_tried(&setting.to),
        };
        self.change_to(&settings.iter().map(only_tried).collect::<Vec<_>>(), why)
    }

    /// Makes these settings, all or none, and lets them stay until they are undone by name. Children inherit them.
    ///
    /// # Errors
    /// As [`Journal::change`]; or the journal cannot be written.
    pub fn change_and_keep(&self, settings: &[Setting], why: &str) -> Result<Kept, RemedyError> {
        self.change_to(settings, why)?.keep()
    }

    fn change_to(&self, settings: &[Setting], why: &str) -> Result<Changed, RemedyError> {
        if settings.len() > SETTINGS_MAX {
            let why = format!("and others: {} settings, more than {SETTINGS_MAX}", settings.len());
            return Err(RemedyError::Refused { what: settings[0].place.words(), why });
        }
        if namespace::own().is_none() {
            return Err(RemedyError::Refused {
                what: "/proc".to_owned(),
                why: "tells the numbers of another PID namespace than the one that this process is in, so nothing is \
                      changed: mount it again (unshare --mount-proc)"
                    .to_owned(),
            });
        }
        let _hold = Hold::new();
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
        self.must_be_free(&book, settings)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(settings.len());
        for setting in settings {
            let place = &setting.place;
            let refused = |why| RemedyError::Refused { what: place.words(), why };
            let read = place.read(&self.root);
            let read = read.map_err(|error| refused(format!("could not be read: {error}")))?;
            // A place that is changed twice holds by then what it was given first.
            let before = entries.iter().rev().find(|entry| entry.place == *place);
            let old = before.map_or(read, |entry| entry.new.clone());
            if old.is_none() && place.thread().is_some() && settings.len() > 1 {
                // Of many threads one may end at any time.
                continue;
            }
            if old.is_none() && !place.is_made() {
                return Err(refused("is not there".to_owned()));
            }
            if place.is_beside() {
                entries.push(Entry::new(place.clone(), old.clone(), old, why));
            } else if !place.holds(old.as_deref(), Some(&setting.to)) {
                let mut entry = Entry::new(place.clone(), old, Some(setting.to.clone()), why);
                if !of_boot {
                    entry.effects = changed.entries().iter().filter_map(Effect::of).collect();
                }
                entries.push(entry.with_family(&self.root));
            }
        }
        if entries.iter().all(|entry| entry.place.is_beside()) {
            entries.clear();
        }
        book.add(&entries).map_err(not_written)?;
        if let Some(all) = &mut changed.entries {
            all.extend(entries.iter().cloned());
        }
        // The lock is held until all is done: who looks for what is left over finds it whole.
        for entry in entries.iter().filter(|entry| !entry.place.is_beside()) {
            self.do_one(entry)
                .map_err(|why| RemedyError::Refused { what: entry.place.words(), why })?;
        }
        let beside = entries.iter().filter(|entry| entry.place.is_beside()).filter_map(|entry| {
            let now = entry.place.read(&self.root).ok().flatten();
            let is_changed = now.is_some() && now != entry.old;
            is_changed.then(|| Entry { new: now, ..entry.clone() })
        });
        let beside: Vec<Entry> = beside.collect();
        if !beside.is_empty() {
            book.add(&beside).map_err(not_written)?;
            if let Some(all) = &mut changed.entries {
                all.extend(beside);
            }
        }
        Ok(())
    }

    /// Nobody else is at work on these places, nor on threads that they have their values from.
    fn must_be_free(&self, book: &Book, settings: &[&Setting]) -> Result<(), RemedyError> {
        let namespaces = Namespaces::default();
        let mut all = None;
        for line in book.lines.iter().filter(|line| line.mark == Mark::Held) {
            let entry = &line.entry;
            let by = entry.by.tid;
            let busy = |place: &Place| RemedyError::Busy { what: place.words(), by };
            if let Some(same) = settings.iter().find(|it| it.place.overlaps(&entry.place)) {
                let what = same.place.words();
                if !entry.is_elsewhere() {
                    return Err(busy(&same.place));
                }
                if entry.place.thread().is_none() && entry.is_owned(&namespaces) {
                    return Err(RemedyError::Elsewhere { what, by });
                }
            }
            if entry.family.is_none() || entry.is_elsewhere() {
                continue;
            }
            let all = all.get_or_insert_with(Processes::now);
            let successor = successor(entry, &self.root);
            let is_of_it = |it: &&&Setting| {
                successor.as_ref().is_some_and(|successor| successor.overlaps(&it.place))
                    || it.place.overlapping().iter().any(|it| is_heir(entry, it, all, &self.root))
            };
            if let Some(of_it) = settings.iter().find(is_of_it) {
                return Err(busy(&of_it.place));
            }
        }
        Ok(())
    }

    fn do_one(&self, entry: &Entry) -> Result<(), String> {
        let (place, new) = (&entry.place, entry.new.as_deref());
        let to = new.unwrap_or_default().lines().next().unwrap_or_default();
        let written = place.write(&self.root, new);
        if place.thread().is_some() && written.as_ref().is_err_and(taking::is_gone) {
            // It ended meanwhile, and its line needs nothing.
            return Ok(());
        }
        written.map_err(|error| {
            let known = place.why_not(&self.root, new.unwrap_or_default(), &error);
            let known = known.map_or_else(String::new, |why| format!(": {why}"));
            format!("could not be set to {to}: {error}{known}")
        })?;
        let now = place.read(&self.root).map_err(|error| format!("could not be read: {error}"))?;
        let has_ended = now.is_none() && place.thread().is_some();
        if place.holds(now.as_deref(), new) || has_ended {
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
        // All are open before anything is undone. One that cannot be read is no reason to leave what the other tells of.
        let books: Vec<Book> = self.books().filter_map(|(_, book)| book.ok()).collect();
        let _hold = Hold::new();
        books.into_iter().flat_map(|mut book| self.take_back(&mut book, |_| true)).collect()
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
        let _hold = Hold::new();
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
        let _hold = Hold::new();
        let journal = &self.journal;
        let mut books: Vec<(bool, Book)> =
            journal.books().filter_map(|(of_boot, book)| Some((of_boot, book.ok()?))).collect();
        let mut undone = Vec::new();
        for of_boot in [true, false] {
            let mut of_kind: Vec<Entry> =
                entries.iter().filter(|it| is_of_boot(&it.place) == of_boot).cloned().collect();
            if let Some((_, book)) = books.iter_mut().find(|(kind, _)| *kind == of_boot) {
                let own = |line: &book::Line| of_kind.contains(&line.entry);
                let found = book.lines.iter().filter(|line| own(line)).count();
                undone.extend(journal.take_back(book, own));
                if found >= of_kind.len() {
                    continue;
                }
                let told = |entry: &Entry| undone.iter().any(|it: &Undone| it.entry == *entry);
                of_kind.retain(|entry| !told(entry));
            }
            // A journal that is gone, or cannot be written any more, is no reason to leave what it told of.
            undone.extend(journal.take_back_unwritten(&of_kind));
        }
        undone
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
