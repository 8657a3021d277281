//! How a gate is written: `+5us@p99.9`, `+10%@mean`.

use tardy_lab::written::interval_ns;
use tardy_report::{Bound, Figure, Gate};

/// The quantiles that can be a gate's: above, nothing that can be measured in a day is bounded.
const PERCENT: std::ops::RangeInclusive<f64> = 50.0..=99.9999;

/// The most percent: more is no bound.
const SHARE_PERCENT_MAX: f64 = 1e6;

/// A gate, as on the command line.
///
/// # Errors
/// What is wrong, and how one is written.
pub(in crate::verb) fn parse(text: &str) -> Result<Gate, String> {
    let forms = "write +5us@p99.9, +10%@p50 or +0@mean: a time or a share of A's, then mean or p50 to \
                 p99.9999";
    let (bound, figure) =
        text.split_once('@').ok_or_else(|| format!("{text:?} is not a bound: {forms}"))?;
    let bound = self::bound(bound.trim())
        .ok_or_else(|| format!("{bound:?} is neither a time nor a share: {forms}"))?;
    let figure = match figure.trim() {
        "mean" => Figure::Mean,
        "median" => Figure::Quantile(0.5),
        "max" => {
            return Err("a maximum grows with the number of samples and has no interval: take a \
                        quantile, such as p99.99"
                .to_owned());
        }
        figure => self::figure_quantile(figure)
            .ok_or_else(|| format!("{figure:?} is not a figure: {forms}"))?,
    };
    Ok(Gate { bound, figure })
}

/// The same for a gain: nothing gets earlier by all of its lateness.
///
/// # Errors
/// What is wrong, and how one is written.
pub(in crate::verb) fn parse_gain(text: &str) -> Result<Gate, String> {
    let gate = parse(text)?;
    match gate.bound {
        Bound::Share(share) if share >= 1.0 => Err(format!(
            "{text:?} can never be gained: a share of the lateness is less than 100 %, as 10%@p99.9"
        )),
        _ => Ok(gate),
    }
}

/// `+5us`, `+10%`, `0`; the sign may be left out, and none is below 0.
fn bound(text: &str) -> Option<Bound> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = plain_number(percent.trim())?;
        return (percent <= SHARE_PERCENT_MAX).then_some(Bound::Share(percent / 100.0));
    }
    // Nothing more than A is a bound too.
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ').trim_end();
    if plain_number(digits) == Some(0.0) {
        return Some(Bound::Ns(0));
    }
    interval_ns(text).ok().map(Bound::Ns)
}

fn figure_quantile(text: &str) -> Option<Figure> {
    let percent = plain_number(text.strip_prefix('p')?)?;
    // 99.9 / 100 is not 0.999 in binary; to a millionth it is.
    let q = (percent * 1e6).round() / 1e8;
    PERCENT.contains(&percent).then_some(Figure::Quantile(q))
}

/// Digits, with a point at most: no sign, no exponent, no "inf".
fn plain_number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| is_plain)
}

/// The quantile that a gate needs; none for the mean.
pub(super) fn quantile(gate: &Gate) -> Option<f64> {
    match gate.figure {
        Figure::Mean => None,
        Figure::Quantile(q) => Some(q),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_as_people_write_them() {
        let gate = |bound, figure| Ok(Gate { bound, figure });
        for (text, bound, figure) in [
            ("+5us@p99.9", Bound::Ns(5_000), Figure::Quantile(0.999)),
            ("5@p99", Bound::Ns(5_000), Figure::Quantile(0.99)),
            ("+10%@mean", Bound::Share(0.1), Figure::Mean),
            ("+2.5 % @ p50", Bound::Share(0.025), Figure::Quantile(0.5)),
            ("+0@median", Bound::Ns(0), Figure::Quantile(0.5)),
            ("0us@mean", Bound::Ns(0), Figure::Mean),
            ("+1.5ms@p99.9999", Bound::Ns(1_500_000), Figure::Quantile(0.999_999)),
        ] {
            assert_eq!(parse(text), gate(bound, figure), "{text}");
        }
    }

    #[test]
    fn what_is_no_gate_is_told_how_one_is_written() {
        for wrong in [
            "",
            "5us",
            "@p99",
            "-5us@p99",
            "+5us@",
            "+5us@p",
            "+5us@p49",
            "+5us@p100",
            "+5us@99",
            "+5kg@p99",
            "+x%@mean",
            "+-3%@mean",
            "+inf%@mean",
            "+1e3us@p99",
            "+5us@pNaN",
            "++5us@p99",
            "+9999999999%@mean",
        ] {
            let said = parse(wrong).expect_err(wrong);
            assert!(said.contains("write +5us@p99.9"), "{wrong}: {said}");
        }
        let said = parse("+5us@max").expect_err("a maximum");
        assert!(said.contains("maximum") && said.contains("p99.99"), "{said}");
    }

    #[test]
    fn nothing_gains_all_of_its_lateness() {
        assert!(parse_gain("99.9%@p99").is_ok() && parse_gain("20us@p99.9").is_ok());
        for text in ["100%@mean", "250%@p99"] {
            assert!(parse_gain(text).unwrap_err().contains("less than 100 %"), "{text}");
            assert!(parse(text).is_ok(), "something may get worse by that");
        }
    }
}
