//! Ways to move a timeout. A method is a file in this folder and a word in the registry, which also
//! declares the file.

use super::timeout::Timeout;
use super::timeout_log::TimeoutLog;
use std::io;
use std::sync::Arc;

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
    precise,
    lazy_rearm,
    wheel,
    service_precise,
    service_coarse,
];

/// One way to move a timeout, as the registry holds it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    pub(super) make: Make,
}

/// Who tells that the timeout has come.
#[derive(Clone, Copy)]
pub(super) enum Make {
    /// A thread that is made for it, and waits.
    Waits(fn() -> io::Result<Box<dyn Rearm>>),
    /// The method's own thread.
    Fires(fn(Arc<TimeoutLog>) -> io::Result<Box<dyn Fires>>),
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

/// Implemented where there is a thread already that calls back; that one is to
/// [`look`](TimeoutLog::look).
pub(super) trait Fires {
    /// Called by who moves, as [`Rearm::moved`].
    fn moved(&mut self, old_ns: u64, new_ns: u64) -> io::Result<()>;

    /// The thread that calls back, and the CPU time that it has had since the method was made.
    fn thread(&mut self) -> io::Result<Thread>;
}

/// A thread that waits for a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thread {
    pub(super) id: u32,
    pub(super) cpu_ns: u64,
}
