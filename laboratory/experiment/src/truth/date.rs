//! A day by the calendar.

const DAY_S: u64 = 86_400;

/// The year 9999 is the last that is told.
const YEAR_MAX: u64 = 9999;

/// `2017-01-04` in UTC, of seconds since 1970-01-01; empty beyond the year 9999.
pub(super) fn of_unix_s(unix_s: u64) -> String {
    let mut days = unix_s / DAY_S;
    let mut year = 1970;
    loop {
        let in_year = if is_leap(year) { 366 } else { 365 };
        if days < in_year {
            break;
        }
        if year == YEAR_MAX {
            return String::new();
        }
        days -= in_year;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for in_month in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < in_month {
            break;
        }
        days -= in_month;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_the_calendars() {
        for (unix_s, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (1_483_488_000 + 86_399, "2017-01-04"),
            (1_577_836_799, "2019-12-31"),
            (4_107_542_400, "2100-03-01"),
            (u64::MAX, ""),
        ] {
            assert_eq!(of_unix_s(unix_s), day);
        }
    }
}
