//! How amounts are written in a load's options.
//!
//! Sizes are bytes, or `k`, `m`, `g` by powers of 1024. Rates are plain numbers, so many times a
//! second; or so many bytes a second, with `B`, `kB`, `MB` or `GB` by powers of 1000. Durations have
//! `ns`, `us`, `ms` or `s`, and are nanoseconds without.

use super::spec::{Arguments, SpecError};
use std::fmt;

/// Names and what they stand for. Without a name it is 1; shown is the last one that leaves no rest, and
/// the first where it is 0.
type Units = [(&'static str, u64)];

const SIZES: &Units = &[
    ("", 1),
    ("K", 1 << 10),
    ("k", 1 << 10),
    ("M", 1 << 20),
    ("m", 1 << 20),
    ("G", 1 << 30),
    ("g", 1 << 30),
];

const DURATIONS: &Units = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

const TRAFFIC: &Units = &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];

/// None where it is no amount or no `u64` holds it.
fn read(text: &str, units: &Units) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" => 1,
        unit => units.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

/// Bytes of a size as it is written.
pub(super) fn read_size(text: &str) -> Option<u64> {
    read(text, SIZES)
}

/// An amount that is shown so that it is read to the same.
pub(super) struct Shown(u64, &'static Units);

/// Bytes, as a size.
pub(super) fn size(bytes: u64) -> Shown {
    Shown(bytes, SIZES)
}

/// Nanoseconds, as a duration.
pub(super) fn duration(ns: u64) -> Shown {
    Shown(ns, DURATIONS)
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, units) = *self;
        let fits = |(_, scale): &&(&str, u64)| number > 0 && number.is_multiple_of(*scale);
        let (unit, scale) = units.iter().rev().find(fits).unwrap_or(&units[0]);
        write!(f, "{}{unit}", number / scale)
    }
}

/// How much a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    Times(u64),
    Bytes(u64),
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Times(number) => number.fmt(f),
            Self::Bytes(bytes) => Shown(bytes, TRAFFIC).fmt(f),
        }
    }
}

impl Arguments<'_> {
    /// A size in bytes within bounds.
    pub(super) fn size(
        &self,
        what: &str,
        value: &str,
        low: u64,
        high: u64,
    ) -> Result<u64, SpecError> {
        read_size(value).filter(|bytes| (low..=high).contains(bytes)).ok_or_else(|| {
            let (low, high) = (size(low), size(high));
            let must = format!("it must be a size from {low} to {high}, like 64k or 16m");
            self.wrong(what, value, &must)
        })
    }

    /// A duration in nanoseconds within bounds.
    pub(super) fn duration_ns(
        &self,
        what: &str,
        value: &str,
        low: u64,
        high: u64,
    ) -> Result<u64, SpecError> {
        self.within(what, value, read(value, DURATIONS), low, high)
    }

    /// A rate of at most so much of either.
    pub(super) fn rate(&self, what: &str, value: &str, high: u64) -> Result<Rate, SpecError> {
        let plain = value.parse().ok();
        let (number, make): (_, fn(u64) -> Rate) = match plain {
            Some(_) => (plain, Rate::Times),
            None => (read(value, TRAFFIC), Rate::Bytes),
        };
        self.within(what, value, number, 0, high).map(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_to_the_same() {
        for (text, units, number, shown) in [
            ("0", SIZES, 0, "0"),
            ("100", SIZES, 100, "100"),
            ("4096", SIZES, 4096, "4k"),
            ("64K", SIZES, 64 << 10, "64k"),
            ("2M", SIZES, 2 << 20, "2m"),
            ("1G", SIZES, 1 << 30, "1g"),
            ("1536m", SIZES, 1536 << 20, "1536m"),
            ("2048m", SIZES, 2 << 30, "2g"),
            ("0", DURATIONS, 0, "0ns"),
            ("300us", DURATIONS, 300_000, "300us"),
            ("1500us", DURATIONS, 1_500_000, "1500us"),
            ("1000us", DURATIONS, 1_000_000, "1ms"),
            ("17", DURATIONS, 17, "17ns"),
            ("1s", DURATIONS, 1_000_000_000, "1s"),
            ("10000kB", TRAFFIC, 10_000_000, "10MB"),
            ("0GB", TRAFFIC, 0, "0B"),
        ] {
            assert_eq!(read(text, units), Some(number), "{text}");
            assert_eq!(Shown(number, units).to_string(), shown);
            assert_eq!(read(shown, units), Some(number), "{shown}");
        }
        assert_eq!(Rate::Bytes(10_000_000).to_string(), "10MB");
        assert_eq!(Rate::Bytes(0).to_string(), "0B");
        assert_eq!(Rate::Times(10_000_000).to_string(), "10000000");
    }

    #[test]
    fn what_is_no_amount_of_its_kind_is_not_read() {
        for text in ["", "k", "-1", "+1", "1t", "1 m", "1.5g", "18446744073709551615k", "1é", "1kB"]
        {
            assert_eq!(read(text, SIZES), None, "{text}");
        }
        for text in ["", "us", "1m", "1.5ms", "-1us", "99999999999999999999", "99999999999999999s"]
        {
            assert_eq!(read(text, DURATIONS), None, "{text}");
        }
        for text in ["", "B", "1k", "1mb", "1.5MB", "-1B", "99999999999GB"] {
            assert_eq!(read(text, TRAFFIC), None, "{text}");
        }
    }
}
