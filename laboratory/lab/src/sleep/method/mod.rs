//! Ways to sleep. A method is a file in this folder and a line in the registry, which also declares
//! the file.

use rustix::io::Errno;
use std::io;

mod called;

macro_rules! registry {
    ($($file:ident: $($kind:ident),+;)*) => {
        $(mod $file;)*

        /// All methods that there are, in the order in which they are shown.
        pub const KNOWN: &[Kind] = &[$($($file::$kind),+),*];
    };
}

registry! {
    nanosleep: KIND;
    relative: KIND;
    absolute: KIND;
    nanosleep_u64: KIND;
    hr_sleep: KIND;
    timerfd: KIND;
    futex: KIND;
    epoll: KIND;
    sleeper: CPU, BALANCED, EXACT;
}

/// One way to sleep, as the registry holds it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The slacks with which it is measured, each as a method of its own.
    pub slacks: &'static [Slack],
    pub(super) make: fn() -> io::Result<Box<dyn Sleep>>,
}

/// All methods: each kind with each slack that it is measured with.
pub(super) fn every() -> impl Iterator<Item = (&'static Kind, Slack)> {
    KNOWN.iter().flat_map(|kind| kind.slacks.iter().map(move |&slack| (kind, slack)))
}

/// The names of all methods, in the order in which they are shown.
pub fn names() -> Vec<String> {
    every().map(|(kind, slack)| slack.names(kind.name)).collect()
}

/// The thread's timer slack during a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// What the thread has anyway: inherited from whoever started the process.
    Thread,
    /// 1 ns, the least that `PR_SET_TIMERSLACK` takes.
    OneNs,
    /// The method sees to it itself, as part of what it is: 1 ns.
    Own,
}

impl Slack {
    /// What a call is named with it: the slack is told where it is not the thread's own.
    pub(super) fn names(self, call: &str) -> String {
        match self {
            Self::Thread | Self::Own => call.to_owned(),
            Self::OneNs => format!("{call}, slack 1 ns"),
        }
    }
}

/// Implemented by the files of this folder; nobody else need do so.
pub(super) trait Sleep {
    /// Sleeps for `request_ns`, or until that long after `from_ns`, which is now.
    ///
    /// # Errors
    /// `EINTR` where a signal came first.
    fn sleep(&mut self, from_ns: u64, request_ns: u64) -> Result<(), Errno>;
}
