//! What a simulated lateness stands for.
//!
//! The simulated system errs, and by how much depends on how late: what a wakeup takes with nobody in its way is
//! right to some percent, how long ordinary threads wait for each other is less so. So the error of the baseline is
//! taken at some quantiles, as a factor that belongs to a *lateness*, and a changed system's latenesses are corrected
//! by the factor of theirs. Where nothing changes, the prediction is the recording; where a change removes what was
//! simulated badly, its error goes with it.
//!
//! Where latenesses near a quantile lie far apart, the few that wait for something begin there: how far the simulation is
//! off there tells how many those are, and is no factor of any lateness. Nor does a factor count for latenesses that are
//! far from all at which one was seen.

use crate::figures::Sample;

/// Quantiles at which the baseline is held against the recording.
const QUANTILES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999];

/// What lies above a quantile with no more beyond it is a tail.
const TAIL: f64 = 0.1;

/// Latenesses that are no further apart than by this factor are of one kind.
const ALIKE: f64 = 1.1;

/// Latenesses that are apart by this factor have nothing to do with each other.
const APART: f64 = 3.0;

/// By so much of what is beyond a quantile, which is to say: so many times more or fewer that wait for something.
const BEYOND: f64 = 2.0;

/// A factor beyond this says that the two have nothing to do with each other.
const MOST: f64 = 4.0;

/// How much what is known at the one lateness tells of the other: all where they are the same, nothing where they are apart
/// by [`APART`].
pub(crate) fn alike(one_ns: f64, other_ns: f64) -> f64 {
    near(one_ns, other_ns, APART)
}

/// How near each other latenesses are: 1 where they are the same, 0 where they are apart by a factor.
pub(crate) fn near(one_ns: f64, other_ns: f64, apart: f64) -> f64 {
    let off = (one_ns.max(1.0) / other_ns.max(1.0)).ln().abs();
    (1.0 - off / apart.ln()).max(0.0)
}

/// What is left of a factor at a lateness away from where it was seen, all as logarithms. The larger it is, the further it
/// reaches: what is simulated later is never predicted earlier.
fn fading(at: f64, factor: f64, level: f64) -> f64 {
    let reach = APART.ln().max(2.0 * factor.abs());
    factor * (1.0 - (level - at).abs() / reach).max(0.0)
}

/// How sure it is that the two are off in how late, and not in how many, at a quantile.
pub(crate) fn is_of_lateness(recorded: &Sample, base: &Sample, share: f64) -> f64 {
    let beyond = 1.0 - share;
    if beyond > TAIL {
        return 1.0;
    }
    let spread = |sample: &Sample| {
        let at = |beyond: f64| sample.quantile(1.0 - beyond);
        alike(at(beyond * BEYOND), at(beyond / BEYOND))
    };
    spread(recorded).min(spread(base))
}

/// Factors by lateness.
#[derive(Clone, Debug)]
pub(crate) struct Correction {
    /// Logarithms of a simulated lateness, and of the factor there, in order.
    knots: Vec<(f64, f64)>,
}

impl Correction {
    /// From a recording and the same simulated as it was.
    pub(crate) fn of(recorded: &Sample, base: &Sample) -> Self {
        let mut kinds: Vec<(f64, Vec<f64>)> = Vec::new();
        for share in QUANTILES {
            let (base_ns, recorded_ns) =
                (base.quantile(share).max(1.0), recorded.quantile(share).max(1.0));
            let factor = (recorded_ns / base_ns).clamp(1.0 / MOST, MOST).ln()
                * is_of_lateness(recorded, base, share);
            match kinds.last_mut().filter(|(ns, _)| base_ns <= ns * ALIKE) {
                Some((_, factors)) => factors.push(factor),
                None => kinds.push((base_ns, vec![factor])),
            }
        }
        // Where one kind ends in the one and has not yet ended in the other, most of it tells.
        let knots = kinds.into_iter().map(|(ns, mut factors)| {
            factors.sort_by(f64::total_cmp);
            (ns.ln(), factors[(factors.len() - 1) / 2])
        });
        Self { knots: knots.collect() }
    }

    fn factor(&self, ns: f64) -> f64 {
        let level = ns.max(1.0).ln();
        let next = self.knots.partition_point(|(at, _)| *at < level);
        let knot = |at: usize| self.knots.get(at).copied();
        let (before, after) = (next.checked_sub(1).and_then(knot), knot(next));
        match (before, after) {
            (Some((from, low)), Some((to, high))) if to - from <= APART.ln() => {
                low + (high - low) * (level - from) / (to - from)
            }
            (Some((from, low)), Some((to, high))) => {
                fading(from, low, level) + fading(to, high, level)
            }
            (Some((at, only)), None) | (None, Some((at, only))) => fading(at, only, level),
            (None, None) => 0.0,
        }
        .exp()
    }

    /// What a simulated sample stands for.
    pub(crate) fn corrected(&self, simulated: &Sample) -> Sample {
        simulated.moved(|ns| ns * self.factor(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{BLOCKS, Blocks, Figures};

    fn sample(all: impl Iterator<Item = u64>) -> Sample {
        let mut blocks = Blocks::new(1);
        for ns in all {
            blocks.add(0, ns);
        }
        blocks.sample(0..BLOCKS)
    }

    /// Most are in nobody's way, and one in so many waits for others, for so long.
    fn waits(quick_ns: u64, one_in: u64, ns: u64) -> Sample {
        sample((0..10_000).map(|at| if at % one_in == 0 { ns + at } else { quick_ns + at % 100 }))
    }

    #[test]
    fn what_is_corrected_has_the_recorded_quantiles() {
        let (recorded, base) = (waits(8_000, 3, 900_000), waits(9_000, 4, 400_000));
        let correction = Correction::of(&recorded, &base);
        let (was, is) = (recorded.figures(), correction.corrected(&base).figures());
        let figures = Figures::NAMES.iter().zip(was.all().into_iter().zip(is.all()));
        for (name, (was, is)) in figures.filter(|(name, _)| name.starts_with('p')) {
            assert!((is / was - 1.0).abs() < 0.02, "{name}: {is}, not {was}");
        }
    }

    #[test]
    fn what_is_simulated_later_is_not_predicted_earlier() {
        let (recorded, base) = (waits(8_000, 20, 152_000), waits(8_000, 20, 40_000));
        let correction = Correction::of(&recorded, &base);
        let p99_ns =
            |times: u64| correction.corrected(&waits(8_000, 20, 400 * times)).figures().p99_ns;
        let predicted: Vec<f64> = (25..1000).step_by(25).map(p99_ns).collect();
        assert!(predicted.is_sorted(), "{predicted:?}");
    }

    #[test]
    fn what_goes_takes_its_error_with_it() {
        let (recorded, base) = (waits(8_000, 3, 900_000), waits(8_000, 3, 300_000));
        let correction = Correction::of(&recorded, &base);
        let with = correction.corrected(&waits(8_000, 20_000, 8_000)).figures();
        assert!((with.p99_ns / 8_100.0 - 1.0).abs() < 0.05, "{with:?}");
        assert!((with.max_ns / 8_100.0 - 1.0).abs() < 0.05, "{with:?}");
    }
}
