//! Free numbers of a system chosen so that its figures come out as measured: the least of a function of
//! several numbers, without its derivatives.
//!
//! It knows nothing of simulations: who asks gives it the function. Draws are the same for any numbers
//! (`random.rs`), so the function is one, and not another one at each look.

use crate::file::Free;

/// Where all numbers are this near to each other, as shares of their ranges, it has arrived.
const ARRIVED: f64 = 1e-3;

/// First steps, as shares of the ranges.
const STEP: f64 = 0.12;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Least {
    /// The numbers, in the order of what is free.
    pub at: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// How often it was asked.
    pub asked: u32,
}

/// Goes downhill from where the free numbers begin (Nelder and Mead, "A Simplex Method for Function
/// Minimization", 1965; coefficients by the number of dimensions as of Gao and Han, 2012), on logarithms,
/// within their bounds. `value` is asked at most `asks_max` times; `None` from it ends the search.
pub fn least(
    free: &[Free],
    asks_max: u32,
    mut value: impl FnMut(&[f64]) -> Option<f64>,
) -> Option<Least> {
    let size = free.len();
    let number = |free: &Free, share: f64| {
        (free.least.ln() + (free.most / free.least).ln() * share.clamp(0.0, 1.0)).exp()
    };
    let numbers = |place: &[f64]| -> Vec<f64> {
        free.iter().zip(place).map(|(free, share)| number(free, *share)).collect()
    };
    let mut asked = 0;
    let mut at = |place: Vec<f64>| -> Option<(Vec<f64>, f64)> {
        asked += 1;
        let place: Vec<f64> = place.into_iter().map(|share| share.clamp(0.0, 1.0)).collect();
        let value = value(&numbers(&place))?;
        Some((place, if value.is_nan() { f64::INFINITY } else { value }))
    };
    let begin: Vec<f64> = free
        .iter()
        .map(|free| match (free.most / free.least).ln() {
            range if range > 0.0 => (free.begin / free.least).ln() / range,
            _ => 0.0,
        })
        .collect();
    let mut corners = vec![at(begin.clone())?];
    for axis in 0..size {
        let mut place = begin.clone();
        place[axis] += if place[axis] + STEP <= 1.0 { STEP } else { -STEP };
        corners.push(at(place)?);
    }
    let mut asks = size as u32 + 1;
    let n = size.max(2) as f64;
    let (expand, contract, shrink) = (1.0 + 2.0 / n, 0.75 - 0.5 / n, 1.0 - 1.0 / n);
    while asks < asks_max && size > 0 {
        corners.sort_by(|one, two| one.1.total_cmp(&two.1));
        let spread = corners[1..].iter().flat_map(|corner| corner.0.iter().zip(&corners[0].0));
        if spread.map(|(one, two)| (one - two).abs()).fold(0.0, f64::max) < ARRIVED {
            break;
        }
        let (worst, rest) = corners.split_last()?;
        let centre: Vec<f64> = (0..size)
            .map(|axis| rest.iter().map(|corner| corner.0[axis]).sum::<f64>() / rest.len() as f64)
            .collect();
        let along = |far: f64| -> Vec<f64> {
            centre
                .iter()
                .zip(&worst.0)
                .map(|(centre, worst)| centre + far * (worst - centre))
                .collect()
        };
        let (best_value, next_value, worst_value) = (rest[0].1, rest[size - 1].1, worst.1);
        let reflected = at(along(-1.0))?;
        asks += 1;
        let instead = if reflected.1 < best_value {
            let expanded = at(along(-expand))?;
            asks += 1;
            Some(if expanded.1 < reflected.1 { expanded } else { reflected })
        } else if reflected.1 < next_value {
            Some(reflected)
        } else {
            let far = if reflected.1 < worst_value { -contract } else { contract };
            let contracted = at(along(far))?;
            asks += 1;
            (contracted.1 < worst_value.min(reflected.1)).then_some(contracted)
        };
        if let Some(instead) = instead {
            corners[size] = instead;
        } else {
            let best = corners[0].0.clone();
            for corner in &mut corners[1..] {
                let nearer = corner.0.iter().zip(&best);
                *corner = at(nearer.map(|(one, best)| best + shrink * (one - best)).collect())?;
                asks += 1;
            }
        }
    }
    let best = corners.into_iter().min_by(|one, two| one.1.total_cmp(&two.1))?;
    Some(Least { at: numbers(&best.0), value: best.1, asked })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(least: f64, begin: f64, most: f64) -> Free {
        Free { name: "it".to_owned(), least, begin, most, is_time: false }
    }

    #[test]
    fn numbers_that_explain_figures_are_found() {
        // Three costs of which sums were measured.
        let all = [free(10.0, 100.0, 10_000.0), free(10.0, 100.0, 10_000.0), free(0.01, 0.5, 1.0)];
        let off = |one: f64, two: f64| (one / two - 1.0).powi(2);
        let found = least(&all, 1_000, |at| {
            Some(off(at[0] + at[1], 900.0) + off(at[0] + 3.0 * at[1], 1_500.0) + off(at[2], 0.2))
        })
        .expect("it ends");
        assert!((found.at[0] / 600.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.at[1] / 300.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.at[2] / 0.2 - 1.0).abs() < 0.02, "{found:?}");
        assert!(found.asked < 400);
    }

    #[test]
    fn bounds_are_kept_and_an_end_is_an_end() {
        let found = least(&[free(1.0, 2.0, 4.0)], 100, |at| Some(at[0])).expect("it ends");
        assert!((found.at[0] - 1.0).abs() < 1e-2, "{found:?}");
        let none = least(&[free(1.0, 2.0, 4.0)], 100, |at| (at[0] < 2.1).then_some(f64::NAN));
        assert_eq!(none, None);
        let fixed =
            least(&[free(3.0, 3.0, 3.0)], 9, |at| Some((at[0] - 3.0).abs())).expect("it ends");
        assert!(fixed.value < 1e-9);
    }
}
