//! `tardy measure`: a measurement, alone. A kind is a file here and its lines below.

pub(in crate::verb) mod boosts;
mod cyclic;
mod pi;
pub(in crate::verb) mod programmed;
mod rearm;
mod sleep;
mod staircase;

pub(crate) use cyclic::{CyclicFlags, attend};

use crate::failure::{Failure, Outcome};
use clap::{Args, Subcommand};

/// Flags of `tardy measure`.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Measure how late threads are that ask to be woken at regular times, as cyclictest does
    Cyclic(Box<cyclic::Cyclic>),
    /// Compare ways to sleep for the same time: which of them differ, and by how much
    Sleep(sleep::Sleep),
    /// Measure threads of rising period and falling priority on one CPU: how far each strays from its timeline
    Staircase(Box<staircase::Staircase>),
    /// Compare ways to move a timeout before it expires: what a move costs, and what is delivered
    Rearm(rearm::Rearm),
    /// Measure what a lock with priority inheritance costs a thread of high priority, and what it boosts
    Pi(pi::Pi),
}

impl Measure {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        match self.what {
            What::Cyclic(cyclic) => cyclic.execute(),
            What::Sleep(sleep) => sleep.execute(),
            What::Staircase(staircase) => staircase.execute(),
            What::Rearm(rearm) => rearm.execute(),
            What::Pi(pi) => pi.execute(),
        }
    }
}
