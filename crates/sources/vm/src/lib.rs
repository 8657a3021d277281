//! A real kernel whose time is counted in instructions: the machine's noise vanishes, and what is
//! measured is the kernel's own, again and again.
//!
//! QEMU's `-icount` makes guest time a count of the instructions that the guest executed, and skips
//! what it idles.
#![forbid(unsafe_code)]

mod arch;
mod cache;
mod command;
mod debian;
mod elf;
mod error;
mod kernel;
mod manifest;
mod tools;

pub use arch::Arch;
pub use cache::Cache;
pub use command::on_path;
pub use elf::libraries_of;
pub use error::VmError;
pub use kernel::{Installed, Kernel};
pub use manifest::Package;
pub use tools::{InstalledTools, Tools};
