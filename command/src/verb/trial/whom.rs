//! Whose wakeups a trial is about: processes that run already, or a command that is started for it.

use crate::arguments;
use crate::failure::Failure;
use crate::program::{self, Started};
use clap::Args;
use rustix::process::Signal;
use std::collections::BTreeSet;
use tardy_explain::Watch;
use tardy_kernel::processes_with;

/// Processes of one command at most.
const PROCESSES_MAX: usize = 4096;

/// Whose wakeups.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct VictimFlags {
    /// The threads of this process (repeatable)
    #[arg(short, long, value_name = "PID", value_parser = arguments::pid)]
    pub(crate) pid: Vec<u32>,

    /// The threads of this name (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) comm: Vec<String>,

    /// A command to start; if it ends by itself, it is started again
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// Whose wakeups a trial is about.
#[derive(Clone, Debug)]
pub(crate) struct Victim {
    processes: Vec<u32>,
    names: Vec<String>,
    command: Vec<String>,
}

impl VictimFlags {
    pub(crate) fn is_chosen(&self) -> bool {
        !self.pid.is_empty() || !self.comm.is_empty() || !self.command.is_empty()
    }

    /// Those that are meant.
    pub(crate) fn victim(&self) -> Result<Victim, Failure> {
        if !self.command.is_empty() && (!self.pid.is_empty() || !self.comm.is_empty()) {
            return Err(Failure::usage("name processes, or a command to start, not both"));
        }
        self.pid.iter().try_for_each(|pid| program::must_exist(*pid))?;
        let mut processes: BTreeSet<u32> = self.pid.iter().copied().collect();
        processes.extend(processes_with(&self.comm));
        if processes.is_empty() && !self.comm.is_empty() {
            return Err(Failure::usage(format!("no thread is called {}", self.comm.join(", "))));
        }
        Ok(Victim {
            processes: processes.into_iter().collect(),
            names: self.comm.clone(),
            command: self.command.clone(),
        })
    }
}

impl Victim {
    /// The threads of these processes.
    pub(crate) fn processes(processes: Vec<u32>) -> Self {
        Self { processes, names: Vec::new(), command: Vec::new() }
    }

    /// Those of a command that is started.
    pub(crate) fn command(command: Vec<String>) -> Self {
        Self { processes: Vec::new(), names: Vec::new(), command }
    }

    pub(crate) fn is_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Whom an explanation is about: as the recording marks them, unless a name says more.
    pub(crate) fn watch(&self) -> Watch {
        Watch { comms: self.names.clone(), ..Watch::default() }
    }

    /// A process of it that is gone.
    pub(crate) fn ended(&self) -> Option<u32> {
        self.processes.iter().copied().find(|pid| program::has_ended(*pid))
    }

    /// The processes that are named by number.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.processes
    }

    /// Nothing runs yet: [`Running::see_to_it`] starts the command, where there is one.
    pub(crate) fn start(&self) -> Running<'_> {
        Running { victim: self, child: None }
    }
}

/// The victim while it is tried.
pub(crate) struct Running<'a> {
    victim: &'a Victim,
    child: Option<Started>,
}

impl Running<'_> {
    /// The processes that are watched by their number.
    pub(crate) fn watched(&self) -> Vec<u32> {
        self.victim.processes.clone()
    }

    /// Makes sure that it runs.
    pub(crate) fn see_to_it(&mut self) -> Result<(), Failure> {
        let Some(child) = &mut self.child else {
            if self.victim.is_command() {
                self.child = program::start(&self.victim.command, None, true)?;
            }
            return self.victim.ended().map_or(Ok(()), |pid| {
                let words = format!("process {pid} has ended, so there is nothing left to try");
                Err(Failure::new(words))
            });
        };
        if child.has_ended().is_ok_and(|has_ended| has_ended) {
            self.child = program::start(&self.victim.command, None, true)?;
        }
        Ok(())
    }

    /// Another command, from its start.
    pub(crate) fn replace(&mut self, command: &[String]) -> Result<(), Failure> {
        self.end()?;
        self.child = program::start(command, None, true)?;
        Ok(())
    }

    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if let Some(mut child) = self.child.take() {
            program::end(&mut child, Signal::INT)?;
        }
        Ok(())
    }

    /// Its threads, as they are now.
    pub(crate) fn threads(&self) -> Vec<u32> {
        let mut processes: Vec<u32> = self.victim.processes.clone();
        processes.extend(self.child.as_ref().map(Started::id));
        let mut threads = Vec::new();
        let mut at = 0;
        while at < processes.len() && at < PROCESSES_MAX {
            for tid in threads_of(processes[at]) {
                if self.is_meant(processes[at], tid) {
                    threads.push(tid);
                }
                if self.victim.is_command() {
                    processes.extend(children_of(processes[at], tid));
                }
            }
            at += 1;
        }
        threads
    }

    /// Where names are chosen, only threads of those.
    fn is_meant(&self, process: u32, tid: u32) -> bool {
        let name = std::fs::read_to_string(format!("/proc/{process}/task/{tid}/comm"));
        let name = name.unwrap_or_default();
        let names = &self.victim.names;
        names.is_empty() || names.iter().any(|wanted| wanted == name.trim_end())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Its status says nothing: it is ended because the trial is over.
        let _ = self.end();
    }
}

/// The threads of a process.
pub(crate) fn threads_of(process: u32) -> Vec<u32> {
    let entries =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn children_of(process: u32, tid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/task/{tid}/children"));
    text.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
