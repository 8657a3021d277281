//! From events to wakeups to balances; a file per cause. No clock, no I/O.
//!
//! [`Explainer`] takes batches of events in time order and yields each wakeup of a watched thread
//! to a [`Sink`], then an [`Explanation`] of all of them. Memory is bounded whatever the length of
//! the stream; the bounds are constants beside what they bound.
//!
//! [`device`] answers another question of the same events: how often timers made the kernel program a
//! clock-event device. [`timers`] tells who arms timers, what becomes of them, and what they cost others.
//!
//! Start reading at `explainer.rs` (events to stories), then `story.rs` (stories to balances), then
//! any file under `cause/`.
#![forbid(unsafe_code)]

pub mod cause;
mod cpu;
pub mod device;
mod explainer;
mod findings;
mod finished;
mod label;
mod locks;
mod missing;
mod passed_over;
pub mod pattern;
pub mod piece;
mod prios;
mod step;
mod story;
mod summary;
mod threads;
pub mod timers;
mod victim;
mod wait;
mod watch;
mod why;
mod worst;

pub use cause::causes;
pub use cpu::SPANS_MAX;
pub use explainer::{Explainer, Options, Sink};
pub use findings::{
    CauseFinding, CulpritFinding, Explanation, GapFinding, Label, Lane, LaneSpan, Told,
    VictimFinding, WorstGroup,
};
pub use finished::Named;
pub use pattern::{Found, Instance, PatternFinding, Patterns};
pub use step::{Happened, Step};
pub use threads::CHAIN_MAX;
pub use watch::Watch;
pub use why::{Sentence, why};
