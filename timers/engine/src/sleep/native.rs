//! The kernel's part of a sleep.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::ClockId;

use crate::clock::timespec;

/// How the kernel's part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// By its timer.
    Slept,
    /// By its timer, after signals: handlers ran meanwhile, the lateness is partly theirs.
    Interrupted,
    /// The kernel refused (a seccomp filter, say). The time may not have come.
    Refused,
}

/// Sleeps until `wake_ns`, through any number of signals.
pub(super) fn sleep_until(wake_ns: u64) -> Ended {
    let wake = timespec(wake_ns);
    through_signals(|| clock_nanosleep_absolute(ClockId::Monotonic, &wake))
}

/// The end of time bounds this loop: every round asks for the same absolute time.
fn through_signals(mut sleep: impl FnMut() -> Result<(), Errno>) -> Ended {
    let mut ended = Ended::Slept;
    loop {
        match sleep() {
            Ok(()) => return ended,
            Err(Errno::INTR) => ended = Ended::Interrupted,
            Err(_) => return Ended::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_do_not_end_it() {
        let cases = [
            (vec![Ok(())], Ended::Slept),
            (vec![Err(Errno::INTR), Err(Errno::INTR), Ok(())], Ended::Interrupted),
            (vec![Err(Errno::PERM)], Ended::Refused),
            (vec![Err(Errno::INTR), Err(Errno::INVAL)], Ended::Refused),
        ];
        for (answers, ended) in cases {
            let asked = answers.len();
            let mut answers = answers.into_iter();
            let mut asks = 0;
            let got = through_signals(|| {
                asks += 1;
                answers.next().unwrap_or(Ok(()))
            });
            assert_eq!((got, asks), (ended, asked));
        }
    }
}
