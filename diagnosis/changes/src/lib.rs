//! What can be changed about a system, by name: `slack(audio)=1ns`, `prio(29014)=fifo:50`,
//! `affinity(irq 24)=1`, `preempt=full`.
//!
//! A prediction and the remedy that does it have one name, which is in [`KNOWN`]. Some can be predicted and not
//! done (another timer policy), others done and not predicted; whoever implements a change says so. No clock, no
//! I/O.
#![forbid(unsafe_code)]

mod change;
mod cpus;
mod known;
mod scheduling;
mod time;
mod whom;

pub use change::{Change, ChangeError, clash};
pub use cpus::CpuList;
pub use known::{About, Form, KNOWN, Target, about};
pub use scheduling::{PRIORITY_ADVISED, Scheduling};
pub use time::{shown_ns, written_ns};
pub use whom::{Whom, is_unit, stem};
