//! A real kernel whose time is counted in instructions: the machine's noise vanishes, and what is
//! measured is the kernel's own, again and again.
//!
//! QEMU's `-icount` makes guest time a count of the instructions that the guest executed, and skips
//! what it idles. A [`Guest`] is a kernel, a first file system with this very program in it, and a
//! command; [`Guest::run`] boots it, and everything that the command writes to its folder comes back,
//! a recording as any other.
//!
//! Start reading at `run.rs`; `guest/` is what happens inside, `channel.rs` what it says.
#![forbid(unsafe_code)]

mod arch;
mod cache;
mod channel;
mod command;
mod debian;
mod elf;
mod error;
mod fate;
mod guest;
mod initramfs;
mod job;
mod keeper;
mod kernel;
mod machine;
mod manifest;
mod program;
mod qemu;
mod received;
mod run;
mod tools;

pub use arch::Arch;
pub use cache::Cache;
pub use elf::libraries_of;
pub use error::VmError;
pub use fate::{Broken, Fate, Why};
pub use guest::enter as enter_guest;
pub use keeper::enter as enter_keeper;
pub use kernel::{Installed, Kernel, Purpose};
pub use machine::{Machine, Mips};
pub use manifest::Package;
pub use program::guest_program;
pub use run::{Guest, Limits, Ran, Said};
/// Where a program is that may be started.
pub use tardy_programs::find as on_path;
pub use tools::{InstalledTools, Tools};
