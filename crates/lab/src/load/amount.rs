//! Times and amounts as they are written in a load's options.

use super::spec::{Arguments, SpecError};
use std::fmt;

const DURATIONS: [(&str, u64); 4] =
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

const BYTES: [(&str, u64); 4] = [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];

/// `300us`, `1ms`, `2s`, or nanoseconds without a unit; in nanoseconds.
pub(super) fn duration_ns(
    arguments: &Arguments,
    what: &str,
    text: &str,
    low: u64,
    high: u64,
) -> Result<u64, SpecError> {
    within(arguments, what, text, read(text, &DURATIONS), low, high)
}

/// So many bytes, `10MB` (of 1,000,000), or without a unit so many of something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Without a unit.
    Times(u64),
    Bytes(u64),
}

impl Amount {
    pub(super) fn parse(
        arguments: &Arguments,
        what: &str,
        text: &str,
        high: u64,
    ) -> Result<Self, SpecError> {
        let plain = text.parse().ok();
        let (number, make): (_, fn(u64) -> Self) = match plain {
            Some(_) => (plain, Self::Times),
            None => (read(text, &BYTES), Self::Bytes),
        };
        within(arguments, what, text, number, 0, high).map(make)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Times(number) => number.fmt(f),
            Self::Bytes(bytes) => show(f, bytes, &BYTES),
        }
    }
}

/// Nanoseconds, shown so that they are read to the same.
pub(super) struct Duration(pub(super) u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, self.0, &DURATIONS)
    }
}

fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" => 1,
        unit => units.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

fn within(
    arguments: &Arguments,
    what: &str,
    text: &str,
    number: Option<u64>,
    low: u64,
    high: u64,
) -> Result<u64, SpecError> {
    number.filter(|number| (low..=high).contains(number)).ok_or_else(|| SpecError::Number {
        load: arguments.name.to_owned(),
        what: what.to_owned(),
        value: text.to_owned(),
        low,
        high,
    })
}

/// In the largest unit in which it is a whole number.
fn show(f: &mut fmt::Formatter<'_>, number: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, scale): &&(&str, u64)| number > 0 && number.is_multiple_of(*scale);
    let (unit, scale) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    write!(f, "{}{unit}", number / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_to_the_same() {
        for (text, ns, shown) in [
            ("300us", 300_000, "300us"),
            ("1500us", 1_500_000, "1500us"),
            ("1000us", 1_000_000, "1ms"),
            ("17", 17, "17ns"),
            ("1s", 1_000_000_000, "1s"),
        ] {
            assert_eq!(read(text, &DURATIONS), Some(ns), "{text}");
            assert_eq!(Duration(ns).to_string(), shown);
            assert_eq!(read(shown, &DURATIONS), Some(ns));
        }
        for text in ["", "us", "1m", "1.5ms", "-1us", "99999999999999999999", "99999999999999999s"]
        {
            assert_eq!(read(text, &DURATIONS), None, "{text}");
        }
        assert_eq!(Amount::Bytes(10_000_000).to_string(), "10MB");
        assert_eq!(Amount::Bytes(0).to_string(), "0B");
        assert_eq!(Amount::Times(10_000_000).to_string(), "10000000");
    }
}
