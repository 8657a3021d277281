//! The verbs, a file each. A new one is a file here and a line in each of the two lists.
//!
//! Doc comments on flags are what `--help` prints, so there is no markup in them.
#![allow(clippy::doc_markdown)]

mod compare;
mod completions;
mod doctor;
mod experiment;
mod explain;
mod export;
mod fix;
mod import;
mod list;
mod load;
mod man;
mod measure;
mod record;
mod report;
mod run;
mod sim;
mod top;
mod trial;
mod undo;
mod verify;
mod vm;
mod watch;
mod whatif;
mod why;

pub(crate) use explain::WatchFlags;

use crate::failure::{Failure, Outcome};
use clap::{CommandFactory, Subcommand};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Check this system: what tardy can do here, what makes threads late, what to change
    Doctor(doctor::Doctor),
    /// Record, explain and report in one go: your program, or without one tardy's own threads beside a load
    Run(run::Run),
    /// Measure latencies, as cyclictest does, and more
    Measure(measure::Measure),
    /// Run a load, such as hackbench or a storm of timers
    Load(load::Load),
    /// Run an experiment: several conditions, in random order, with statistics
    Experiment(experiment::ExperimentVerb),
    /// Record the kernel's events while a command, a process or everything runs
    Record(record::Record),
    /// Explain the late wakeups of a recording: causes, culprits, what to do
    Explain(explain::Explain),
    /// Convert another tool's trace to a recording
    Import(import::ImportVerb),
    /// Write a recording or its explanation as a file for other tools
    Export(export::Export),
    /// Write the page of a recording or an experiment; show the figures of a histogram
    Report(report::Report),
    /// Compare recordings, histograms or experiments: which is later, by how much, and why
    Compare(compare::Compare),
    /// Show which threads are late right now, why, and because of whom; or who arms timers
    Top(top::Top),
    /// Wait for late wakeups, for hours or days, and keep recordings of the worst
    Watch(watch::Watch),
    /// Predict from a recording what a change would do
    Whatif(Box<whatif::WhatIfVerb>),
    /// Try changes on this machine, and keep those that are shown to help
    Fix(fix::Fix),
    /// Measure a change that you name, with and without it, and undo it
    Verify(verify::Verify),
    /// Undo what tardy has changed on this system
    Undo(undo::Undo),
    /// Simulate a kernel: compare timer policies on a machine and workload from a file
    Sim(Box<sim::Sim>),
    /// Run commands in a guest whose time is a count of instructions
    Vm(vm::Vm),
    /// List the recordings: when, how, how late
    List(list::List),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print or install the manual pages
    Man(man::ManVerb),
}

impl Verb {
    /// Executes it; `Command` is the whole command line, for verbs that speak of that.
    pub(crate) fn execute<Command: CommandFactory>(self) -> Result<Outcome, Failure> {
        match self {
            Self::Doctor(verb) => verb.execute(),
            Self::Run(verb) => verb.execute(),
            Self::Measure(verb) => verb.execute(),
            Self::Load(verb) => verb.execute(),
            Self::Experiment(verb) => verb.execute(),
            Self::Record(verb) => verb.execute(),
            Self::Explain(verb) => verb.execute(),
            Self::Import(verb) => verb.execute(),
            Self::Export(verb) => verb.execute(),
            Self::Report(verb) => verb.execute(),
            Self::Compare(verb) => verb.execute(),
            Self::Top(verb) => verb.execute(),
            Self::Watch(verb) => verb.execute(),
            Self::Whatif(verb) => verb.execute(),
            Self::Fix(verb) => verb.execute(),
            Self::Verify(verb) => verb.execute(),
            Self::Undo(verb) => verb.execute(),
            Self::Sim(verb) => verb.execute(),
            Self::Vm(verb) => verb.execute(),
            Self::List(verb) => verb.execute(),
            Self::Completions(verb) => verb.execute::<Command>(),
            Self::Man(verb) => verb.execute::<Command>(),
        }
    }
}
