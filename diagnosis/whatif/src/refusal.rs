//! Why something cannot be told from a recording.

use tardy_changes::Whom;

/// Why, in words that end "cannot be told from this recording, because …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too few wakeups.
    #[error(
        "{needed} wakeups of the late threads by a timer, a thread or an interrupt are needed, and it has {count}{}: \
         record for {}",
        beside(*all - *count),
        how_long(*count, *needed, *span_ns)
    )]
    TooFew {
        /// So many there are.
        count: usize,
        /// So many are needed.
        needed: usize,
        /// So many there are of any kind.
        all: usize,
        /// How long the recording is.
        span_ns: u64,
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
    /// It is so already.
    #[error("{0}")]
    Already(&'static str),
    /// The simulation goes the same way with it and without it.
    #[error("it changes nothing in the simulated system")]
    NoEffect,
    /// It makes more of something that is hardly simulated.
    #[error(
        "the simulation shows hardly anything of how these threads delay the late ones ({0} % of the recorded lateness)"
    )]
    Unexplored(u8),
    /// It is one that can be done and not predicted.
    #[error("tardy cannot simulate {0}")]
    Unpredicted(&'static str),
}

impl Refusal {
    /// Nobody is meant by that.
    pub(crate) fn nobody(whom: &Whom) -> Self {
        Self::Nobody(match whom {
            Whom::Victim => "late thread".to_owned(),
            Whom::Id(id) => format!("thread or process {id}"),
            Whom::Name(name) => format!("thread or program called {name}"),
            Whom::Irq(line) => format!("interrupt {line}"),
        })
    }
}

/// Of fewer wakeups it is chance how often they come.
const RATE_MIN: usize = 20;

fn how_long(count: usize, needed: usize, span_ns: u64) -> String {
    if count < RATE_MIN {
        return "longer".to_owned();
    }
    format!("{:.0} s or longer", (span_ns as f64 / 1e9 * needed as f64 / count as f64).ceil())
}

/// What is not counted, in words.
fn beside(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (another one is a preemption or the like, or events are missing in it)".to_owned(),
        _ => format!(
            " (another {others} are preemptions and the like, or events are missing in them)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_says_which_are_counted_and_how_long_it_takes() {
        let few = |count, all| {
            Refusal::TooFew { count, needed: 200, all, span_ns: 10_100_000_000 }.to_string()
        };
        assert_eq!(
            few(144, 258),
            "200 wakeups of the late threads by a timer, a thread or an interrupt are needed, and it has 144 (another \
             114 are preemptions and the like, or events are missing in them): record for 15 s or longer"
        );
        assert!(few(2, 2).ends_with("and it has 2: record for longer"), "{}", few(2, 2));
    }
}
