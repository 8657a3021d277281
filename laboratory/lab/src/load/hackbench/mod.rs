//! Senders and receivers in groups, in which every sender sends to every receiver: wakeups, context
//! switches and contention of run queues.
//!
//! The load of rt-tests' `hackbench` (Rusty Russell, Ingo Molnar and others; the manual page
//! hackbench(8) describes it), written anew: a group has `fds` receivers, each with a socket pair or
//! a pipe of its own, and as many senders; a sender sends `size` bytes to one receiver after the
//! other, again and again. All begin together once all of them are there. As a load it never ends;
//! with `loops` each sender goes round that many times, and what counts is how long that takes, from
//! the common start until the last one has done its work. (The original counts on until the last
//! process is gone.)
//!
//! Like the original's, they are processes by default; with `threads` they are threads of one.
//! Either way none of them is in the process that measures.

mod group;
mod run;
mod task;

use super::amount;
use super::spec::{Arguments, SpecError};
use super::worker::{Counted, Keeper};
use super::{Kind, Load, LoadError, RunningLoad};
use rustix::process::{Resource, getrlimit};
use std::fmt;

pub(super) use task::run_task;

/// The most senders and receivers of one load, groups × fds × 2.
pub const HACKBENCH_TASKS_MAX: u64 = 20_000;

/// The most groups, and the most receivers of one group.
const SIDE_MAX: u64 = 1_000;

/// The longest message. rt-tests takes what is given; beyond what a pipe or socket holds, a message
/// only goes in more pieces.
const SIZE_MAX: u64 = 1 << 20;

/// The most rounds; with this no count comes near the end of a `u64`.
const LOOPS_MAX: u64 = 1_000_000_000;

/// rt-tests' default.
const GROUPS: u64 = 10;
const FDS: u64 = 20;
const SIZE: u64 = 100;

/// Open files besides those of the groups: standard ones, channels, pipes for ready and go.
const FILES_ELSE: u64 = 32;

const USAGE: &str =
    "hackbench[:GROUPS][,fds=N][,size=BYTES][,loops=N][,socket|pipe][,processes|threads]";

pub(super) const KIND: Kind = Kind {
    name: "hackbench",
    usage: USAGE,
    summary: "GROUPS (10) of 20 senders and 20 receivers (`fds`), processes or `threads`, that pass \
              messages of 100 bytes (`size`) over sockets or a `pipe`, without end or `loops` times",
    parse: |arguments| Hackbench::parse(arguments).map(|load| Box::new(load) as Box<dyn Load>),
};

/// Groups of senders and receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// How many groups, 1–1000.
    pub groups: u64,
    /// How many receivers a group has, and how many senders; 1–1000. At most
    /// [`HACKBENCH_TASKS_MAX`] in all groups.
    pub fds: u64,
    /// Bytes of a message.
    pub size: u64,
    /// How often a sender sends to each receiver; without it there is no end.
    pub loops: Option<u64>,
    /// Pipes instead of socket pairs.
    pub pipe: bool,
    /// Threads of one process instead of processes.
    pub threads: bool,
}

impl Hackbench {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let groups = arguments.count("groups", GROUPS, SIDE_MAX)?;
        let mut load =
            Self { groups, fds: FDS, size: SIZE, loops: None, pipe: false, threads: false };
        for &(option, value) in &arguments.options {
            match (option, value) {
                ("fds", Some(value)) => load.fds = arguments.number("fds", value, 1, SIDE_MAX)?,
                ("size", Some(value)) => load.size = arguments.size("size", value, 1, SIZE_MAX)?,
                ("loops", Some(value)) => {
                    load.loops = Some(arguments.number("loops", value, 1, LOOPS_MAX)?);
                }
                ("pipe", None) => load.pipe = true,
                ("socket", None) => load.pipe = false,
                ("threads", None) => load.threads = true,
                ("processes", None) => load.threads = false,
                _ => return Err(arguments.no_option(option, USAGE)),
            }
        }
        if load.tasks() > HACKBENCH_TASKS_MAX {
            let written = format!("{} × {} × 2", load.groups, load.fds);
            let must = format!(
                "that is {} senders and receivers, at most {HACKBENCH_TASKS_MAX} are allowed",
                load.tasks()
            );
            return Err(arguments.wrong("groups × fds × 2", &written, &must));
        }
        Ok(load)
    }

    /// Senders and receivers in all.
    fn tasks(&self) -> u64 {
        self.groups * self.fds * 2
    }

    /// Files that its keeper has open at once: of all groups where they are its threads, of one at a
    /// time where they are processes.
    fn files(&self) -> u64 {
        let groups = if self.threads { self.groups } else { 1 };
        groups * self.fds * 2 + FILES_ELSE
    }
}

impl fmt::Display for Hackbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hackbench:{}", self.groups)?;
        if self.fds != FDS {
            write!(f, ",fds={}", self.fds)?;
        }
        if self.size != SIZE {
            write!(f, ",size={}", amount::size(self.size))?;
        }
        if let Some(loops) = self.loops {
            write!(f, ",loops={loops}")?;
        }
        if self.pipe {
            f.write_str(",pipe")?;
        }
        if self.threads {
            f.write_str(",threads")?;
        }
        Ok(())
    }
}

impl Load for Hackbench {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let unfit = |why| LoadError::Unfit { load: self.to_string(), why };
        // The process inherits the hard limit and raises the soft one up to what it needs.
        if let Some(hard) = getrlimit(Resource::Nofile).maximum
            && hard < self.files()
        {
            return Err(unfit(format!(
                "needs {} open files, and {hard} are allowed (the hard limit, `ulimit -Hn`); raise \
                 it as root or in /etc/security/limits.conf, or take fewer {}",
                self.files(),
                if self.threads { "groups, or processes instead of threads" } else { "fds" },
            )));
        }
        Ok(Box::new(Counted::start(self, self.groups * self.fds, "messages")?))
    }

    fn run(&self, keeper: &Keeper) -> Result<(), String> {
        run::run(self, keeper)
    }
}
