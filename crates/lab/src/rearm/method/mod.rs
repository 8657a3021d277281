//! Ways to move a timeout. A method is a file in this folder and a word in the registry, which also
//! declares the file.

use super::timeout::Timeout;
use std::io;

macro_rules! registry {
    ($($(#[$only:meta])? $file:ident),* $(,)?) => {
        $($(#[$only])? mod $file;)*

        /// All methods that there are, in the order in which they are shown.
        pub const KNOWN: &[Kind] = &[$($(#[$only])? $file::KIND),*];
    };
}

registry![
    timerfd,
    // Other C libraries cannot send a timer's signal to one thread.
    #[cfg(target_env = "gnu")]
    posix,
    futex_eager,
    futex_lazy,
];

/// One way to move a timeout, as the registry holds it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    pub(super) make: fn() -> io::Result<Box<dyn Rearm>>,
}

/// Implemented by the files of this folder; nobody else need do so. One thread moves, another waits.
pub(super) trait Rearm: Send + Sync {
    /// Called once by who waits, before anything else.
    fn begin(&self) -> io::Result<()> {
        Ok(())
    }

    /// Called by who moves, after the timeout was changed from `old_ns`
    /// ([`NONE_NS`](super::timeout::NONE_NS) where none was armed) to `new_ns`.
    fn moved(&self, timeout: &Timeout, old_ns: u64, new_ns: u64) -> io::Result<()>;

    /// Called by who waits, again and again: returns when it is time to look whether the timeout has
    /// passed or all is over. It may return too early, never too late.
    fn wait(&self, timeout: &Timeout) -> io::Result<()>;

    /// Lets [`Rearm::wait`] return because all is over.
    fn end(&self, timeout: &Timeout);
}
