//! Work for the system to do while something is measured.
//!
//! A load is a file in this folder and a word in the registry, which also declares the file. On a command line it is written
//! `name[:count][,option[=value]]…`, and several at once with `+`: `storm:40`, `storm:40,fifo=2`,
//! `storm:5+storm:5,fifo`. `none` is no load. After `cmd:` there is a command instead, in which a `+`
//! has to be quoted.
//!
//! Some loads are threads of this process, some have processes of their own ([`worker`]).
//!
//! ```
//! let spec: tardy_lab::load::Spec = "storm:3".parse()?;
//! let running = spec.start()?;
//! assert_eq!(running.tids().len(), 3);
//! running.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amount;
mod board;
mod crew;
mod pacer;
mod spec;
pub mod worker;

pub use cmd::Cmd;
pub use cpu::{CPU_THREADS_MAX, Cpu};
pub use disk::{DISK_THREADS_MAX, Disk};
pub use hackbench::{HACKBENCH_TASKS_MAX, Hackbench};
pub use mem::{MEM_THREADS_MAX, Mem};
pub use mix::{RECIPES, Recipe};
pub use spec::{SPEC_LOADS_MAX, Spec, SpecError};
pub use storm::{STORM_THREADS_MAX, Storm};

use spec::Arguments;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// All loads that there are.
        pub const KNOWN: &[Kind] = &[$($file::KIND),*];
    };
}

registry![storm, hackbench, cpu, mem, disk, net, timers, irq, cmd, mix];

/// One kind of load, as the registry holds it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// How it is written.
    pub usage: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    parse: fn(&Arguments) -> Result<Box<dyn Load>, SpecError>,
}

/// A load that can be started. Implemented by the files of this folder; nobody else need do so.
pub trait Load: fmt::Debug + fmt::Display + Send + Sync {
    /// Starts it.
    ///
    /// # Errors
    /// Where not all of it could be started; then none of it runs on.
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError>;

    /// What it does in its own process, for loads that have one. Returns once that is over; most
    /// loads never are.
    ///
    /// # Errors
    /// Why not all of it runs, for the user.
    #[doc(hidden)]
    fn run(&self, _keeper: &worker::Keeper) -> Result<(), String> {
        Err("has no process of its own".to_owned())
    }

    /// Whether what is beneath that process is asked to end before it is made to.
    #[doc(hidden)]
    fn ends_politely(&self) -> bool {
        false
    }
}

/// A load that runs. Dropped, it stops and all its threads are joined.
pub trait RunningLoad: Send {
    /// Its threads or processes.
    fn tids(&self) -> Vec<u32>;

    /// What it has done so far: sleeps, messages, bytes.
    fn work(&self) -> Vec<Work>;

    /// What the user should know of it: that it has ended early, say, and why.
    fn notes(&self) -> Vec<String> {
        vec![]
    }

    /// How long it ran, where it has come to its end by itself.
    fn over_after(&self) -> Option<Duration> {
        None
    }
}

/// What a load has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What is counted: `sleeps`, `messages`, `bytes`.
    pub unit: &'static str,
    /// How many.
    pub count: u64,
}

/// Why a load could not be started.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Not all threads could be made.
    #[error(
        "{load}: thread {index} of {count} could not be made ({source}); `ulimit -u`, \
         /proc/sys/kernel/threads-max and the cgroup's pids.max bound how many there may be"
    )]
    Spawn {
        /// Which load.
        load: String,
        /// Which thread, from 0.
        index: usize,
        /// How many there should be.
        count: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A thread could not make what it needs, or could not go on.
    #[error("{load}: {source}")]
    Thread {
        /// Which load.
        load: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The network that it is about could not be made.
    #[error("{load}: {doing} failed ({source}); {remedy}")]
    Network {
        /// Which load.
        load: String,
        /// What failed.
        doing: &'static str,
        /// What to do.
        remedy: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The policy was not permitted. Another policy would be another load, so there is no falling
    /// back.
    #[error(
        "{load}: SCHED_FIFO priority {prio} was refused ({source}); run as root, with \
         CAP_SYS_NICE or with `ulimit -r {prio}`, or leave `fifo` out"
    )]
    Policy {
        /// Which load.
        load: String,
        /// The priority asked for.
        prio: u8,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The nice value was not permitted.
    #[error(
        "{load}: nice {nice} was refused ({source}); run as root, with CAP_SYS_NICE or with a \
         higher `ulimit -e`, or take a nice value from 0 on"
    )]
    Nice {
        /// Which load.
        load: String,
        /// The value asked for.
        nice: i32,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// This system has not got what it takes.
    #[error("{load}: {why}")]
    Unfit {
        /// Which load.
        load: String,
        /// What is short or missing, and what to do.
        why: String,
    },
    /// The load runs in processes of its own, and the program does not take part in making them.
    #[error(
        "{load} needs processes of its own, which are made by running this program again; its main \
         must begin with tardy_lab::load::worker::enter()"
    )]
    NoWorker {
        /// Which load.
        load: String,
    },
    /// Its process could not start all of it.
    #[error("{load}: {said}")]
    Worker {
        /// Which load.
        load: String,
        /// What the process said.
        said: String,
    },
}

/// Loads that run. Dropped, they stop.
pub struct Running {
    loads: Vec<Box<dyn RunningLoad>>,
}

impl Running {
    /// The threads or processes of all of them.
    pub fn tids(&self) -> Vec<u32> {
        self.loads.iter().flat_map(|load| load.tids()).collect()
    }

    /// What each of them has done so far, in the order in which they were written.
    pub fn work(&self) -> Vec<Vec<Work>> {
        self.loads.iter().map(|load| load.work()).collect()
    }

    /// What the user should know of them.
    pub fn notes(&self) -> Vec<String> {
        self.loads.iter().flat_map(|load| load.notes()).collect()
    }

    /// How long the longest of them ran, where all have come to their ends by themselves. None also
    /// where there is no load.
    pub fn over_after(&self) -> Option<Duration> {
        let ends: Option<Vec<_>> = self.loads.iter().map(|load| load.over_after()).collect();
        ends?.into_iter().max()
    }

    /// Stops all of them and waits for their threads and processes. Returns what each has done.
    pub fn stop(self) -> Vec<Vec<Work>> {
        self.work()
    }
}
