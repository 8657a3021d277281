//! Threads that write a file, make it durable and read it back: interrupts of the storage, writeback
//! threads, block softirqs.
//!
//! A thread's file has no name from the start, so nothing of it can stay. One turn: it is written
//! from beginning to end, synced once (with `sync` after every block), dropped from the page cache
//! as far as the kernel agrees, and read.

mod turn;

use super::amount;
use super::crew::{Crew, Post, Rank};
use super::spec::{Arguments, SpecError};
use super::{Kind, Load, LoadError, RunningLoad, Work};
use rustix::fs::{FsWord, fstatfs, fstatvfs};
use rustix::process::{Resource, getrlimit};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use turn::{UNITS, turn_for_ever};

/// The most threads of one load.
pub const DISK_THREADS_MAX: u64 = 256;

/// The size of a file where none is given: more than a disk's own cache often holds.
const SIZE: u64 = 64 << 20;

/// The largest file.
const SIZE_MAX: u64 = 1 << 40;

/// What is written or read at once, and the smallest file.
const BLOCK: u64 = 64 << 10;

/// What is left free on the file system.
const SPARE: u64 = 16 << 20;

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of statfs(2).
const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58f6_u32 as FsWord];

const USAGE: &str = "disk[:N][,dir=PATH][,size=BYTES][,sync]";

pub(super) const KIND: Kind = Kind {
    name: "disk",
    usage: USAGE,
    summary: "N threads (1) that each write a file of 64m (`size`) in /var/tmp (`dir`), sync it \
              and read it back, again and again; `sync` syncs after every 64k; no file is left \
              behind",
    parse: |arguments| Disk::parse(arguments).map(|disk| Box::new(disk) as Box<dyn Load>),
};

/// Threads that write, sync and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// How many, each with a file of its own; at most [`DISK_THREADS_MAX`].
    pub threads: u64,
    /// Where the files are; without it in `/var/tmp` where there is one, as `/tmp` is often memory,
    /// otherwise in the folder for temporary files. No comma and no `+` is in it.
    pub dir: Option<PathBuf>,
    /// Bytes of one file, at least 64 KiB.
    pub size: u64,
    /// Sync after each block of 64 KiB, instead of once for the file.
    pub sync: bool,
}

impl Disk {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let threads = arguments.count("threads", 1, DISK_THREADS_MAX)?;
        let mut disk = Self { threads, dir: None, size: SIZE, sync: false };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("dir", Some("")) => {
                    return Err(arguments.wrong("dir", "", "it must be a folder"));
                }
                ("dir", Some(value)) => disk.dir = Some(PathBuf::from(value)),
                ("size", Some(value)) => {
                    disk.size = arguments.size("size", value, BLOCK, SIZE_MAX)?;
                }
                ("sync", None) => disk.sync = true,
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        Ok(disk)
    }

    fn folder(&self) -> PathBuf {
        let usual = Path::new("/var/tmp");
        match &self.dir {
            Some(dir) => dir.clone(),
            None if usual.is_dir() => usual.to_owned(),
            None => std::env::temp_dir(),
        }
    }

    /// The files, and a note where they are in memory.
    fn files(&self) -> Result<(Vec<File>, Option<String>), String> {
        let folder = self.folder();
        let shown = folder.display();
        let wrong = |error: io::Error| {
            format!("no file can be made in {shown} ({error}); dir= takes another folder")
        };
        let files: Vec<_> = (0..self.threads)
            .map(|_| tempfile::tempfile_in(&folder))
            .collect::<Result<_, _>>()
            .map_err(wrong)?;
        // A write beyond this limit would end the process by a signal.
        if let Some(limit) = getrlimit(Resource::Fsize).current
            && limit < self.size
        {
            return Err(format!("files may have {limit} bytes at most (`ulimit -f`); see size="));
        }
        let system = fstatvfs(&files[0]).map_err(|error| wrong(error.into()))?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        let needed = self.size.saturating_mul(self.threads);
        if free < needed.saturating_add(SPARE) {
            return Err(format!(
                "{shown} has {} MiB free; this takes {} MiB and leaves {} MiB: a smaller size=, \
                 fewer threads, or another dir=",
                free >> 20,
                needed.div_ceil(1 << 20),
                SPARE >> 20
            ));
        }
        let is_memory = fstatfs(&files[0]).is_ok_and(|system| IN_MEMORY.contains(&system.f_type));
        let note = is_memory.then(|| {
            format!(
                "disk: {shown} is memory (tmpfs), so no disk is used; dir= takes another folder"
            )
        });
        Ok((files, note))
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "disk:{}", self.threads)?;
        if let Some(dir) = &self.dir {
            write!(f, ",dir={}", dir.display())?;
        }
        if self.size != SIZE {
            write!(f, ",size={}", amount::size(self.size))?;
        }
        if self.sync {
            f.write_str(",sync")?;
        }
        Ok(())
    }
}

/// Why and when it came to an end by itself.
type End = Arc<Mutex<Option<(String, Duration)>>>;

impl Load for Disk {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let files = self.files();
        let (files, note) =
            files.map_err(|why| LoadError::Unfit { load: self.to_string(), why })?;
        Ok(Box::new(self.start_on(files, note)?))
    }
}

impl Disk {
    /// A thread for each file.
    fn start_on(&self, files: Vec<File>, note: Option<String>) -> Result<RunningDisk, LoadError> {
        let (begun, end) = (Instant::now(), End::default());
        let posts = files.into_iter().enumerate().map(|(index, file)| {
            let (plan, end) = (self.clone(), Arc::clone(&end));
            Post::new(format!("disk-{index:02}"), &UNITS, move |duty| {
                duty.begin();
                if let Err(error) = turn_for_ever(&file, index as u64, &plan, duty) {
                    let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
                    end.get_or_insert_with(|| (plan.told(&error), begun.elapsed()));
                    duty.end_all();
                }
                Ok(())
            })
        });
        let crew = Crew::start(self, Rank::default(), posts)?;
        Ok(RunningDisk { crew, note, end })
    }

    fn told(&self, error: &io::Error) -> String {
        format!(
            "disk: stopped, as a file in {} could not be written, synced or read ({error}); it takes \
             {} MiB there",
            self.folder().display(),
            (self.size * self.threads).div_ceil(1 << 20)
        )
    }
}

struct RunningDisk {
    crew: Crew,
    note: Option<String>,
    end: End,
}

impl RunningDisk {
    fn end(&self) -> Option<(String, Duration)> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl RunningLoad for RunningDisk {
    fn tids(&self) -> Vec<u32> {
        self.crew.tids()
    }

    fn work(&self) -> Vec<Work> {
        self.crew.work()
    }

    fn notes(&self) -> Vec<String> {
        self.note.clone().into_iter().chain(self.end().map(|(why, _)| why)).collect()
    }

    fn over_after(&self) -> Option<Duration> {
        self.end().map(|(_, after)| after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_stops_this_load_with_a_note() {
        let disk = Disk { threads: 2, dir: None, size: SIZE, sync: true };
        // The kernel's own full disk, beside one that has room.
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let running = disk.start_on(vec![full, tempfile::tempfile().unwrap()], None).unwrap();
        while running.over_after().is_none() || running.crew.is_working() {
            std::thread::yield_now();
        }
        let [note] = &running.notes()[..] else { panic!("{:?}", running.notes()) };
        assert!(note.contains("No space left on device") && note.contains("128 MiB"), "{note}");
    }
}
