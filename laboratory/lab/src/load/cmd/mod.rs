//! A command: other people's tools as a load.
//!
//! No shell is involved: the words are split as a shell would split them, and the first one is the
//! program. Everything that it starts is its load too, and is gone when the load is, also what went
//! into the background, into a session of its own, or lost its parent.

mod keep;
mod words;

use super::board::Board;
use super::spec::{Arguments, SpecError};
use super::worker::{Keeper, Worker, beneath};
use super::{Kind, Load, LoadError, RunningLoad, Work};
use procfs::process::{Process, Stat};
use std::cell::Cell;
use std::fmt;
use std::time::Duration;

pub(super) use words::end_of;

pub(super) const NAME: &str = "cmd";

pub(super) const USAGE: &str = "cmd:PROGRAM ARGUMENTS…";

pub(super) const KIND: Kind = Kind {
    name: NAME,
    usage: USAGE,
    summary: "a command, without a shell; words are quoted as for one ('…', \"…\", \\), and a + that \
              is not quoted begins the next load; what it prints is not shown",
    parse: |arguments| Cmd::parse(arguments).map(|cmd| Box::new(cmd) as Box<dyn Load>),
};

/// A command that runs as a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cmd {
    /// The program, searched in `PATH`, and its arguments; at least one word, none with a NUL.
    pub words: Vec<String>,
}

impl Cmd {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let written = arguments.rest.trim();
        let wrong = |must: &str| arguments.wrong("the command", written, must);
        if written.contains('\0') {
            return Err(wrong("there is a NUL in it, which no program can be given"));
        }
        let words = shlex::split(written)
            .ok_or_else(|| wrong("a quote is not closed, or it ends with a backslash"))?;
        if arguments.behind_name.is_none() || words.first().is_none_or(String::is_empty) {
            return Err(wrong("it must begin with a program, as in cmd:stress-ng --timer 4"));
        }
        Ok(Self { words })
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}:{}", words::join(&self.words))
    }
}

impl Load for Cmd {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        let board = Board::new(0)
            .map_err(|error| LoadError::Unfit { load: self.to_string(), why: error.to_string() })?;
        let worker = Worker::start(self, &board)?;
        Ok(Box::new(RunningCmd { worker, cpu_ticks: Cell::new(0) }))
    }

    fn run(&self, keeper: &Keeper) -> Result<(), String> {
        keep::run(&self.words, keeper)
    }

    fn ends_politely(&self) -> bool {
        true
    }
}

struct RunningCmd {
    worker: Worker,
    cpu_ticks: Cell<u64>,
}

impl RunningLoad for RunningCmd {
    /// Its processes at this moment.
    fn tids(&self) -> Vec<u32> {
        beneath(self.worker.pid()).iter().map(|stat| stat.pid as u32).collect()
    }

    /// The CPU time of all its processes, also of those that have ended.
    fn work(&self) -> Vec<Work> {
        let children = |stat: &Stat| (stat.cutime.max(0) + stat.cstime.max(0)) as u64;
        let ended = Process::new(self.worker.pid() as i32).and_then(|keeper| keeper.stat());
        let alive = beneath(self.worker.pid());
        let now: u64 = ended.iter().map(children).sum::<u64>()
            + alive.iter().map(|stat| stat.utime + stat.stime + children(stat)).sum::<u64>();
        // One that ends while we look is in neither sum.
        self.cpu_ticks.set(now.max(self.cpu_ticks.get()));
        let count = self.cpu_ticks.get() * 1000 / procfs::ticks_per_second().max(1);
        vec![Work { unit: "CPU milliseconds", count }]
    }

    fn notes(&self) -> Vec<String> {
        self.worker.notes()
    }

    fn over_after(&self) -> Option<Duration> {
        self.worker.over_after()
    }
}
