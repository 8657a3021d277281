//! Numbers as people read them.

pub use tardy_model::duration;

/// [`duration`] of a mean.
pub fn duration_mean(ns: f64) -> String {
    duration(ns.round() as u64)
}

/// A count with a comma between thousands: `9,998`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and its noun, in the plural where there is not exactly one.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Tenths of a percent as `41.2 %`.
pub fn percent(tenths: u32) -> String {
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// `text` for a medium that breaks lines itself: a number and its unit stay on one line.
pub(crate) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 5] = ["ns", "µs", "ms", "s", "%"];
    let mut out = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        let after_digit = out.ends_with(|c: char| c.is_ascii_digit());
        if number > 0 {
            out.push(if after_digit && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

/// A share for a sentence, in whole percent: a table's tenths are cut so that they add up, and a
/// sentence must not differ from its table in the last digit.
pub fn whole_percent(share: f64) -> String {
    match (share.clamp(0.0, 1.0) * 100.0).round() as u32 {
        0 if share > 0.0 => "under 1 %".to_owned(),
        whole => format!("{whole} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(
            unbroken("late by 1.5 µs, 99 % of all"),
            "late by 1.5\u{a0}µs, 99\u{a0}% of all"
        );
        assert_eq!(unbroken("1 in 3 s"), "1 in 3\u{a0}s");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "wakeup"), counted(0, "wakeup")], ["1 wakeup", "0 wakeups"]);
        assert_eq!([percent(1000), percent(7)], ["100.0 %", "0.7 %"]);
    }
}
