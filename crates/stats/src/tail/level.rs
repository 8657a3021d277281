//! What is surpassed once in so many?

use super::exceedances::Exceedances;
use super::gpd::Gpd;
use super::simplex::least;

/// Half of the 95 % quantile of χ² with one degree of freedom: so much less likely than the best
/// are the ends of the interval.
const DROP: f64 = 1.920_729_410_347_062;
/// An end this many times as far above the threshold as the estimate is none.
const FAR: f64 = 1_000.0;
/// Halvings of the interval in which an end is sought: a 10^-6 of it.
const HALVINGS: u32 = 24;

/// A level above the threshold, ns, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    pub(super) ns: f64,
    pub(super) low: f64,
    /// `None` where nothing bounds it.
    pub(super) high: Option<f64>,
}

/// The excess that is surpassed by once in `one_in` of `n` samples, by profile likelihood (Coles, An
/// Introduction to Statistical Modeling of Extreme Values, 2001, 4.3.3): each level is as likely as
/// the likeliest distribution that has it. How often the threshold is surpassed is uncertain too,
/// and part of it. `weight` is how many independent ones an exceedance is worth.
pub(super) fn surpassed_once_in(
    one_in: f64,
    n: u64,
    exceedances: &Exceedances,
    best: Gpd,
    weight: f64,
) -> Excess {
    let m = exceedances.count as f64;
    let rate = m / n as f64;
    let ln_p = -(one_in * rate).ln();
    let ns = best.surpassed_ns(ln_p);
    let top = exceedances.ln_likelihood(best);
    let mut near = [best.shape, 0.0];
    let error = [0.5 / m.sqrt(), 0.5 / m.sqrt()];
    // How much less likely this excess is than the best; the likeliest shape and rate for it are
    // sought from those of the last.
    let mut drop = |excess: f64| {
        let (place, value) = least(near, error, |[shape, off]| {
            let ln_p = ln_p - off;
            if ln_p >= 0.0 {
                return f64::INFINITY;
            }
            let gpd = Gpd::through(excess, ln_p, shape);
            // Of the number of exceedances: Poisson.
            let number = m * off - m * off.exp_m1();
            -(exceedances.ln_likelihood(gpd) - top + number) * weight
        });
        if value.is_finite() {
            near = place;
        }
        value
    };
    let mut inside = ns;
    let mut outside = ns;
    let high = loop {
        outside *= 1.25;
        if drop(outside) > DROP {
            break Some(end(inside, outside, &mut drop));
        }
        if outside > FAR * ns {
            break None;
        }
        inside = outside;
    };
    inside = ns;
    outside = ns;
    let low = loop {
        outside *= 0.8;
        if drop(outside) > DROP {
            break end(inside, outside, &mut drop);
        }
        if outside < ns / FAR {
            break 0.0;
        }
        inside = outside;
    };
    Excess { ns, low, high }
}

/// Where the drop is [`DROP`], between an excess inside the interval and one outside.
fn end(mut inside: f64, mut outside: f64, drop: &mut impl FnMut(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(inside, outside);
        if drop(middle) > DROP { outside = middle } else { inside = middle }
    }
    f64::midpoint(inside, outside)
}
