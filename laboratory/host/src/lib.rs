//! What this machine is and allows: facts that bear on lateness, a file per check.
//!
//! [`Host::probe`] reads the system once; what it found is then a value that can be shown
//! ([`doctor::render`]), put into a recording's manifest ([`Host::facts`]) or asked what tardy can
//! do here ([`Host::can`]). Nothing is changed, and nothing is tried out: a permission is judged
//! from what the kernel tells of it. Whatever is missing or unreadable is "unknown", never an error.
//!
//! Start reading at [`Host`], then at `check/mod.rs`, where the checks are listed.
#![forbid(unsafe_code)]

mod boot;
mod calls;
mod capability;
mod check;
mod command_line;
pub mod doctor;
mod escape;
mod facts;
mod host;
mod kernel_config;
pub mod kernel_version;
mod preemption;
mod privileges;
mod probe;
mod root;
mod settings;
mod virtualisation;

pub use boot::boot_id;
pub use calls::Calls;
pub use capability::{Ability, Capability};
pub use check::{Check, State};
pub use escape::printable;
pub use facts::Facts;
pub use host::{Host, SCHEMA};
pub use root::Root;
pub use settings::{Threads, ids_of_threads, of_threads};
