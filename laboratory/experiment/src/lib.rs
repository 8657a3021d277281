//! Experiments: measurements under several conditions that can be repeated and compared.
//!
//! An [`Experiment`] is a TOML file: what is measured, under which conditions, how long. Its conditions
//! run in blocks, in random order, every one once a round. What a block yields is a [`Block`], a line
//! of a file that survives whatever ends the run; [`Results`] are all of them, with what the machine
//! was like.
//!
//! This crate presents nothing; it chooses what is compared with what ([`compare()`]) and leaves the
//! tests to `tardy-stats`. Start reading at `file.rs`, then `results.rs`.
#![forbid(unsafe_code)]

mod changed;
mod clock;
mod compare;
mod condition;
mod error;
mod file;
mod fitness;
mod folder;
mod grid;
mod kernel_threads;
mod need;
mod place;
mod results;
mod run;
mod runner;
mod schedule;
mod state;
mod subject;
mod timer_policy;
mod truth;

pub use compare::{Comparisons, Pair, compare};
pub use condition::Condition;
pub use error::ExperimentError;
pub use file::{Experiment, Length, Table};
pub use folder::Folder;
pub use place::{FigureOver, Place};
pub use results::{Block, Figure, Fit, Fitness, Results, Series, SystemState};
pub use run::Run;
pub use runner::{Ended, Progress, Runner};
pub use subject::{Boosts, MethodProgrammings, Observation, Observer, Programmings};
pub use truth::{Bounds, Column, FigureError, Predicted, Truth, TruthError, TruthRow};
