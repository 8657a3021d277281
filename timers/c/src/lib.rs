//! `tardy-timers` for C: `libtardy_timers` and `tardy_timers.h`.
//!
//! A thin layer. Each function checks what it was given, calls the Rust library and turns what comes
//! back into a number. It never unwinds into C: a panic becomes [`Error::Panic`]. What C programs
//! include is generated from here (`include/tardy_timers.h`), so what stands above a function is what
//! its user reads.
//!
//! Start reading at [`error`] for what all functions have in common, then at [`service`].
#![allow(clippy::doc_markdown, reason = "comments on functions are read in C, in the header")]

pub mod clock;
pub mod error;
pub mod eventfd;
pub mod interval;
pub mod queue;
pub mod request;
pub mod service;
pub mod sleeper;

pub use error::Error;
