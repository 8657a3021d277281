//! What a comparison of sleeps is to do, and why it cannot.

use super::method::{Kind, Slack, every};
use thiserror::Error;

/// Rounds where nothing else is said.
pub const ROUNDS: u64 = 100_000;

/// The most rounds; above, the samples of a round (4 bytes a method) would not be small any more.
pub const ROUNDS_MAX: u64 = 10_000_000;

/// The longest sleep: an elapsed time is kept in 32 bits of nanoseconds, 4.29 s, and a sleep takes
/// longer than what was asked for. Longer ones count as that.
pub const REQUEST_MAX_NS: u64 = 1_000_000_000;

/// Rounds that are run and thrown away before the first that counts, so that it finds code and data
/// in memory.
pub const WARM_UP_ROUNDS: u64 = 100;

/// A comparison of ways to sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long each sleep is to be, 1–[`REQUEST_MAX_NS`].
    pub request_ns: u64,
    /// How often each method sleeps, 1–[`ROUNDS_MAX`].
    pub rounds: u64,
    /// The methods, by a call's name (with each of its slacks) or by its name with its slack, as
    /// [`names`](super::names) lists them; none: all.
    pub methods: Vec<String>,
    /// Under `SCHED_FIFO` at this priority, 1–99, instead of the policy that there is.
    pub fifo_prio: Option<u8>,
    /// On this CPU alone.
    pub cpu: Option<u16>,
    /// Chooses the orders of the rounds.
    pub seed: u64,
    /// Keep CPUs out of idle states that take longer than this to leave, in µs; `None` leaves them
    /// alone.
    pub dma_latency_us: Option<i32>,
    /// Whether memory is to be locked.
    pub lock_memory: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            request_ns: 50_000,
            rounds: ROUNDS,
            methods: vec![],
            fifo_prio: None,
            cpu: None,
            seed: 1,
            dma_latency_us: Some(0),
            lock_memory: true,
        }
    }
}

/// Why sleeps could not be measured.
#[derive(Debug, Error)]
pub enum SleepError {
    /// The request is out of its range.
    #[error("a sleep of {0} ns cannot be measured: ask for 1 ns to 1 s")]
    Request(u64),
    /// The number of rounds is out of its range.
    #[error("{0} rounds cannot be measured: ask for 1 to {ROUNDS_MAX}")]
    Rounds(u64),
    /// No method has that name.
    #[error("there is no way to sleep {0:?}: {list}", list = super::names().join("; "))]
    Unknown(String),
    /// What was asked for is there, but not in this kernel.
    #[error("this kernel offers none of the ways to sleep that were asked for: {0}")]
    NoneOffered(String),
    /// There is no such CPU for this process.
    #[error(
        "the thread could not be bound to CPU {cpu} ({source}); `taskset -p $$` shows the CPUs that there are"
    )]
    Cpu {
        /// Which.
        cpu: u16,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A sleep failed.
    #[error("{method} failed: {source}")]
    Sleep {
        /// Which.
        method: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The slack could not be read or set.
    #[error(
        "the timer slack could not be read or set ({0}); it needs PR_SET_TIMERSLACK of prctl(2)"
    )]
    Slack(std::io::Error),
    /// The measuring thread could not be made.
    #[error("the measuring thread could not be made: {0}")]
    Spawn(std::io::Error),
    /// It ended without a result.
    #[error(
        "the measuring thread ended without a result: this is a bug in tardy, please report it"
    )]
    Gone,
}

impl Plan {
    pub(super) fn check(&self) -> Result<(), SleepError> {
        if !(1..=REQUEST_MAX_NS).contains(&self.request_ns) {
            return Err(SleepError::Request(self.request_ns));
        }
        if !(1..=ROUNDS_MAX).contains(&self.rounds) {
            return Err(SleepError::Rounds(self.rounds));
        }
        let is_known = |name: &&String| every().any(|(kind, slack)| is_called(kind, slack, name));
        match self.methods.iter().find(|name| !is_known(name)) {
            Some(unknown) => Err(SleepError::Unknown(unknown.clone())),
            None => Ok(()),
        }
    }

    /// The methods that are asked for, in the order of the registry.
    pub(super) fn chosen(&self) -> impl Iterator<Item = (&'static Kind, Slack)> {
        every().filter(|&(kind, slack)| {
            self.methods.is_empty() || self.methods.iter().any(|name| is_called(kind, slack, name))
        })
    }
}

/// Whether a method is meant by `name`: its call's, or its own.
fn is_called(kind: &Kind, slack: Slack, name: &str) -> bool {
    kind.name == name || slack.names(kind.name) == name
}
