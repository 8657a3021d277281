//! A scale for differences: linear around 0, logarithmic further out, both directions alike.

use crate::page::Axis;

/// Within this many decades a scale stays linear.
const LINEAR_DECADES: f64 = 1.3;

/// From differences in ns to places.
pub(super) struct SignedScale {
    axis: Axis,
    /// Up to here it is linear; `None` where all of it is.
    linear_to_ns: Option<f64>,
    range_ns: (f64, f64),
}

impl SignedScale {
    /// A scale that holds all of `values` and 0. It is linear as long as most of them can be told
    /// apart on it: `typical_ns` is the size of those that must be.
    pub(super) fn new(range_ns: (f64, f64), typical_ns: f64, ends: (f64, f64)) -> Self {
        let (from, to) = (range_ns.0.min(0.0), range_ns.1.max(0.0));
        let most = from.abs().max(to);
        let typical = typical_ns.abs().clamp(1.0, most.max(1.0));
        let is_linear = most / typical < 10f64.powf(LINEAR_DECADES);
        let linear_to_ns = (!is_linear).then(|| 10f64.powf(typical.log10().round()));
        let bent = |ns| bend(ns, linear_to_ns);
        let room = (bent(to) - bent(from)).max(1e-9) * 0.06;
        let axis = Axis::linear((bent(from) - room, bent(to) + room), ends);
        Self { axis, linear_to_ns, range_ns: (from, to) }
    }

    /// Whether far differences are pressed together.
    pub(super) fn is_bent(&self) -> bool {
        self.linear_to_ns.is_some()
    }

    /// Where a difference is; one beyond the scale is at its end.
    pub(super) fn at(&self, ns: f64) -> f64 {
        let (from, to) = self.range_ns;
        self.axis.at(bend(ns.clamp(from, to), self.linear_to_ns))
    }

    /// Round differences within the scale.
    pub(super) fn ticks(&self, max: usize) -> Vec<f64> {
        let (from, to) = self.range_ns;
        let Some(linear_to_ns) = self.linear_to_ns else {
            let axis = Axis::linear((from, to), (0.0, 1.0));
            return axis.ticks(max, |_| String::new()).into_iter().map(|(ns, _)| ns).collect();
        };
        let decades = (from.abs().max(to) / linear_to_ns).log10().floor().max(0.0) as i32;
        let sides = usize::from(from < 0.0) + usize::from(to > 0.0);
        let every = ((decades as usize + 1) * sides).div_ceil(max.max(2)).max(1);
        let powers = (0..=decades).step_by(every).map(|power| linear_to_ns * 10f64.powi(power));
        let mut ticks: Vec<f64> = powers.flat_map(|ns| [-ns, ns]).chain([0.0]).collect();
        ticks.retain(|ns| (from..=to).contains(ns));
        ticks.sort_by(f64::total_cmp);
        ticks
    }
}

/// Linear to the bound, which becomes 1; beyond, a decade more is 1 more.
fn bend(ns: f64, linear_to_ns: Option<f64>) -> f64 {
    match linear_to_ns {
        None => ns,
        Some(linear_to_ns) => {
            let times = ns.abs() / linear_to_ns;
            let bent = if times <= 1.0 { times } else { 1.0 + times.log10() };
            bent.copysign(ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_differences_stay_apart_from_far_ones() {
        let scale = SignedScale::new((-200.0, 2e6), 300.0, (0.0, 100.0));
        assert!(scale.is_bent());
        let places = [-200.0, 0.0, 100.0, 1e3, 1e6, 2e6].map(|ns| scale.at(ns));
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 2.0), "{places:?}");
        assert_eq!(scale.ticks(12), [-100.0, 0.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        assert!((scale.at(9e9) - scale.at(2e6)).abs() < 1e-9);
    }

    #[test]
    fn differences_of_one_size_are_linear() {
        let scale = SignedScale::new((4_000.0, 6_000.0), 5_000.0, (0.0, 100.0));
        assert!(!scale.is_bent());
        let half = scale.at(0.0) + (scale.at(6_000.0) - scale.at(0.0)) / 2.0;
        assert!((scale.at(3_000.0) - half).abs() < 1e-6, "0 is on it, and it is linear");
        assert!(scale.ticks(8).contains(&0.0));
        let none = SignedScale::new((0.0, 0.0), 0.0, (0.0, 100.0));
        assert!(none.at(0.0).is_finite());
    }
}
