//! Loads on this machine: that they do what they say, that nothing of them stays however they end,
//! and that a refusal says what to do.
//!
//! Most run in the example `load`, a program of its own that can be killed. Nothing here looks at how
//! fast anything is; what is waited for is waited for until it is there, or given up after a time
//! that no machine takes.

mod left_behind;
mod program;
mod refused;
mod work;
