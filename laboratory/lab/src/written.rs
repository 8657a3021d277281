//! How durations and lists of CPUs are written, on command lines and in files.

use std::time::Duration;

/// Letters of a time as it is written, at most: more is none.
const LETTERS_MAX: usize = 64;

/// `10s`, `1ms`, `237us`, `50ns`, `2m`, `1h30m`; a bare number counts in `bare_ns`.
fn parse_ns(text: &str, bare_ns: u64) -> Result<u64, String> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (mut rest, mut all_ns) = (text, 0_u64);
    loop {
        let unit_at = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let end = rest[unit_at..].find(is_number).map_or(rest.len(), |at| unit_at + at);
        let (part, others) = rest.split_at(end);
        if text.len() > LETTERS_MAX {
            return Err("that is no duration: write 10s, 1ms, 237us or 50ns".to_owned());
        }
        if rest.len() < text.len() && unit_at == end {
            return Err(format!("{part} at the end has no unit: write 1h30m or 90m"));
        }
        let ns = part_ns(part.trim(), bare_ns)?;
        let too_long = || format!("{text} is too long: at most 500 years");
        all_ns = all_ns.checked_add(ns).ok_or_else(too_long)?;
        if others.is_empty() {
            return Ok(all_ns);
        }
        rest = others;
    }
}

/// A number and its unit.
fn part_ns(text: &str, bare_ns: u64) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit.trim() {
        "" => bare_ns,
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        other => return Err(format!("no unit {other:?}: write ns, us, ms, s, m, h or d")),
    };
    let wrong = || format!("{text:?} is not a duration: write 10s, 1ms, 237us or 50ns");
    let too_long = || format!("{text} is too long: at most 500 years");
    if !number.contains('.') {
        let whole: u64 = number.parse().map_err(|_| wrong())?;
        return whole.checked_mul(unit_ns).ok_or_else(too_long);
    }
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let ns = (number * unit_ns as f64).round();
    if ns < 1.6e19 { Ok(ns as u64) } else { Err(too_long()) }
}

/// A time between two expiries or a bound on a latency: a bare number is microseconds, as in
/// cyclictest.
///
/// # Errors
/// Where it is not understood: what is wrong, and how it is written.
pub fn interval_ns(text: &str) -> Result<u64, String> {
    match parse_ns(text, 1_000)? {
        0 => Err("an interval cannot be 0".to_owned()),
        ns => Ok(ns),
    }
}

/// How long something runs: a bare number is seconds, as in cyclictest.
///
/// # Errors
/// Where it is not understood: what is wrong, and how it is written.
pub fn duration(text: &str) -> Result<Duration, String> {
    match parse_ns(text, 1_000_000_000)? {
        0 => Err("a duration cannot be 0".to_owned()),
        ns => Ok(Duration::from_nanos(ns)),
    }
}

/// A time as it is written, exactly: `10s`, `1500us`, `0ns`.
pub fn exactly(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let fits = units.into_iter().find(|(_, unit_ns)| ns != 0 && ns.is_multiple_of(*unit_ns));
    let (unit, unit_ns) = fits.unwrap_or(("ns", 1));
    format!("{}{unit}", ns / unit_ns)
}

/// CPUs as in cyclictest's `-a`: `0-2,5`.
///
/// # Errors
/// Where it is not understood: what is wrong, and how it is written.
pub fn cpus(text: &str) -> Result<Vec<u16>, String> {
    let wrong = || format!("{text:?} is not a list of CPUs: write 0-2,5");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u16 = first.trim().parse().map_err(|_| wrong())?;
        let last: u16 = last.trim().parse().map_err(|_| wrong())?;
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, ns) in [
            ("10s", 10_000_000_000),
            ("1ms", 1_000_000),
            ("237us", 237_000),
            ("237µs", 237_000),
            ("50ns", 50),
            ("1.5ms", 1_500_000),
            ("2m", 120_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1m 1.5s", 61_500_000_000),
            ("1000", 1_000_000),
        ] {
            assert_eq!(interval_ns(text), Ok(ns), "{text}");
        }
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        for wrong in [
            "",
            "ms",
            "-1s",
            "1x",
            "0",
            "1e30s",
            "99999999999999d",
            "1.2.3s",
            "1h30",
            "1h-1m",
            "1h m",
        ] {
            assert!(interval_ns(wrong).is_err(), "{wrong}");
        }
        let why = duration("1h30").unwrap_err();
        assert_eq!(why, "30 at the end has no unit: write 1h30m or 90m");
    }

    #[test]
    fn what_is_written_exactly_reads_back() {
        for (ns, text) in [
            (10_000_000_000, "10s"),
            (1_500_000, "1500us"),
            (237_000, "237us"),
            (50, "50ns"),
            (90_000_000_000, "90s"),
        ] {
            assert_eq!((exactly(ns).as_str(), interval_ns(text)), (text, Ok(ns)));
        }
        assert_eq!(exactly(0), "0ns");
    }

    #[test]
    fn cpus_as_cyclictest_takes_them() {
        assert_eq!(cpus("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert!(cpus("3-1").is_err());
        assert!(cpus("a").is_err());
    }
}
