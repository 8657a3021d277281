//! x
#![forbid(unsafe_code)]
pub mod format;
pub mod page;
