//! The least of a function of two numbers, without its derivatives.

/// Where the simplex is this small, in its own units, or its values this near, it has arrived.
const ARRIVED: f64 = 1e-7;
/// The most steps: some 60 are ordinary.
const STEPS_MAX: u32 = 400;

/// Goes downhill from `start` with first steps of `step` (Nelder and Mead, "A Simplex Method for
/// Function Minimization", 1965, with their own coefficients). Where the function is infinite, it
/// turns back. Yields the place and the value there.
pub(super) fn least(
    start: [f64; 2],
    step: [f64; 2],
    mut value: impl FnMut([f64; 2]) -> f64,
) -> ([f64; 2], f64) {
    let mut at = |place: [f64; 2]| {
        let value = value(place);
        (place, if value.is_nan() { f64::INFINITY } else { value })
    };
    let [x, y] = start;
    let mut corners = [at(start), at([x + step[0], y]), at([x, y + step[1]])];
    for _ in 0..STEPS_MAX {
        corners.sort_by(|one, two| one.1.total_cmp(&two.1));
        let [best, middle, worst] = corners;
        let spread = (0..2)
            .map(|i| {
                (best.0[i] - worst.0[i]).abs().max((best.0[i] - middle.0[i]).abs()) / step[i].abs()
            })
            .fold(0.0, f64::max);
        if spread < 1e-4 && (worst.1 - best.1).abs() < ARRIVED || spread < ARRIVED {
            break;
        }
        let centre = [0, 1].map(|i| f64::midpoint(best.0[i], middle.0[i]));
        let along = |far: f64| [0, 1].map(|i| centre[i] + far * (worst.0[i] - centre[i]));
        let reflected = at(along(-1.0));
        if reflected.1 < best.1 {
            let expanded = at(along(-2.0));
            corners[2] = if expanded.1 < reflected.1 { expanded } else { reflected };
        } else if reflected.1 < middle.1 {
            corners[2] = reflected;
        } else {
            let nearer = if reflected.1 < worst.1 { -0.5 } else { 0.5 };
            let contracted = at(along(nearer));
            if contracted.1 < worst.1.min(reflected.1) {
                corners[2] = contracted;
            } else {
                for corner in &mut corners[1..] {
                    *corner = at([0, 1].map(|i| f64::midpoint(best.0[i], corner.0[i])));
                }
            }
        }
    }
    corners.into_iter().min_by(|one, two| one.1.total_cmp(&two.1)).unwrap_or(corners[0])
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's.
        let valley = |[x, y]: [f64; 2]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
        let (at, value) = least([-1.2, 1.0], [0.5, 0.5], valley);
        assert!(value < 1e-6 && (at[0] - 1.0).abs() < 1e-2, "{at:?} {value}");
        let (_, value) = least([0.0, 0.0], [1.0, 1.0], |_| f64::NAN);
        assert!(value.is_infinite());
    }
}
