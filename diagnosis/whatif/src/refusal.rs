//! Why something cannot be told from a recording.

/// Why, in words that end "cannot be told from this recording, because …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too few wakeups.
    #[error(
        "{needed} wakeups of the late threads are needed, and it has {count}: record for longer"
    )]
    TooFew {
        /// So many there are.
        count: usize,
        /// So many are needed.
        needed: usize,
    },
    /// Events are missing.
    #[error("{lost} events were lost of {of}: record with larger buffers (--buffer)")]
    Lost {
        /// So many.
        lost: u64,
        /// Of so many.
        of: u64,
    },
    /// A kind of event is not in it.
    #[error("it has no events of {0}")]
    Unrecorded(&'static str),
    /// Real-time threads were throttled, and nothing says from when on.
    #[error(
        "it does not say how much of a CPU real-time threads may use (sched_rt_runtime_us), and they used it up"
    )]
    Throttled,
    /// More than can be simulated.
    #[error("it has more than {max} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// So many can be.
        max: u64,
    },
    /// Nobody of that name.
    #[error("there is no {0} in it")]
    Nobody(String),
    /// The simulated system is not like the recorded one.
    #[error("the simulated system is not like the recorded one: {0}")]
    Unlike(String),
    /// The change has no meaning there.
    #[error("{0}")]
    Meaningless(String),
    /// It is one that can be done and not predicted.
    #[error("{0} is possible, but tardy cannot simulate it")]
    Unpredicted(&'static str),
}
