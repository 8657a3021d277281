//! Changes of a running system that can be taken back.
//!
//! A *remedy* does what a [`Change`](tardy_changes::Change) says. It is a list of *settings*: a *place* (a file of the
//! kernel's, the policy of a thread, …) with the value that it is to have. The *journal* is the one way in which
//! tardy alters anything that outlives it: what a place held is on disk before it is touched, and is put back at the
//! end of the process, at the next start where the process was killed, or when somebody asks for it; where somebody
//! else changed the place meanwhile, it is left and that is said.
//!
//! It decides nothing: which remedy fits, and whether it helped, is found out elsewhere. Start reading at
//! `remedy/mod.rs`, then `journal/mod.rs`.
#![forbid(unsafe_code)]

mod behaviour;
mod durable;
mod journal;
mod lasting;
mod place;
pub mod remedy;
mod setting;
mod system;

pub use journal::{
    Changed, Damage, Entry, Hold, Journal, Kept, Outcome, RemedyError, Undone, Unreadable,
    tell_while_changing,
};
pub use lasting::{Lasting, lasting, next_boot};
pub use place::{Form, Place, Thread, shell_word};
pub use remedy::{Lacking, Remedy};
pub use setting::{Setting, commands, commands_for};
pub use system::System;
