//! From events to wakeups to balances; a file per cause. No clock, no I/O.
//!
//! [`Explainer`] takes batches of events in time order and yields each wakeup of a watched thread
//! to a [`Sink`], then an [`Explanation`] of all of them. Memory is bounded whatever the length of
//! the stream; the bounds are constants beside what they bound.
//!
//! [`device`] answers another question of the same events: how often timers made the kernel program a
//! clock-event device. [`timers`] tells who arms timers, what becomes of them, and what they cost others. [`change`] tells what causes and
//! culprits add to the difference of two recordings.
//!
//! [`lateness`] keeps how late each thread is, while a stream goes on.
//!
//! Start reading at `explainer.rs` (an event's way), then `machine.rs` (states of a thread), `story.rs` (the
//! phases of a wakeup), `balance.rs` (a closed story cut into pieces), then any file under `cause/`.
#![forbid(unsafe_code)]

mod advice;
mod balance;
mod bits;
mod calls;
pub mod cause;
pub mod change;
mod closing;
mod deferred;
pub mod device;
mod distributions;
mod ending;
mod explainer;
mod findings;
mod finished;
mod group;
mod held;
mod label;
pub mod lateness;
mod machine;
pub mod pattern;
pub mod piece;
mod recent;
mod refusal;
mod seen;
mod shares;
mod sleep;
mod slots;
mod stacks;
mod step;
mod story;
mod summary;
mod threads;
pub mod timers;
mod victims;
mod wait;
mod watch;
mod why;
mod worst;

pub use advice::{
    Advice, Remedy, SHARE_MIN as ADVICE_SHARE_MIN, WORST_SHARE_MIN as ADVICE_WORST_SHARE_MIN,
};
pub use cause::causes;
pub use ending::REVISED_MAX;
pub use explainer::{Explainer, Options};
pub use findings::{
    Bound, CauseFinding, ClockFinding, CulpritFinding, Explanation, GapFinding, Lane, LaneSpan,
    StackFinding, VictimFinding, WorstGroup, WorstWakeup, place_in_words,
};
pub use finished::{Named, Sink};
pub use group::{Group, GroupFinding};
pub use label::Label;
pub use machine::Reason;
pub use pattern::{Found, Instance, PatternFinding, Patterns};
pub use seen::Seen;
pub use sleep::{LongestWait, WaitFinding, WaitKind};
pub use step::{Happened, Step};
pub use tardy_followers::{Activity, Followed, Followers, SPANS_MAX, Skew, StolenTime};
pub use threads::CHAIN_MAX;
pub use watch::{Command, Watch};
pub use why::{Sentence, why};
