//! A real kernel whose time is counted in instructions: the machine's noise vanishes, and what is
//! measured is the kernel's own, again and again.
//!
//! QEMU's `-icount` makes guest time a count of the instructions that the guest executed, and skips
//! what it idles.
#![forbid(unsafe_code)]

mod arch;
mod error;

pub use arch::Arch;
pub use error::VmError;
