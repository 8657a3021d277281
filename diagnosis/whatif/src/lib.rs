//! What would a change do? From a recording to an answer:
//!
//! ```text
//! recording ──► Observation ──► Model ──► simulated as it was ──► how far that is off
//!                (scripts,       (a system     │
//!                 costs)          of sim)      └─► changed and simulated again ──► Prediction
//! ```
//!
//! [`Observation`] looks on while a recording is explained and yields [`Observed`]; [`WhatIf`] simulates that as it
//! was, says how far off the simulation is, and predicts what [changes](tardy_changes) would do. What a change may
//! be is a file under `change/`. A change of which nothing can be said is refused with the reason ([`Refusal`]).
//!
//! Threads are replayed literally: each does again what it did, in a closed loop, so that delays shift what follows;
//! interrupts and a hypervisor's thefts come by the clock. What is left out: locks with priority inheritance, caches,
//! the difference between user and kernel mode, timers that are not sleeps (they come by the clock).
#![forbid(unsafe_code)]

mod change;
mod correction;
mod experience;
mod figures;
mod groups;
mod model;
mod observed;
mod predict;
mod rank;
mod refusal;
mod simulate;
mod suspects;
mod unmodelled;
mod world;

pub use experience::Class;
pub use figures::Figures;
pub use model::{KernelSeen, RealTimeShare};
pub use observed::{Observation, Observed, Recorded};
pub use predict::{
    Baseline, Bound, COVERAGE, COVERAGE_SURER, Moved, Others, P999_WAKEUPS_MIN, Prediction,
    WAKEUPS_MIN, WhatIf,
};
pub use rank::{Tried, rank};
pub use refusal::Refusal;
#[cfg(test)]
mod tests;
