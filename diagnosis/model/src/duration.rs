//! A duration as people read it, the same wherever tardy says one.

/// A duration, ns, in a unit that leaves one to four digits before the point: `812 ns`, `12.3 µs`,
/// `4.56 ms`, `10.0 s`.
pub fn duration(ns: u64) -> String {
    // Each step is taken where rounding would otherwise show "1000.0" of the smaller unit.
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_950 => format!("{:.1} µs", ns as f64 / 1e3),
        999_950..999_995_000 => format!("{:.2} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_takes_the_unit_that_fits() {
        let shown: Vec<_> = [0, 999, 1_000, 12_345, 999_949, 999_950, 1_234_567, 10_000_000_000]
            .map(duration)
            .into();
        assert_eq!(
            shown,
            ["0 ns", "999 ns", "1.0 µs", "12.3 µs", "999.9 µs", "1.00 ms", "1.23 ms", "10.0 s"]
        );
    }
}
