//! A file of entries, a line each, that survives whatever ends its writer.
//!
//! A line begins with a mark, which is all that is ever changed in it: one byte, so that it is the old or the new
//! one, and needs no room on the disk. Lines are added whole and synced before what they tell of is done. A last
//! line that lacks its newline alone tells as much as others; a part of one may be what damage left of what was done,
//! so it counts as one that cannot be read. A file beside it is locked as long as anything is read, changed or done;
//! the kernel takes that lock away with the process.

use super::entry::Entry;
use crate::durable;
use rustix::fs::{FlockOperation, MemfdFlags, OFlags, flock, memfd_create};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most bytes that are read; a longer file is nobody's journal, and nothing is changed beside it.
const BYTES_MAX: u64 = 64 << 20;

/// From this size on, lines that are done with are left out before one is added.
const BYTES_KEPT: u64 = 256 << 10;

/// How long it is waited for who has the file. Changing thousands of threads takes less than a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is changed, or about to be, until its process ends.
    Held = b'+' as isize,
    /// It is changed and stays so until somebody undoes it.
    Stays = b'=' as isize,
    /// It is done with.
    Done = b'-' as isize,
}

impl Mark {
    fn of(byte: u8) -> Option<Self> {
        [Self::Held, Self::Stays, Self::Done].into_iter().find(|mark| *mark as u8 == byte)
    }
}

/// An entry in its file.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) mark: Mark,
    pub(super) entry: Entry,
    /// Where its mark is.
    at: u64,
}

/// The file, locked.
#[derive(Debug)]
pub(super) struct Book {
    file: File,
    path: PathBuf,
    /// Held as long as this is.
    _lock: File,
    /// Where the last line ends.
    end: u64,
    /// That one has no newline yet.
    lacks_newline: bool,
    pub(super) lines: Vec<Line>,
    /// Lines that say nothing that is understood: of a later tardy, or broken. They stay.
    pub(super) unreadable: usize,
}

impl Book {
    /// Opens it, and makes it where it is not there. Waits for whoever has it, [`PATIENCE`] at most: who was stopped with
    /// it (SIGSTOP) must not stop every tardy that starts.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::open_within(path, PATIENCE)
    }

    fn open_within(path: &Path, patience: Duration) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            durable::make_folder(folder)?;
        }
        let lock = open_file(&path.with_extension("lock"))?;
        wait_for(&lock, patience)?;
        let is_new = !path.exists();
        let file = open_file(path)?;
        if is_new {
            durable::sync_names_beside(path)?;
        }
        let mut book = Self {
            file,
            path: path.to_owned(),
            _lock: lock,
            end: 0,
            lacks_newline: false,
            lines: Vec::new(),
            unreadable: 0,
        };
        book.read()?;
        Ok(book)
    }

    /// One of no file system, of entries whose own cannot be had any more: what they tell is undone all the same.
    pub(super) fn in_memory(entries: &[Entry]) -> io::Result<Self> {
        let file = File::from(memfd_create("tardy-changes", MemfdFlags::CLOEXEC)?);
        let mut book = Self {
            _lock: file.try_clone()?,
            file,
            path: PathBuf::new(),
            end: 0,
            lacks_newline: false,
            lines: Vec::new(),
            unreadable: 0,
        };
        book.add(entries)?;
        Ok(book)
    }

    fn read(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > BYTES_MAX {
            let why = format!("{} is larger than any journal", self.path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut bytes = Vec::new();
        (&self.file).take(BYTES_MAX).read_to_end(&mut bytes)?;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // The last one may have lost its end since it was written, and what it tells may be done.
            self.lacks_newline = !line.ends_with(b"\n");
            let whole = line.strip_suffix(b"\n").unwrap_or(line);
            let at = self.end;
            self.end += line.len() as u64;
            let mark = whole.first().copied().and_then(Mark::of);
            if mark == Some(Mark::Done) {
                continue;
            }
            match (mark, serde_json::from_slice(whole.get(1..).unwrap_or_default())) {
                (Some(mark), Ok(entry)) => self.lines.push(Line { mark, entry, at }),
                _ => self.unreadable += 1,
            }
        }
        Ok(())
    }

    /// Adds entries, all or none. They are on disk when this returns, and what they tell may be done.
    pub(super) fn add(&mut self, entries: &[Entry]) -> io::Result<()> {
        if self.end > BYTES_KEPT {
            // What cannot be made shorter is long.
            let _ = self.leave_out_done();
        }
        let mut text = if self.lacks_newline { vec![b'\n'] } else { Vec::new() };
        let mut lines = Vec::with_capacity(entries.len());
        for entry in entries {
            lines.push(Line {
                mark: Mark::Held,
                entry: entry.clone(),
                at: self.end + text.len() as u64,
            });
            text.push(Mark::Held as u8);
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        let written = self.file.set_len(self.end).and_then(|()| {
            self.file.write_all_at(&text, self.end)?;
            self.file.sync_all()
        });
        if let Err(error) = written {
            // Nothing is done of what it would have told.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += text.len() as u64;
        self.lacks_newline &= text.is_empty();
        self.lines.extend(lines);
        Ok(())
    }

    /// Says what became of the line in this place. Of those that are done the file is emptied at last.
    pub(super) fn mark(&mut self, at: usize, mark: Mark) -> io::Result<()> {
        let line = &mut self.lines[at];
        self.file.write_all_at(&[mark as u8], line.at)?;
        self.file.sync_data()?;
        line.mark = mark;
        if self.unreadable == 0 && self.lines.iter().all(|line| line.mark == Mark::Done) {
            self.file.set_len(0)?;
            self.file.sync_all()?;
            (self.end, self.lines, self.lacks_newline) = (0, Vec::new(), false);
        }
        Ok(())
    }

    /// Writes the file anew without lines that are done.
    fn leave_out_done(&mut self) -> io::Result<()> {
        if self.unreadable > 0 || self.path.as_os_str().is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        let mut lines: Vec<Line> =
            self.lines.iter().filter(|line| line.mark != Mark::Done).cloned().collect();
        for line in &mut lines {
            line.at = text.len() as u64;
            text.push(line.mark as u8);
            serde_json::to_writer(&mut text, &line.entry)?;
            text.push(b'\n');
        }
        let beside = self.path.with_extension("new");
        // Of a process that was killed.
        let _ = std::fs::remove_file(&beside);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let mut file = options.open(&beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        durable::rename(&beside, &self.path)?;
        (self.file, self.end, self.lines) = (file, text.len() as u64, lines);
        self.lacks_newline = false;
        Ok(())
    }
}

fn wait_for(lock: &File, patience: Duration) -> io::Result<()> {
    let since = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if since.elapsed() < patience => std::thread::sleep(LOOK_EVERY),
            Err(Errno::WOULDBLOCK) => {
                let why = format!(
                    "another tardy has been at work on it for {} s: end it, if it was stopped",
                    patience.as_secs()
                );
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
            done => return Ok(done?),
        }
    }
}

/// Opens a regular file, or makes it: reading from a pipe would wait for ever, and a link leads elsewhere.
fn open_file(path: &Path) -> io::Result<File> {
    let careful = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(careful.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let why = format!("{} is no regular file", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{Form, Place};

    fn entry(path: &str) -> Entry {
        let place = Place::File { path: path.to_owned(), form: Form::Word };
        Entry::new(place, Some("1".to_owned()), Some("2".to_owned()), "a test")
    }

    fn paths(book: &Book) -> Vec<String> {
        let open = book.lines.iter().filter(|line| line.mark != Mark::Done);
        open.map(|line| line.entry.place.words()).collect()
    }

    #[test]
    fn what_was_added_is_there_until_it_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/tardy/changes.jsonl");
        let mut book = Book::open(&path).unwrap();
        book.add(&[entry("/a"), entry("/b")]).unwrap();
        drop(book);
        let mut book = Book::open(&path).unwrap();
        assert_eq!(paths(&book), ["/a", "/b"]);
        book.mark(0, Mark::Done).unwrap();
        book.mark(1, Mark::Stays).unwrap();
        drop(book);
        let mut book = Book::open(&path).unwrap();
        assert_eq!((paths(&book), book.lines[0].mark), (vec!["/b".to_owned()], Mark::Stays));
        book.mark(0, Mark::Done).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "nothing is kept of what is done");
    }

    #[test]
    fn a_last_line_counts_or_cannot_be_read_wherever_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        Book::open(&path).unwrap().add(&[entry("/a"), entry("/b")]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut book = Book::open(&path).unwrap();
            // Without its newline alone it is whole.
            let whole_ones = usize::from(cut + 1 >= first) + usize::from(cut + 1 >= whole.len());
            let is_rest = ![0, first - 1, first, whole.len() - 1].contains(&cut);
            assert_eq!(paths(&book).len(), whole_ones, "cut at {cut}");
            assert_eq!(book.unreadable, usize::from(is_rest), "cut at {cut}");
            book.add(&[]).unwrap();
            book.add(&[entry("/c")]).unwrap();
            drop(book);
            let mut book = Book::open(&path).unwrap();
            assert_eq!(paths(&book).len(), whole_ones + 1, "cut at {cut}");
            assert_eq!(paths(&book).last().unwrap(), "/c", "cut at {cut}");
            assert_eq!(book.unreadable, usize::from(is_rest), "cut at {cut}");
            book.mark(0, Mark::Done).unwrap();
            drop(book);
            assert_eq!(paths(&Book::open(&path).unwrap()).len(), whole_ones, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_not_understood_is_neither_lost_nor_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        std::fs::write(&path, "+{\"later\":1}\n\u{fffd}\n").unwrap();
        let mut book = Book::open(&path).unwrap();
        assert_eq!(book.unreadable, 2);
        book.add(&[entry("/a")]).unwrap();
        book.mark(0, Mark::Done).unwrap();
        drop(book);
        assert_eq!(Book::open(&path).unwrap().unreadable, 2);
    }

    #[test]
    fn who_was_stopped_with_it_stops_nobody_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        let book = Book::open(&path).unwrap();
        let error = Book::open_within(&path, Duration::from_millis(20)).unwrap_err();
        assert!(error.to_string().contains("another tardy"), "{error}");
        drop(book);
        Book::open_within(&path, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_long_file_gets_short_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changes.jsonl");
        let mut book = Book::open(&path).unwrap();
        book.add(&[entry("/stays")]).unwrap();
        let long = "/x".repeat(2_000);
        while book.end <= BYTES_KEPT {
            book.add(&[entry(&long)]).unwrap();
            let last = book.lines.len() - 1;
            book.mark(last, Mark::Done).unwrap();
        }
        book.add(&[entry("/last")]).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() < 2_000);
        drop(book);
        assert_eq!(paths(&Book::open(&path).unwrap()), ["/stays", "/last"]);
    }

    #[test]
    fn a_full_disk_leaves_the_file_as_it_was() {
        // A file that takes nothing, as a full disk does.
        let Ok(full) = OpenOptions::new().read(true).write(true).open("/dev/full") else {
            println!("skipped: there is no /dev/full");
            return;
        };
        let lock = full.try_clone().unwrap();
        let path = PathBuf::from("/dev/full");
        let mut book = Book {
            file: full,
            path,
            _lock: lock,
            end: 0,
            lacks_newline: false,
            lines: vec![],
            unreadable: 0,
        };
        book.add(&[entry("/a")]).unwrap_err();
        assert!(book.lines.is_empty());
    }
}
