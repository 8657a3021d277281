//! How much of a wakeup's lateness is to be spun away.

use thiserror::Error;

const PER_MILLION: u32 = 1_000_000;

/// How exact a sleep is to be, and so how much CPU time it may burn.
///
/// A thread asked to wake at T wakes at T + L, where L varies. A sleeper asks the kernel for an
/// earlier time, T − tail, and spins the rest. The tail is a quantile of the lateness that this very
/// thread has met lately: the higher the quantile, the fewer sleeps end late, the longer the average
/// one spins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// No spinning at all: the kernel's own lateness, with the timer slack out of the way.
    Cpu,
    /// The 75th percentile: three sleeps of four end on time. Chosen by measurement
    /// (`examples/sleep_against.rs`): spinning one's way to the 75th costs little more CPU time than
    /// no spinning, and what is late beyond the 90th is mostly what would hold up a spinning thread
    /// just as well.
    #[default]
    Balanced,
    /// The 99.5th percentile. A sleep shorter than that is spun nearly whole. For a thread that has a
    /// CPU to itself: where it must share one, what it spins counts against its share, and it is
    /// preempted the sooner for it.
    Exact,
    /// Any other; see [`Precision::quantile`].
    Quantile(Quantile),
}

/// A quantile strictly between 0 and 1, kept in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quantile(u32);

/// The number given is no quantile.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("a precision of {0} is no quantile: give a number above 0 and below 1, such as 0.99")]
pub struct BadQuantile(pub f64);

impl Precision {
    /// The precision that spins away the lateness up to `quantile`, above 0 and below 1, rounded to a
    /// millionth.
    ///
    /// # Errors
    /// [`BadQuantile`] for any other number.
    ///
    /// ```
    /// use tardy_timers::sleep::Precision;
    ///
    /// assert!(Precision::quantile(0.9).is_ok());
    /// assert!(Precision::quantile(1.0).is_err());
    /// ```
    pub fn quantile(quantile: f64) -> Result<Self, BadQuantile> {
        if !(quantile > 0.0 && quantile < 1.0) {
            return Err(BadQuantile(quantile));
        }
        let millionths = (quantile * f64::from(PER_MILLION)).round() as u32;
        Ok(Self::Quantile(Quantile(millionths.clamp(1, PER_MILLION - 1))))
    }

    /// Which of `count` sorted latenesses is to be spun away, counted from 1; `None` where none is.
    pub(crate) fn rank(self, count: u32) -> Option<u32> {
        let millionths = match self {
            Self::Cpu => return None,
            Self::Balanced => 750_000,
            Self::Exact => 995_000,
            Self::Quantile(Quantile(millionths)) => millionths,
        };
        let rank = (u64::from(count) * u64::from(millionths)).div_ceil(u64::from(PER_MILLION));
        Some(rank.max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_between_nothing_and_all_is_a_quantile() {
        for bad in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
            assert!(Precision::quantile(bad).is_err(), "{bad}");
        }
        for good in [f64::MIN_POSITIVE, 0.5, 0.999, 1.0 - f64::EPSILON] {
            assert!(Precision::quantile(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn ranks() {
        let rank = |q: f64, count| Precision::quantile(q).ok().and_then(|p| p.rank(count));
        assert_eq!(rank(0.5, 100), Some(50));
        assert_eq!(rank(0.5, 1), Some(1));
        assert_eq!(rank(0.999_999, 1000), Some(1000));
        assert_eq!(rank(0.000_001, 1000), Some(1));
        assert_eq!(Precision::Exact.rank(1000), Some(995));
        assert_eq!(Precision::Cpu.rank(1000), None);
    }
}
