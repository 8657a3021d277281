//! How far means could have differed by chance, where neighbours in time resemble each other.

/// How series are drawn anew. All series of one drawing have the same length and are drawn at the
/// same places, so that what happened to all of them in one round stays together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Neighbours that stay together: as long as what they share lasts.
    pub length: usize,
    /// How often a series is drawn anew.
    pub resamples: usize,
    /// Chooses the random numbers.
    pub seed: u64,
}

impl Blocks {
    /// Blocks for series of `n`: n^(1/3) long, the rate at which the error of the variance shrinks
    /// fastest (Künsch, "The Jackknife and the Bootstrap for General Stationary Observations",
    /// 1989), and 1000 resamples.
    pub fn for_length(n: usize, seed: u64) -> Self {
        Self { length: ((n as f64).cbrt().ceil() as usize).max(1), resamples: 1000, seed }
    }
}

/// A difference of two means with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// As observed.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The means of several series, as observed and as drawn anew.
#[derive(Clone, Debug)]
pub struct Means {
    observed: Vec<f64>,
    /// One row per resample, one column per series.
    drawn: Vec<f64>,
}

/// Draws series of equal length anew by moving blocks: blocks of neighbours, beginning anywhere,
/// until the length is reached. `None` where they are empty or not equally long.
///
/// Costs `resamples × n / length` steps per series, and 8 bytes per value for its running sums.
pub fn moving_blocks(series: &[&[u32]], blocks: Blocks) -> Option<Means> {
    let n = series.first()?.len();
    if n == 0 || series.iter().any(|other| other.len() != n) {
        return None;
    }
    let length = blocks.length.clamp(1, n);
    let sums: Vec<Vec<u64>> = series.iter().map(|series| running_sums(series)).collect();
    let observed = sums.iter().map(|sums| sums[n] as f64 / n as f64).collect();
    let mut random = fastrand::Rng::with_seed(blocks.seed);
    let mut drawn = Vec::with_capacity(blocks.resamples * series.len());
    let mut totals = vec![0u64; series.len()];
    for _ in 0..blocks.resamples {
        totals.fill(0);
        let mut left = n;
        while left > 0 {
            let start = random.usize(..=n - length);
            // The last block is cut, so that every resample is as long as the series.
            let end = start + length.min(left);
            for (total, sums) in totals.iter_mut().zip(&sums) {
                *total += sums[end] - sums[start];
            }
            left -= end - start;
        }
        drawn.extend(totals.iter().map(|&total| total as f64 / n as f64));
    }
    Some(Means { observed, drawn })
}

impl Means {
    /// The mean of series `one` minus that of series `two`, by their places, with the interval that
    /// holds 95 % of the differences drawn anew. It is centred on the observed difference: values
    /// near the ends of a series are in fewer blocks, which shifts what is drawn.
    pub fn difference(&self, one: usize, two: usize) -> Interval {
        let value = self.observed[one] - self.observed[two];
        let rows = self.drawn.chunks_exact(self.observed.len());
        let mut drawn: Vec<f64> = rows.map(|row| row[one] - row[two]).collect();
        if drawn.is_empty() {
            return Interval { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let shift = value - drawn.iter().sum::<f64>() / drawn.len() as f64;
        drawn.sort_by(f64::total_cmp);
        let at = |q: f64| drawn[(q * (drawn.len() - 1) as f64).round() as usize] + shift;
        Interval { value, low: at(0.025), high: at(0.975) }
    }
}

fn running_sums(series: &[u32]) -> Vec<u64> {
    let mut sums = Vec::with_capacity(series.len() + 1);
    let mut sum = 0;
    sums.push(sum);
    for &value in series {
        sum += u64::from(value);
        sums.push(sum);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hits_both_alike_leaves_the_difference_sharp() {
        // Paired: the second is the first plus 7, however wild the first.
        let mut random = fastrand::Rng::with_seed(3);
        let first: Vec<u32> = (0..1000).map(|_| random.u32(..1_000_000)).collect();
        let second: Vec<u32> = first.iter().map(|value| value + 7).collect();
        let means = moving_blocks(&[&second, &first], Blocks::for_length(1000, 1)).unwrap();
        let Interval { value, low, high } = means.difference(0, 1);
        for got in [value, low, high] {
            assert!((got - 7.0).abs() < 1e-6, "{value} {low} {high}");
        }
    }

    #[test]
    fn unequal_or_empty_series_are_refused_and_one_value_is_no_panic() {
        assert!(moving_blocks(&[], Blocks::for_length(0, 1)).is_none());
        assert!(moving_blocks(&[&[]], Blocks::for_length(0, 1)).is_none());
        assert!(moving_blocks(&[&[1], &[1, 2]], Blocks::for_length(1, 1)).is_none());
        let one = moving_blocks(&[&[5], &[2]], Blocks { length: 9, resamples: 3, seed: 0 });
        let difference = one.unwrap().difference(0, 1);
        assert_eq!(difference, Interval { value: 3.0, low: 3.0, high: 3.0 });
    }
}
