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
    /// What this system can do, what makes threads late on it, and what to change
    Doctor(doctor::Doctor),
    /// Measure + record + explain + report, one go
    Run(run::Run),
    /// A measurement, alone
    Measure(measure::Measure),
    /// A load, alone
    Load(load::Load),
    /// An experiment: conditions side by side, in random order, as long as it takes to know
    Experiment(experiment::ExperimentVerb),
    /// Record the kernel's events, of a process, of a command, or of everything
    Record(record::Record),
    /// Late wakeups of a recording: their balances, causes and culprits
    Explain(explain::Explain),
    /// A trace of another tool's as a recording
    Import(import::ImportVerb),
    /// A recording, or its explanation, as a file for other tools
    Export(export::Export),
    /// The page of a recording or an experiment again; figures of another tool's histogram
    Report(report::Report),
    /// Two or more recordings, histograms or experiments: do they differ, by how much, how sure is it
    Compare(compare::Compare),
    /// Who is late right now, why, and by whom; and who arms timers: tables, again and again
    Top(top::Top),
    /// Wait, for a night or a week, until a thread is late, and keep the worst of it, explained
    Watch(watch::Watch),
    /// What a change would do to a recorded system: predictions, ranked, each with how sure it is
    Whatif(Box<whatif::WhatIfVerb>),
    /// From a late thread to a proven change: what helps, tried on this machine, kept where it did
    Fix(fix::Fix),
    /// Does a change help: with it and without, in blocks in random order
    Verify(verify::Verify),
    /// Take back what tardy changed
    Undo(undo::Undo),
    /// A simulated kernel: what a timer policy would do to a machine and a workload that are described
    Sim(Box<sim::Sim>),
    /// A real kernel in counted time: commands in guests, and the kernels there are
    Vm(vm::Vm),
    /// The recordings that there are: when, how, how late
    List(list::List),
    /// What a shell offers when Tab is pressed, as a script for it
    Completions(completions::Completions),
    /// The manual pages
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
