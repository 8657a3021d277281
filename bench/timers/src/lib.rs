//! Timer queues side by side: the same streams of operations, each queue as its users would build it.
//!
//! A [`workload`] makes a [`Script`](script::Script), a list of operations with every time in it;
//! [`registry`] lists the queues; [`bench`](mod@bench) runs a script on one of them. It prints numbers
//! and judges none. Whether a queue does what the script says is another matter: [`check`] holds each
//! against a sorted list, and none is timed before.
//!
//! Start reading at [`queue::TimerQueue`].
#![forbid(unsafe_code)]

pub mod bench;
pub mod check;
pub mod queue;
mod queues;
pub mod registry;
pub mod script;
pub mod workload;
