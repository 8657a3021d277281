//! Whose lateness is watched, also of threads that come later.

use crate::arguments;
use crate::failure::Failure;
use crate::program;
use clap::Args;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tardy_kernel::{FlightOptions, FlightRecorder, Options, realtime_threads, threads_with};

/// How often it is looked whether there are more threads of a name: it reads all of procfs.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A late interrupt is worth a stack from this part of the bound on: the rest of a lateness may be another's.
const INTERRUPTS_PART: u64 = 2;

/// Whose lateness.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Whom {
    /// Watch the threads of this process, including later ones (repeatable) [default: every real-time thread of
    /// user space]
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid)]
    pid: Vec<u32>,

    /// Watch threads with this name, including later ones, found within 5 s (repeatable)
    #[arg(long, value_name = "NAME")]
    comm: Vec<String>,

    #[arg(skip)]
    is_everybody: bool,

    /// Threads of a name that are watched already, and when it was looked for more.
    #[arg(skip)]
    known: BTreeSet<u32>,
    #[arg(skip)]
    looked: Option<Instant>,
}

impl Whom {
    pub(super) fn check(&mut self, command: &[String]) -> Result<(), Failure> {
        self.is_everybody = self.pid.is_empty() && self.comm.is_empty() && command.is_empty();
        self.pid.iter().try_for_each(|pid| program::must_exist(*pid))
    }

    pub(super) fn options(
        &self,
        over_ns: u64,
        buffer_bytes_per_cpu: Option<u64>,
        takes_stacks: bool,
    ) -> FlightOptions {
        let source = Options {
            watched_processes: self.pid.clone(),
            buffer_bytes_per_cpu,
            stacks_over_ns: takes_stacks.then_some(over_ns / INTERRUPTS_PART),
            ..Options::default()
        };
        FlightOptions { source, watch_realtime: self.is_everybody, over_ns }
    }

    /// Who is watched, for the beginning: with nobody there it is a night for nothing.
    pub(super) fn greeting(&self, command: &[String]) -> String {
        let threads = |count: usize| match count {
            0 => "none now, later ones as they come".to_owned(),
            1 => "one now".to_owned(),
            count => format!("{count} now"),
        };
        let mut whom = Vec::new();
        if self.is_everybody {
            whom.push(format!("every real-time thread ({})", threads(realtime_threads())));
        }
        if !self.pid.is_empty() {
            let pids: Vec<String> = self.pid.iter().map(u32::to_string).collect();
            whom.push(format!("the threads of process {}", pids.join(", ")));
        }
        if !self.comm.is_empty() {
            let count = threads(threads_with(&self.comm).len());
            whom.push(format!("threads called {} ({count})", self.comm.join(", ")));
        }
        if let Some(command) = command.first() {
            whom.push(format!("the threads of {command}"));
        }
        whom.join(" and ")
    }

    /// Watches threads of the names that were not there before.
    pub(super) fn look_for_more(&mut self, flight: &mut dyn FlightRecorder) {
        if self.comm.is_empty() || self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        let now: BTreeSet<u32> = threads_with(&self.comm).into_iter().collect();
        for thread in now.difference(&self.known) {
            flight.watch_thread(*thread);
        }
        self.known = now;
        self.looked = Some(Instant::now());
    }
}
