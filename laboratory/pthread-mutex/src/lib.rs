//! POSIX mutexes with their protocols from the C library, safe to use.
//!
//! `std::sync::Mutex` is a futex of its own and knows no protocol: who holds it keeps its own
//! priority. The C library's mutex can lend the holder the priority of who waits
//! ([`Protocol::Inherit`]), or give it a ceiling while it holds ([`Protocol::Protect`]), and a robust
//! one tells the next owner that the last died with it. This is that mutex, the very one that C
//! programs use, for who measures what they pay.
//!
//! ```
//! use tardy_pthread_mutex::{Kind, Mutex, Protocol};
//!
//! let mutex = Mutex::new(Kind { protocol: Protocol::Inherit, robust: false })?;
//! let guard = mutex.lock()?;
//! assert!(!guard.previous_owner_died());
//! drop(guard); // unlocks, in the thread that locked: a guard cannot be sent to another
//! # Ok::<(), tardy_pthread_mutex::MutexError>(())
//! ```
//!
//! What it never does: protect data of its own (it is a lock, not a container), share memory between
//! processes, or wait with a time limit. Start reading at `mutex.rs`; `attributes.rs` is how one is
//! asked for. Every `unsafe` block of the crate is in these two.

mod attributes;
mod error;
mod mutex;

pub use attributes::{Kind, Protocol};
pub use error::MutexError;
pub use mutex::{Guard, Mutex};
