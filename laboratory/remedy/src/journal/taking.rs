//! Taking back: what each place held is put there again, where it still holds what it was set to.

use super::book::{Book, Line, Mark};
use super::entry::{Effect, Entry};
use super::family::{Processes, heirs, is_heir, successor};
use super::hold::Hold;
use super::namespace::Namespaces;
use super::{Journal, Outcome, Undone, is_of_boot};
use crate::place::Place;
use std::collections::BTreeSet;
use std::io;

/// How often heirs are looked for: those who were about to be made when it was looked are there at the next time.
const LOOKS_MAX: usize = 8;

/// What was found out while lines are taken back.
#[derive(Default)]
struct Progress {
    /// By where they are in the book, the last first.
    undone: Vec<(usize, Undone)>,
    /// Places that the kernel changes beside others, and that somebody else has changed meanwhile.
    left: Vec<Place>,
    namespaces: Namespaces,
}

impl Journal {
    /// Takes back what processes left that are gone.
    pub(super) fn take_back_left_over(&self, book: &mut Book) -> Vec<Undone> {
        let namespaces = Namespaces::default();
        self.take_back(book, |line| line.mark == Mark::Held && !line.entry.is_owned(&namespaces))
    }

    /// Takes back those that are chosen, the last first, so that a place that was changed twice holds what it held at
    /// first.
    pub(super) fn take_back(
        &self,
        book: &mut Book,
        is_chosen: impl Fn(&Line) -> bool,
    ) -> Vec<Undone> {
        let is_wanted = |at: &usize| {
            let line = &book.lines[*at];
            line.mark != Mark::Done && is_chosen(line)
        };
        let chosen: Vec<usize> = (0..book.lines.len()).rev().filter(is_wanted).collect();
        if chosen.is_empty() {
            return Vec::new();
        }
        let _hold = Hold::new();
        let mut progress = Progress::default();
        for at in chosen {
            let line = book.lines[at].clone();
            let outcome = self.take_back_one(book, at, &mut progress);
            progress.undone.push((at, Undone { entry: line.entry, outcome }));
        }
        // Who inherited is seen to before any line is done with: whoever comes after a kill then sees to it.
        self.take_back_from_heirs(book, &mut progress);
        for (at, undone) in &mut progress.undone {
            let is_done = !matches!(
                undone.outcome,
                Outcome::InUse { .. } | Outcome::Elsewhere { .. } | Outcome::Failed { .. }
            );
            // Emptied when the last one was done.
            if is_done
                && *at < book.lines.len()
                && let Err(error) = book.mark(*at, Mark::Done)
            {
                // It is found again and needs nothing.
                let why = format!("the journal cannot be written: {error}");
                undone.outcome = Outcome::Failed { why };
            }
        }
        let told = |undone: &Undone| {
            !(undone.entry.place.is_beside() && undone.outcome == Outcome::Nothing)
        };
        progress.undone.into_iter().map(|(_, undone)| undone).filter(told).collect()
    }

    /// Takes back what no journal tells of any more.
    pub(super) fn take_back_unwritten(&self, entries: &[Entry]) -> Vec<Undone> {
        match Book::in_memory(entries) {
            Ok(mut book) => self.take_back(&mut book, |_| true),
            Err(error) => {
                let undone =
                    |entry: &Entry| Undone { entry: entry.clone(), outcome: failed(&error) };
                entries.iter().map(undone).collect()
            }
        }
    }

    fn take_back_one(&self, book: &Book, at: usize, progress: &mut Progress) -> Outcome {
        let line = &book.lines[at];
        let entry = &line.entry;
        let by = entry.by.tid;
        // What a process of another namespace holds is its own; threads of another have numbers that are others' here.
        let is_judged = line.mark == Mark::Held || entry.place.thread().is_some();
        if is_judged && let Some(namespace) = entry.namespace.filter(|_| entry.is_elsewhere()) {
            if !progress.namespaces.is_gone(namespace) {
                return Outcome::Elsewhere { by };
            }
            if entry.place.thread().is_some() {
                return Outcome::Nothing;
            }
        }
        let above = book.lines[at..].iter().find(|other| {
            other.mark == Mark::Held
                && other.entry.place.overlaps(&entry.place)
                && other.entry.is_owned(&progress.namespaces)
        });
        let is_own = line.mark == Mark::Held && entry.is_owned(&progress.namespaces);
        match above {
            Some(above) if above.entry.is_elsewhere() => {
                Outcome::Elsewhere { by: above.entry.by.tid }
            }
            // One's own are given back by who holds them.
            Some(above) if !is_own || above.entry.by.tid != std::process::id() => {
                Outcome::InUse { by: above.entry.by.tid }
            }
            _ if entry.place.is_beside() => self.undo_beside(entry, progress),
            _ if entry.is_of_another_boot() && !self.undo_effects(entry, progress) => {
                Outcome::Failed {
                    why: "what it has the system set could not be put back".to_owned(),
                }
            }
            _ => self.undo_one(entry, book, at),
        }
    }

    fn undo_one(&self, entry: &Entry, book: &Book, at: usize) -> Outcome {
        let place = &entry.place;
        if is_of_boot(place) && entry.is_of_another_boot() {
            return Outcome::Nothing;
        }
        let now = match place.tidy(&self.root).and_then(|()| place.read(&self.root)) {
            Ok(now) => now,
            Err(error) => return failed(&error),
        };
        let is_gone = now.is_none() && entry.old.is_some();
        if is_gone && let Some(place) = successor(entry, &self.root) {
            // Where another line is of who stands there now, with the same value, it is that one's to take back.
            let is_anothers = |(other, line): (usize, &Line)| {
                other != at
                    && line.mark != Mark::Done
                    && line.entry.place == place
                    && place.holds(entry.new.as_deref(), line.entry.new.as_deref())
            };
            if !book.lines.iter().enumerate().any(is_anothers) {
                return self.put_back(&place, entry);
            }
        }
        let (now_is, old, new) = (now.as_deref(), entry.old.as_deref(), entry.new.as_deref());
        if is_gone || place.is_back(now_is, old, new) {
            return Outcome::Nothing;
        }
        let is_of_it = place.holds(now_is, new)
            || place.holds(now_is, old)
            || place.is_made_of(now_is, old, new);
        if !is_of_it {
            return Outcome::Left { now };
        }
        self.put_back(place, entry)
    }

    /// What the system made of a text at this boot is no line of its own. Whether it is put back, or need not be.
    fn undo_effects(&self, entry: &Entry, progress: &mut Progress) -> bool {
        let mut is_done = true;
        for effect in entry.effects.iter().rev() {
            let Effect { place, old, new } = effect.clone();
            let now = place.read(&self.root).ok().flatten();
            if now.is_none() || place.holds(now.as_deref(), Some(&old)) {
                continue;
            }
            let is_of_it = place.holds(now.as_deref(), Some(&new));
            let (old, new) = (Some(old), Some(new));
            let entry = Entry { place, old, new, effects: Vec::new(), ..entry.clone() };
            let outcome =
                if is_of_it { self.put_back(&entry.place, &entry) } else { Outcome::Left { now } };
            is_done &= !matches!(outcome, Outcome::Failed { .. });
            progress.undone.push((usize::MAX, Undone { entry, outcome }));
        }
        is_done
    }

    fn put_back(&self, place: &Place, entry: &Entry) -> Outcome {
        match place.write(&self.root, entry.old.as_deref()) {
            Ok(()) => Outcome::Restored,
            // It ended between the two.
            Err(error) if is_gone(&error) => Outcome::Nothing,
            Err(error) => failed(&error),
        }
    }

    /// Of what the kernel changes beside, there are two lines: before the change with what it held, and after it with what
    /// it holds now. The last one judges whether somebody else has changed it since, the first puts it back when all
    /// else is what it was.
    fn undo_beside(&self, entry: &Entry, progress: &mut Progress) -> Outcome {
        let place = &entry.place;
        let now = match place.read(&self.root) {
            Ok(now) => now,
            Err(error) => return failed(&error),
        };
        if entry.is_of_another_boot() || now.is_none() {
            return Outcome::Nothing;
        }
        if entry.new != entry.old {
            if !place.holds(now.as_deref(), entry.new.as_deref()) {
                progress.left.push(place.clone());
                return Outcome::Left { now };
            }
            return Outcome::Nothing;
        }
        if progress.left.contains(place) || place.holds(now.as_deref(), entry.old.as_deref()) {
            return Outcome::Nothing;
        }
        self.put_back(place, entry)
    }

    /// Whoever inherited what was taken back gets what would have been inherited without the change.
    fn take_back_from_heirs(&self, book: &Book, progress: &mut Progress) {
        let is_over = |undone: &Undone| {
            matches!(undone.outcome, Outcome::Restored | Outcome::Nothing | Outcome::Left { .. })
                && undone.entry.family.is_some()
                && !undone.entry.is_of_another_boot()
                && !undone.entry.is_elsewhere()
        };
        let over: Vec<usize> =
            (0..progress.undone.len()).filter(|at| is_over(&progress.undone[*at].1)).collect();
        if over.is_empty() {
            return;
        }
        // What has a line is taken back by that, and what may be from somebody who goes on, by them. What a line put back
        // here may be what it had inherited.
        let is_back =
            |undone: &Undone| matches!(undone.outcome, Outcome::Restored | Outcome::Nothing);
        let back = progress.undone.iter().filter(|(_, undone)| is_back(undone));
        let back: BTreeSet<usize> = back.map(|(at, _)| *at).collect();
        let open = book.lines.iter().enumerate().filter(|(_, line)| line.mark != Mark::Done);
        let open: Vec<&Entry> =
            open.filter(|(at, _)| !back.contains(at)).map(|(_, line)| &line.entry).collect();
        let taken: BTreeSet<usize> = progress.undone.iter().map(|(at, _)| *at).collect();
        let rest = book.lines.iter().enumerate().filter(|(at, line)| {
            line.mark != Mark::Done && !taken.contains(at) && !line.entry.is_elsewhere()
        });
        let rest: Vec<&Entry> = rest.map(|(_, line)| &line.entry).collect();
        for _ in 0..LOOKS_MAX {
            let all = Processes::now();
            let mut has_found = false;
            for at in &over {
                let entry = progress.undone[*at].1.entry.clone();
                for place in heirs(&entry, &all, &self.root) {
                    let is_others = open.iter().any(|other| other.place.overlaps(&place))
                        || rest.iter().any(|other| is_heir(other, &place, &all, &self.root));
                    if is_others {
                        continue;
                    }
                    let slack =
                        entry.place.slack_of_children(entry.old.as_deref(), entry.new.as_deref());
                    let old = slack.or_else(|| entry.old.clone());
                    match place.write(&self.root, old.as_deref()) {
                        Ok(()) => {
                            has_found = true;
                            let entry = Entry { place, old, family: None, ..entry.clone() };
                            let outcome = Outcome::Restored;
                            progress.undone.push((usize::MAX, Undone { entry, outcome }));
                        }
                        Err(error) if is_gone(&error) => {}
                        Err(error) => {
                            let why = format!("{}: {error}", place.words());
                            progress.undone[*at].1.outcome = Outcome::Failed { why };
                        }
                    }
                }
            }
            if !has_found {
                return;
            }
        }
    }
}

/// Whether it says that the thread has ended.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn failed(error: &io::Error) -> Outcome {
    Outcome::Failed { why: error.to_string() }
}
