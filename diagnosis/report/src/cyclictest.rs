//! A measurement in the lines that cyclictest prints, for eyes and scripts that know them.

use crate::clean::clean_cut;
use std::fmt::Write as _;
use tardy_lab::Measurement;

/// The unit of cyclictest's latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// Whole microseconds, cyclictest's default.
    #[default]
    Micros,
    /// Nanoseconds, as its `-N`.
    Nanos,
}

/// One line per thread, in the layout of cyclictest's `print_stat` (rt-tests). Intervals are in
/// microseconds whatever the resolution, as there. `last_ns` holds each thread's latest latency,
/// in the order of the threads; one that is missing shows as `-`. A thread without samples shows
/// zeros and `C: 0`.
pub fn cyclictest_lines(
    measurement: &Measurement,
    last_ns: &[u64],
    resolution: Resolution,
) -> String {
    let unit = |ns: u64| match resolution {
        Resolution::Micros => ns / 1000,
        Resolution::Nanos => ns,
    };
    let mut out = String::new();
    for (number, thread) in measurement.threads.iter().enumerate() {
        let latencies = &thread.latencies;
        let act = last_ns.get(number).map_or_else(|| "-".to_owned(), |&ns| unit(ns).to_string());
        // Writing to a String does not fail.
        let _ = writeln!(
            out,
            "T:{number:2} ({:5}) P:{:2} I:{} C:{:7} Min:{:7} Act:{act:>5} Avg:{:5} Max:{:8}",
            thread.pid,
            thread.prio,
            thread.interval_ns / 1000,
            latencies.count(),
            unit(latencies.min_ns()),
            unit(latencies.mean_ns() as u64),
            unit(latencies.max_ns()),
        );
    }
    if let Some(broken) = &measurement.broken_by {
        let _ = writeln!(
            out,
            "# Break: {} was late by {} {}",
            clean_cut(&broken.thread, 64),
            unit(broken.latency_ns),
            match resolution {
                Resolution::Micros => "us",
                Resolution::Nanos => "ns",
            }
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn lines_are_cyclictests() {
        let measurement = fixture::measurement();
        insta::assert_snapshot!(cyclictest_lines(&measurement, &[9_612], Resolution::Micros));
        insta::assert_snapshot!(cyclictest_lines(
            &measurement,
            &[9_612, 11_005],
            Resolution::Nanos
        ));
    }
}
