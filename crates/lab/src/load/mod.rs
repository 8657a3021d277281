//! Work for the system to do while something is measured.
//!
//! A load is a file in this folder and a word in the registry, which also declares the file. On a command line it is written
//! `name[:count][,option[=value]]…`, and several at once with `+`: `storm:40`, `storm:40,fifo=2`,
//! `storm:5+storm:5,fifo`. `none` is no load.
//!
//! ```
//! let spec: tardy_lab::load::Spec = "storm:3".parse()?;
//! let running = spec.start()?;
//! assert_eq!(running.tids().len(), 3);
//! running.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod amount;
mod crew;
mod pacer;
mod spec;

pub use spec::{SPEC_LOADS_MAX, Spec, SpecError};
pub use storm::{STORM_THREADS_MAX, Storm};

use spec::Arguments;
use std::fmt;
use thiserror::Error;

macro_rules! registry {
    ($($file:ident),* $(,)?) => {
        $(mod $file;)*

        /// All loads that there are.
        pub const KNOWN: &[Kind] = &[$($file::KIND),*];
    };
}

registry![storm, net, timers, irq];

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
}

/// A load that runs. Dropped, it stops and all its threads are joined.
pub trait RunningLoad: Send {
    /// Its threads or processes.
    fn tids(&self) -> Vec<u32>;

    /// What it has done so far: sleeps, messages, bytes.
    fn work(&self) -> Vec<Work>;
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
    /// A thread could not make what it needs.
    #[error("{load}: a thread could not prepare what it does: {source}")]
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

    /// Stops all of them and waits for their threads and processes. Returns what each has done.
    pub fn stop(self) -> Vec<Vec<Work>> {
        self.work()
    }
}
