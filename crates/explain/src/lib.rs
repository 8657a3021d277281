//! From events to wakeups to balances; a file per cause. No clock, no I/O.
#![forbid(unsafe_code)]

mod findings;

pub use findings::{
    CauseFinding, CulpritFinding, Explanation, Label, Lane, LaneSpan, Told, VictimFinding,
    WorstGroup,
};
