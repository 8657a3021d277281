//! A logarithmic axis of shares.

use crate::page::Axis;

/// A share of which even one in a million million has a place.
pub(super) struct ShareAxis(Axis);

/// [`Axis`] knows no values below a thousandth; in these units a share is far above.
const UNITS: f64 = 1e15;

impl ShareAxis {
    /// From the least share to the most.
    pub(super) fn new((from, to): (f64, f64), ends: (f64, f64)) -> Self {
        Self(Axis::log((from * UNITS, to * UNITS), ends))
    }

    /// Where a share is.
    pub(super) fn at(&self, share: f64) -> f64 {
        self.0.at(share * UNITS)
    }

    /// Powers of ten within, with labels, at most about `max`.
    pub(super) fn ticks(&self, max: usize) -> Vec<(f64, String)> {
        let mut ticks = self.0.ticks(1, |_| String::new());
        let every = ticks.len().div_ceil(max.max(1)).max(1);
        if ticks.is_empty() {
            ticks = self.0.ticks(3, |_| String::new());
        }
        let shares = ticks.into_iter().map(|(value, _)| value / UNITS);
        shares.step_by(every).map(|share| (share, share_label(share))).collect()
    }
}

/// A share as percent with as many digits as it takes: `20 %`, `0.001 %`, `1e-7 %`.
pub(super) fn share_label(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 99.95 {
        return format!("{percent:.0} %");
    }
    if percent < 0.99e-4 {
        return format!("{percent:.0e} %");
    }
    let digits = (1.0 - percent.log10().floor()).max(0.0) as usize;
    let text = format!("{percent:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_digits_that_they_need() {
        let labels = [0.0, 1.0, 0.2, 0.05, 0.0123, 0.000_01, 1e-6, 1e-9].map(share_label);
        assert_eq!(
            labels,
            ["0 %", "100 %", "20 %", "5 %", "1.2 %", "0.001 %", "0.0001 %", "1e-7 %"]
        );
    }

    #[test]
    fn ticks_are_powers_of_ten_and_few() {
        let axis = ShareAxis::new((3e-8, 1.0), (100.0, 0.0));
        let labels: Vec<String> = axis.ticks(4).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1e-5 %", "0.001 %", "0.1 %", "10 %"]);
        assert!((axis.at(1.0)).abs() < 1e-9 && (axis.at(3e-8) - 100.0).abs() < 1e-9);
        let narrow = ShareAxis::new((0.2, 0.9), (100.0, 0.0));
        assert!(!narrow.ticks(4).is_empty());
    }
}
