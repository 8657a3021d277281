//! How sure the far quantiles of one distribution are, and how late it may still get.

use crate::units::count;
use tardy_import::histogram::Row;
use tardy_stats::tail::{Level, Maximum, Question, Refusal, Tail, tail};
use tardy_stats::{Counted, Dependence, Latencies, quantile_ranks};

/// The quantiles whose intervals are told.
pub(crate) const QUANTILES: [(&str, f64); 3] =
    [("p99.9", 0.999), ("p99.99", 0.999_9), ("p99.9999", 0.999_999)];

/// What is known of one distribution.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    /// Values, each the least of what it stands for.
    counted: Counted,
    /// How far that reaches.
    width_ns: u64,
    /// Values above all that are in `counted`.
    above: u64,
    /// Where the bins end, above which those are.
    end_ns: Option<u64>,
    /// The most, where it is told.
    max_ns: Option<u64>,
    /// Whether a quantile is told as the upper edge of its bin.
    has_bins: bool,
    /// What neighbours in time share, where that is known.
    dependence: Option<Dependence>,
}

/// A quantile with its 95 % interval. What lies above the bins, or is not bounded, is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QuantileInterval {
    /// Which, 0–1.
    pub(crate) q: f64,
    pub(crate) ns: Option<u64>,
    pub(crate) low_ns: Option<u64>,
    pub(crate) high_ns: Option<u64>,
}

/// What is told of a tail.
#[derive(Clone, Debug)]
pub(crate) struct Beyond {
    pub(crate) tail: Tail,
    /// Powers of ten, from above the sample's size to as far as may be told; the most frequent first.
    pub(crate) levels: Vec<Level>,
    /// Of as many as there were, once more; `None` where nothing bounds it.
    pub(crate) next: Option<Maximum>,
}

impl Distribution {
    /// Of a row of a file.
    pub(crate) fn of_row(row: &Row, bin_ns: u64) -> Self {
        Self {
            counted: Counted::new(row.bins.iter().map(|(&from_ns, &count)| (from_ns, count))),
            width_ns: bin_ns.max(1),
            above: row.over,
            end_ns: row.end_ns(bin_ns.max(1)),
            max_ns: row.max_ns,
            has_bins: true,
            dependence: None,
        }
    }

    /// Of what was measured, and what its neighbours share where that was measured too.
    pub(crate) fn of_latencies(latencies: &Latencies, dependence: Option<Dependence>) -> Self {
        Self {
            counted: Counted::from(latencies),
            width_ns: latencies.resolution_ns(),
            above: 0,
            end_ns: None,
            max_ns: Some(latencies.max_ns()),
            has_bins: false,
            dependence,
        }
    }

    /// How many values.
    fn count(&self) -> u64 {
        self.counted.count().saturating_add(self.above)
    }

    /// [`QUANTILES`] with their intervals; none where there is no value.
    pub(crate) fn quantiles(&self) -> Vec<QuantileInterval> {
        let tau = self.dependence.map_or(1.0, |dependence| dependence.tau);
        let n = self.count();
        if n == 0 {
            return Vec::new();
        }
        let one = |(_, q): (&str, f64)| {
            let ranks = quantile_ranks(n, q, tau);
            let rank = ((q * n as f64).ceil() as u64).max(1);
            QuantileInterval {
                q,
                ns: self.at_most(rank),
                low_ns: ranks.low.and_then(|rank| self.at_least(rank)),
                high_ns: ranks.high.and_then(|rank| self.at_most(rank)),
            }
        };
        QUANTILES.into_iter().map(one).collect()
    }

    /// The least that the value of this rank can be: above the bins, where they end.
    fn at_least(&self, rank: u64) -> Option<u64> {
        if rank > self.counted.count() {
            return self.end_ns;
        }
        self.counted.ranked_ns(rank)
    }

    /// The most that it can be; `None` above the bins.
    fn at_most(&self, rank: u64) -> Option<u64> {
        let ns = self.counted.ranked_ns(rank).filter(|_| rank <= self.counted.count())?;
        let edge_ns = if self.has_bins { ns.saturating_add(self.width_ns) } else { ns };
        Some(self.max_ns.map_or(edge_ns, |max_ns| edge_ns.min(max_ns.max(ns))))
    }

    /// The tail, or why none is told.
    pub(crate) fn beyond(&self) -> Result<Beyond, Refusal> {
        let question = Question {
            resolution_ns: self.width_ns,
            above_bins: self.above,
            ..Question::default()
        };
        let tail = tail(&self.counted, &question)?;
        let n = self.count();
        let mut levels = Vec::new();
        let mut one_in = 10f64.powi((n as f64).log10().floor() as i32 + 1);
        while one_in <= tail.reach() {
            // Where a rarer one is not bounded, what is more frequent is told.
            match tail.level(one_in) {
                Ok(level) => levels.push(level),
                Err(why) if levels.is_empty() => return Err(why),
                Err(_) => break,
            }
            one_in *= 10.0;
        }
        let next = tail.maximum_of(n).ok();
        Ok(Beyond { tail, levels, next })
    }
}

/// What a tail says, in a sentence or two without a name.
pub(crate) fn sentence(beyond: &Result<Beyond, Refusal>) -> String {
    let beyond = match beyond {
        Ok(beyond) => beyond,
        Err(why) => return format!("no extrapolation beyond the samples: {why}."),
    };
    let mut text = String::new();
    if let Some(level) = beyond.levels.last() {
        text = format!(
            "1 in {:.0e} is expected at {}, from {} samples; the samples do not support more.",
            level.one_in,
            range(level.low_ns, level.high_ns),
            count(beyond.tail.count)
        );
    }
    if let Some(next) = beyond.next {
        let most =
            format!(" The maximum of another such run: {}.", range(next.low_ns, next.high_ns));
        text.push_str(&most);
    }
    text.trim_start().to_owned()
}

/// Two durations as one range, with one unit where they share it.
pub(crate) fn range(low_ns: u64, high_ns: u64) -> String {
    joined(low_ns, "–", high_ns)
}

/// What one duration becomes, with one unit where they share it.
pub(crate) fn becomes(from_ns: u64, to_ns: u64) -> String {
    joined(from_ns, " → ", to_ns)
}

fn joined(first_ns: u64, between: &str, last_ns: u64) -> String {
    let (first, last) = (crate::units::duration(first_ns), crate::units::duration(last_ns));
    match (first.split_once(' '), last.split_once(' ')) {
        (Some((first, its)), Some((_, unit))) if its == unit => format!("{first}{between}{last}"),
        _ => format!("{first}{between}{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Sixteen hours of cyclictest, two threads and their sum.
    fn zynq() -> tardy_import::histogram::Histograms {
        let file = "../sources/import/tests/data/histogram/zynq-2016-timer-load.hist";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        tardy_import::histogram::open(&path).unwrap()
    }

    #[test]
    fn sixteen_hours_have_their_intervals_and_say_how_far_they_reach() {
        let histograms = zynq();
        for (row, n, max_ns) in [(0, 243_037_975, 164_000), (1, 243_037_770, 154_000)] {
            let row = &histograms.rows[row];
            assert_eq!((row.count, row.min_ns, row.max_ns), (n, Some(11_000), Some(max_ns)));
            let distribution = Distribution::of_row(row, histograms.bin_ns);
            for interval in distribution.quantiles() {
                let (low, high) = (interval.low_ns.unwrap(), interval.high_ns.unwrap());
                assert!(
                    low <= interval.ns.unwrap() && interval.ns.unwrap() <= high,
                    "{interval:?}"
                );
                assert!(high - low <= 3_000, "{interval:?}");
            }
            let beyond = distribution.beyond();
            let text = sentence(&beyond);
            assert!(text.starts_with("1 in 1e11 is expected at 1"), "{text}");
            assert!(text.contains(&count(n)) && text.contains("do not support more"), "{text}");
            let next = beyond.unwrap().next.unwrap();
            assert!((next.low_ns..=next.high_ns).contains(&max_ns), "{next:?}");
        }
    }

    #[test]
    fn what_lies_above_the_bins_is_not_made_up() {
        let bins = [(0, 900), (1_000, 95)].into_iter().collect();
        let row = Row { bins, over: 5, count: 1_000, ..Row::default() };
        let distribution = Distribution::of_row(&row, 1_000);
        let [p999, ..] = distribution.quantiles()[..] else { panic!("three are told") };
        assert_eq!((p999.ns, p999.low_ns, p999.high_ns), (None, Some(2_000), None));
        let why = distribution.beyond().unwrap_err();
        assert_eq!(why, Refusal::AboveBins { above: 5 });
        assert!(sentence(&Err(why)).starts_with("no extrapolation"), "{}", sentence(&Err(why)));
        let none = Distribution::of_row(&Row::default(), 1_000);
        assert!(none.quantiles().is_empty() && none.beyond().is_err());
    }

    #[test]
    fn dependence_widens_what_was_measured() {
        let mut latencies = Latencies::default();
        for rank in 1..=100_000 {
            latencies.record(1_000_000_000 / rank);
        }
        let dependence = Dependence {
            count: 100_000,
            lag_1: 0.8,
            tau: 9.0,
            tau_error: 0.1,
            block: 128,
            is_plateau: true,
        };
        let width = |dependence| {
            let interval = Distribution::of_latencies(&latencies, dependence).quantiles()[0];
            interval.high_ns.unwrap() - interval.low_ns.unwrap()
        };
        assert!(width(Some(dependence)) > 2 * width(None));
    }

    #[test]
    fn a_range_tells_a_unit_once() {
        assert_eq!(range(142_000, 211_000), "142.0–211.0 µs");
        assert_eq!(range(800_000, 1_200_000), "800.0 µs–1.20 ms");
    }
}
