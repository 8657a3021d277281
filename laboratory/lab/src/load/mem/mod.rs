//! Memory kept busy: its bandwidth by copying, or the kernel's memory management by page faults.
//!
//! It has a process of its own. In the process that measures, memory may be locked, and then nothing
//! faults; and mapping and unmapping would hold up the measured threads by the locks of their common
//! address space, which no other program's memory does.

mod bandwidth;
mod faults;

use super::amount;
use super::crew::{Crew, Duty, Post, Rank};
use super::spec::{Arguments, SpecError};
use super::worker::{Counted, Keeper};
use super::{Kind, Load, LoadError, RunningLoad};
use crate::sched::cpus;
use std::fmt;
use std::sync::Arc;

/// The most threads of one load.
pub const MEM_THREADS_MAX: u64 = 1_000;

/// The smallest and the largest buffer of a thread.
const SIZE_MIN: u64 = 64 << 10;
const SIZE_MAX: u64 = 1 << 40;

const USAGE: &str = "mem[:N][,size=BYTES][,faults]";

pub(super) const KIND: Kind = Kind {
    name: "mem",
    usage: USAGE,
    summary: "N threads (one for each CPU) that each copy from one half of a buffer to the other, \
              `size` bytes (4 times the last-level cache); `faults` maps, touches and unmaps pages \
              instead (4m at a time)",
    parse: |arguments| Mem::parse(arguments).map(|mem| Box::new(mem) as Box<dyn Load>),
};

/// Threads that keep memory busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mem {
    /// How many; at most [`MEM_THREADS_MAX`].
    pub threads: u64,
    /// Bytes of a thread's buffer; without it what suits what it does.
    pub size: Option<u64>,
    /// Page faults instead of copying.
    pub faults: bool,
}

impl Mem {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let threads = arguments.count("threads", cpus().min(MEM_THREADS_MAX), MEM_THREADS_MAX)?;
        let mut mem = Self { threads, size: None, faults: false };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("size", Some(value)) => {
                    mem.size = Some(arguments.size("size", value, SIZE_MIN, SIZE_MAX)?);
                }
                ("faults", None) => mem.faults = true,
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        Ok(mem)
    }

    fn bytes_per_thread(&self) -> u64 {
        let usual = if self.faults { faults::SIZE } else { bandwidth::usual_size() };
        self.size.unwrap_or(usual)
    }

    /// More than half of what is available would push others out, or end one of them.
    fn check_available(&self, available: Option<u64>) -> Result<(), LoadError> {
        let needed = self.bytes_per_thread().saturating_mul(self.threads);
        match available {
            Some(available) if needed > available / 2 => Err(LoadError::Unfit {
                load: self.to_string(),
                why: format!(
                    "takes {} MiB, and {} MiB are available (MemAvailable), of which it may have \
                     half; take fewer threads or a smaller size=",
                    needed.div_ceil(1 << 20),
                    available >> 20
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// `MemAvailable` of `/proc/meminfo`, bytes.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl fmt::Display for Mem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mem:{}", self.threads)?;
        if let Some(size) = self.size {
            write!(f, ",size={}", amount::size(size))?;
        }
        if self.faults {
            f.write_str(",faults")?;
        }
        Ok(())
    }
}

impl Load for Mem {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        self.check_available(available())?;
        let unit = if self.faults { "page faults" } else { "bytes" };
        Ok(Box::new(Counted::start(self, self.threads, unit)?))
    }

    fn run(&self, keeper: &Keeper) -> Result<(), String> {
        let size = self.bytes_per_thread() as usize;
        let work: fn(&Duty, usize, &dyn Fn(u64)) =
            if self.faults { faults::work } else { bandwidth::work };
        let posts = (0..self.threads).map(|index| {
            let board = Arc::clone(&keeper.board);
            Post::new(format!("mem-{index:02}"), &[], move |duty| {
                duty.begin();
                work(duty, size, &|count| board.set(index, count));
                Ok(())
            })
        });
        let crew = Crew::start(self, Rank::default(), posts).map_err(|error| error.to_string())?;
        keeper.say_tids(&crew.tids());
        keeper.say_running();
        // They run until the process ends.
        crew.wait();
        Err("mem: all its threads failed to get memory".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_no_more_than_half_of_what_is_available() {
        let mem = Mem { threads: 2, size: Some(64 << 20), faults: false };
        assert!(mem.check_available(Some(256 << 20)).is_ok());
        let error = mem.check_available(Some(255 << 20)).unwrap_err().to_string();
        assert!(error.contains("mem:2,size=64m: takes 128 MiB, and 255 MiB"), "{error}");
        assert!(mem.check_available(None).is_ok(), "where the kernel does not tell");
        assert!(available().unwrap() > 0);
    }
}
