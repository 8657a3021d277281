//! What a sample's figures would have been, had other blocks of it come.

use crate::{Counted, Interval, Quantile, Sample};

/// Fewer blocks than this are not drawn anew: what they yield is too few different samples, and their
/// spread says too little of the true one.
const BLOCKS_MIN: usize = 10;

/// Figures of a sample as it is, and as drawn anew.
#[derive(Clone, Debug)]
pub struct Resampled {
    whole: Counted,
    /// The least and the most of each block.
    ends_ns: Vec<(u64, u64)>,
    means: Vec<f64>,
    /// By the place of the quantile that was asked for.
    quantiles: Vec<Asked>,
}

#[derive(Clone, Debug)]
struct Asked {
    q: f64,
    /// Ascending.
    drawn_ns: Vec<u64>,
}

/// Draws the blocks of a sample anew, as many as there are, each as likely as any other, `resamples`
/// times; and notes the mean and the quantiles (0–1) of each. What neighbours within a block share
/// stays together (Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", 1989;
/// for quantiles Sun and Lahiri, "Bootstrapping the Sample Quantile of a Weakly Dependent Sequence",
/// 2006). `None` of fewer than 10 blocks.
///
/// Costs `resamples` passes over the distinct values of every block.
pub fn resampled(
    sample: &Sample,
    quantiles: &[f64],
    resamples: usize,
    seed: u64,
) -> Option<Resampled> {
    let blocks = &sample.blocks;
    if blocks.len() < BLOCKS_MIN || resamples == 0 {
        return None;
    }
    let whole = sample.whole();
    // All classes of all blocks, from the least on: (ns, block, count).
    let mut classes: Vec<(u64, u32, u64)> = Vec::new();
    for (block, counted) in blocks.iter().enumerate() {
        classes.extend(counted.classes().iter().map(|&(ns, count)| (ns, block as u32, count)));
    }
    classes.sort_unstable();
    let ends_ns = blocks.iter().filter_map(|block| Some((block.min_ns()?, block.max_ns()?)));
    let mut asked: Vec<Asked> =
        quantiles.iter().map(|&q| Asked { q, drawn_ns: Vec::with_capacity(resamples) }).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut means = Vec::with_capacity(resamples);
    let mut times = vec![0u64; blocks.len()];
    let mut ranks: Vec<(u64, usize)> = Vec::with_capacity(asked.len());
    for _ in 0..resamples {
        times.fill(0);
        let (mut count, mut sum) = (0u64, 0.0);
        for _ in 0..blocks.len() {
            let block = random.usize(..blocks.len());
            times[block] += 1;
            count += blocks[block].count();
            sum += blocks[block].sum_ns() as f64;
        }
        means.push(sum / count.max(1) as f64);
        ranks.clear();
        let rank = |asked: &Asked| ((asked.q * count as f64).ceil() as u64).clamp(1, count.max(1));
        ranks.extend(asked.iter().enumerate().map(|(place, asked)| (rank(asked), place)));
        ranks.sort_unstable();
        let mut wanted = ranks.iter();
        let mut next = wanted.next();
        let mut below = 0;
        for &(ns, block, class) in &classes {
            below += class * times[block as usize];
            while let Some(&(rank, place)) = next
                && below >= rank
            {
                asked[place].drawn_ns.push(ns);
                next = wanted.next();
            }
            if next.is_none() {
                break;
            }
        }
    }
    means.sort_by(f64::total_cmp);
    for asked in &mut asked {
        asked.drawn_ns.sort_unstable();
    }
    Some(Resampled { whole, ends_ns: ends_ns.collect(), means, quantiles: asked })
}

impl Resampled {
    /// The mean, in ns, with the interval that holds 95 % of those drawn anew.
    pub fn mean(&self) -> Interval {
        let [low, high] = ends(&self.means);
        Interval { value: self.whole.mean_ns(), low, high }
    }

    /// The quantile at this place of those asked for, with the interval that holds 95 % of those drawn
    /// anew. An end is told only where four blocks reach it: where fewer do, one draw in forty or
    /// more has none of them, and so the sample does not bound it. `None` where no quantile was asked
    /// for at that place.
    pub fn quantile(&self, place: usize) -> Option<Quantile> {
        /// e^−4 is less than 2.5 %.
        const BLOCKS_AT_END: usize = 4;
        let asked = self.quantiles.get(place)?;
        let [low_ns, high_ns] = ends(&asked.drawn_ns);
        let reach_low = self.ends_ns.iter().filter(|block| block.0 <= low_ns).count();
        let reach_high = self.ends_ns.iter().filter(|block| block.1 >= high_ns).count();
        Some(Quantile {
            ns: self.whole.quantile_ns(asked.q)?,
            low_ns: (reach_low >= BLOCKS_AT_END).then_some(low_ns),
            high_ns: (reach_high >= BLOCKS_AT_END).then_some(high_ns),
        })
    }

    /// Each mean that was drawn, ascending, in ns.
    pub fn means(&self) -> &[f64] {
        &self.means
    }
}

/// The 2.5 % and the 97.5 % point of what is sorted and not empty.
fn ends<T: Copy>(sorted: &[T]) -> [T; 2] {
    [0.025, 0.975].map(|q| sorted[(q * (sorted.len() - 1) as f64).round() as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile_ranks;

    /// 100 blocks of 100 independent values.
    fn independent() -> Sample {
        let mut random = fastrand::Rng::with_seed(2);
        let series: Vec<u64> = (0..10_000).map(|_| random.u64(..1_000_000)).collect();
        Sample::of_series("independent", &series, 100)
    }

    #[test]
    fn blocks_of_independent_values_say_what_order_statistics_say() {
        let sample = independent();
        let drawn = resampled(&sample, &[0.99, 0.5], 2000, 1).unwrap();
        let width =
            |quantile: Quantile| (quantile.high_ns.unwrap() - quantile.low_ns.unwrap()) as f64;
        for (place, q) in [(0, 0.99), (1, 0.5)] {
            let ratio =
                width(drawn.quantile(place).unwrap()) / width(sample.whole().quantile(q).unwrap());
            assert!((0.75..1.25).contains(&ratio), "{q}: {ratio}");
        }
        // A uniform distribution's deviation is 1/√12 of its width.
        let mean = drawn.mean();
        let expected = 2.0 * 1.96 * 1e6 / 12f64.sqrt() / 100.0;
        assert!(((mean.high - mean.low) / expected - 1.0).abs() < 0.15, "{mean:?}");
        assert!(drawn.means().is_sorted() && drawn.quantile(2).is_none());
    }

    #[test]
    fn what_a_block_shares_widens_the_interval() {
        // All of a block are alike: 100 values are worth one.
        let mut random = fastrand::Rng::with_seed(6);
        let blocks = (0..100).map(|_| {
            let base = random.u64(..1_000_000);
            Counted::of_values((0..100).map(|i| base + i))
        });
        let sample = Sample { name: String::new(), blocks: blocks.collect(), resolution_ns: 1 };
        let drawn = resampled(&sample, &[0.5, 0.995], 1000, 1).unwrap();
        let median = drawn.quantile(0).unwrap();
        let independent = sample.whole().quantile(0.5).unwrap();
        let width = |quantile: Quantile| quantile.high_ns.unwrap() - quantile.low_ns.unwrap();
        assert!(width(median) > 3 * width(independent), "{median:?} {independent:?}");
        // 10,000 values bound p99.5, 100 blocks do not.
        assert!(quantile_ranks(10_000, 0.995, 1.0).high.is_some());
        assert_eq!(drawn.quantile(1).unwrap().high_ns, None);
    }

    #[test]
    fn few_blocks_are_refused_and_equal_values_are_no_open_end() {
        let few = Sample::of_series("few", &[1, 2, 3], 3);
        assert!(resampled(&few, &[0.5], 100, 1).is_none());
        assert!(resampled(&Sample::default(), &[0.5], 100, 1).is_none());
        let same = Sample::of_series("same", &[7; 100], 20);
        let drawn = resampled(&same, &[0.999], 100, 1).unwrap();
        let all = Quantile { ns: 7, low_ns: Some(7), high_ns: Some(7) };
        assert_eq!(drawn.quantile(0), Some(all));
    }
}
