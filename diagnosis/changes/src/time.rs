//! Times as they are written: `1ns`, `1.5us`, `10ms`, `2s`.

const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The longest that can be written, ns: about 18 minutes, the longest cost of a simulated machine.
const NS_MAX: f64 = (1u64 << 40) as f64;

/// Reads a time, ns. It has a unit; `0` needs none.
#[must_use]
pub fn written_ns(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let at = text.find(|it: char| it.is_alphabetic())?;
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().ok()?;
    let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let ns = (number * unit_ns).round();
    (0.0..=NS_MAX).contains(&ns).then_some(ns as u64)
}

/// Writes a time in the largest unit of which it is a whole number.
#[must_use]
pub fn shown_ns(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let whole = units.iter().find(|(_, unit_ns)| ns > 0 && ns.is_multiple_of(*unit_ns));
    match whole {
        Some((unit, unit_ns)) => format!("{}{unit}", ns / unit_ns),
        None => format!("{ns}ns"),
    }
}
