//! A comparison in sentences, and its numbers in words.

use super::{NAME_WIDTH, Subject};
use crate::clean::{clean, cut_middle};
use crate::units::count;
use tardy_stats::Interval;
use tardy_stats::ab::{Basis, Comparison, Difference, Verdict};

/// The letter of a side, by its place: A for the first.
pub fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    letter.to_string().repeat(1 + place / 26)
}

/// `p50`, `p99.9`, `p99.9999`.
pub fn quantile_name(q: f64) -> String {
    let percent = format!("{:.6}", q * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// What a side of a subject is called, clean and not too long for a sentence.
pub(crate) fn name(subject: &Subject, place: usize) -> String {
    match subject.sides.get(place) {
        Some(side) if !side.sample.name.is_empty() => {
            cut_middle(&clean(&side.sample.name), NAME_WIDTH)
        }
        _ => letter(place),
    }
}

/// What may be said of a comparison, in one or two sentences an engineer can act on. `place` is that
/// of the side that is compared with A; a figure that the subject does not tell is left out.
pub fn verdict_sentence(subject: &Subject, place: usize) -> String {
    let Some(comparison) = place.checked_sub(1).and_then(|at| subject.comparisons.get(at)) else {
        return String::new();
    };
    verdict_of(&name(subject, 0), &name(subject, place), comparison, |q| match q {
        Some(q) => tells(subject, place, q),
        None => tells_mean(subject, place),
    })
}

/// [`verdict_sentence`] of two sides with names. A quantile, or the mean for `None`, that `tells` does
/// not hold for is left out.
pub(crate) fn verdict_of(
    a: &str,
    b: &str,
    comparison: &Comparison,
    tells: impl Fn(Option<f64>) -> bool,
) -> String {
    match &comparison.verdict {
        Verdict::TooFew { why } => format!("{a} and {b} cannot be compared: {why}"),
        Verdict::NoDifferenceShown { detectable_ns } => no_difference(a, b, *detectable_ns),
        Verdict::Differ { mean, quantiles, .. } => {
            let mut shown: Vec<(String, &Difference)> = comparison
                .quantiles
                .iter()
                .filter(|quantile| quantiles.iter().any(|q| is_same(*q, quantile.q)))
                .filter(|quantile| tells(Some(quantile.q)))
                .map(|quantile| (at_quantile(quantile.q), &quantile.difference))
                .collect();
            if *mean && tells(None) {
                shown.push(("in the mean".to_owned(), &comparison.mean));
            }
            differ(a, b, &shown, comparison)
        }
    }
}

fn no_difference(a: &str, b: &str, detectable_ns: f64) -> String {
    let least = if detectable_ns.is_finite() && detectable_ns > 0.0 {
        format!(
            " A difference of the medians of {} or more would have been found in four of five such \
             comparisons.",
            plain(detectable_ns)
        )
    } else {
        " The smallest difference of the medians that would have been found is not known."
            .to_owned()
    };
    format!(
        "No difference between {a} and {b} was found, which does not prove that they are \
         equal.{least}"
    )
}

fn differ(a: &str, b: &str, shown: &[(String, &Difference)], comparison: &Comparison) -> String {
    let part = |later: bool| -> Option<String> {
        let word = if later { "later" } else { "earlier" };
        let figures: Vec<String> = shown
            .iter()
            .filter(|(_, difference)| (difference.b_minus_a.value > 0.0) == later)
            .enumerate()
            .map(|(number, (place, difference))| {
                let amount = amount(difference.b_minus_a);
                // What is compared with what is said once.
                if number > 0 {
                    format!("{amount} {place}")
                } else {
                    format!("{amount} {word} than {a} {place}")
                }
            })
            .collect();
        (!figures.is_empty()).then(|| listed(&figures))
    };
    let parts: Vec<String> = [part(true), part(false)].into_iter().flatten().collect();
    let p = shown.iter().map(|(_, difference)| difference.p_adjusted).fold(0.0, f64::max);
    if parts.is_empty() {
        // The first of the ranks is A: it wins pairs where it is later.
        let later = 1.0 - comparison.ranks.a;
        let word = if later > 0.5 { "later" } else { "earlier" };
        return format!(
            "{b} tends to be {word} than {a}: in {:.1} % of random pairs of wakeups the later \
             one is from {b} (ties count half; p {}). No single figure is shown to differ.",
            later * 100.0,
            at_most(comparison.ranks_p_adjusted)
        );
    }
    format!("{b} is {} (95 % sure of each; p {}).", parts.join(", and "), at_most(p))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// What was taken for independent, in a sentence.
pub(super) fn basis_sentence(subject: &Subject, place: usize) -> Option<String> {
    let comparison = place.checked_sub(1).and_then(|at| subject.comparisons.get(at))?;
    if matches!(comparison.verdict, Verdict::TooFew { .. }) {
        return None;
    }
    let (a, b) = (name(subject, 0), name(subject, place));
    let blocks = |blocks: usize| count(blocks as u64);
    Some(match comparison.basis {
        Basis::Blocks => format!(
            "{b} and {a}: the statistics draw and exchange whole blocks of time, {} and {} of \
             them, so dependence between neighbours does not matter.",
            blocks(comparison.b.blocks),
            blocks(comparison.a.blocks)
        ),
        Basis::Values => format!("{b} and {a}: single values were treated as independent."),
    })
}

/// Whether both sides know their value at a quantile.
pub(super) fn tells(subject: &Subject, place: usize, q: f64) -> bool {
    [0, place].iter().all(|&side| subject.sides.get(side).is_none_or(|side| side.tells(q)))
}

/// Whether both sides know their mean.
pub(super) fn tells_mean(subject: &Subject, place: usize) -> bool {
    [0, place].iter().all(|&side| subject.sides.get(side).is_none_or(|side| side.over_bins == 0))
}

/// Whether two quantiles are the same one.
pub(crate) fn is_same(one: f64, two: f64) -> bool {
    (one - two).abs() < 1e-9
}

fn at_quantile(q: f64) -> String {
    if is_same(q, 0.5) { "at the median".to_owned() } else { format!("at {}", quantile_name(q)) }
}

/// `4.90–5.10 µs`, of a difference whose direction is said beside it; where one end is not bounded, `4.90 µs or more`.
fn amount(interval: Interval) -> String {
    let Interval { value, low, high } = interval;
    let (low, high) = if value < 0.0 { (-high, -low) } else { (low, high) };
    let unit = Unit::of(&[value, low, high]);
    match (low.is_finite(), high.is_finite()) {
        (true, true) => {
            let (low, high) = (unit.number(low), unit.number(high));
            // What is shown to differ lies on one side of 0; figures of a caller's own need not.
            let between = if low.starts_with('−') { " to " } else { "–" };
            if low == high {
                format!("{low} {}", unit.name)
            } else {
                format!("{low}{between}{high} {}", unit.name)
            }
        }
        (true, false) => format!("{} or more", unit.with(low)),
        _ => unit.with(value.abs()),
    }
}

/// `+5.00 µs (+4.90 … +5.10)`, in one unit; `…` alone stands for an end that nothing bounds.
pub(crate) fn with_interval(interval: Interval) -> String {
    let Interval { value, low, high } = interval;
    let unit = Unit::of(&[value, low, high]);
    let end = |ns: f64| if ns.is_finite() { unit.signed(ns) } else { "?".to_owned() };
    format!("{} {} ({} … {})", unit.signed(value), unit.name, end(low), end(high))
}

/// A number of nanoseconds with a unit and a sign.
pub(super) fn signed(ns: f64) -> String {
    let unit = Unit::of(&[ns]);
    format!("{} {}", unit.signed(ns), unit.name)
}

/// A number of nanoseconds with a unit.
pub(crate) fn plain(ns: f64) -> String {
    let unit = Unit::of(&[ns]);
    unit.with(ns)
}

/// `at most 0.034`, `below 0.001`.
fn at_most(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { format!("at most {}", probability(p)) }
}

/// `0.034`, `<0.001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", p.min(1.0)) }
}

/// What numbers that stand together are counted in.
struct Unit {
    name: &'static str,
    per: f64,
    digits: usize,
}

impl Unit {
    /// The unit that leaves the largest of them one to four digits before the point.
    fn of(ns: &[f64]) -> Self {
        let most = ns.iter().filter(|ns| ns.is_finite()).map(|ns| ns.abs()).fold(0.0, f64::max);
        let (name, per) = match most {
            0.0..1e3 => ("ns", 1.0),
            1e3..1e6 => ("µs", 1e3),
            1e6..1e9 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let digits = match most / per {
            _ if per <= 1.0 => 0,
            0.0..100.0 => 2,
            _ => 1,
        };
        Self { name, per, digits }
    }

    /// The number alone; a minus where it is one, never "−0".
    fn number(&self, ns: f64) -> String {
        let text = format!("{:.*}", self.digits, (ns / self.per).abs());
        let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
        if ns < 0.0 && !is_zero { format!("−{text}") } else { text }
    }

    fn signed(&self, ns: f64) -> String {
        let text = self.number(ns);
        if text.starts_with('−') { text } else { format!("+{text}") }
    }

    fn with(&self, ns: f64) -> String {
        format!("{} {}", self.number(ns), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fixture;

    #[test]
    fn numbers_that_stand_together_have_one_unit() {
        let interval = |value, low, high| Interval { value, low, high };
        assert_eq!(with_interval(interval(812.4, -30.0, 1_600.0)), "+0.81 µs (−0.03 … +1.60)");
        assert_eq!(with_interval(interval(-3.2, -9.0, -0.2)), "−3 ns (−9 … +0)");
        assert_eq!(with_interval(interval(5.0, f64::NEG_INFINITY, f64::INFINITY)), "+5 ns (? … ?)");
        assert_eq!(amount(interval(-5e3, -6e3, -4e3)), "4.00–6.00 µs");
        assert_eq!(amount(interval(5e3, -1e3, 6e3)), "−1.00 to 6.00 µs");
        assert_eq!(amount(interval(5e3, 5e3, 5e3)), "5.00 µs");
        assert_eq!(amount(interval(5e3, 4e3, f64::INFINITY)), "4.00 µs or more");
        assert_eq!([plain(2.5e6), signed(-2.5e6)], ["2.50 ms", "−2.50 ms"]);
    }

    #[test]
    fn quantiles_are_called_as_people_call_them() {
        let names = [0.5, 0.99, 0.999, 0.9999, 0.999_999, 0.025].map(quantile_name);
        assert_eq!(names, ["p50", "p99", "p99.9", "p99.99", "p99.9999", "p2.5"]);
        assert_eq!([letter(0), letter(5), letter(27)], ["A", "F", "BB"]);
    }

    #[test]
    fn sentences() {
        let said: Vec<String> = [fixture::later(), fixture::alike(), fixture::too_few()]
            .iter()
            .flat_map(|subject| [Some(verdict_sentence(subject, 1)), basis_sentence(subject, 1)])
            .flatten()
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn what_lies_above_the_bins_is_not_spoken_of() {
        let mut subject = fixture::later();
        let n = subject.sides[1].sample.count();
        subject.sides[1].over_bins = n / 50;
        let said = verdict_sentence(&subject, 1);
        assert!(said.contains("the median"), "{said}");
        assert!(!said.contains("p99") && !said.contains("mean"), "{said}");
    }

    #[test]
    fn both_directions_are_told() {
        let mut subject = fixture::later();
        let median = &mut subject.comparisons[0].quantiles[0].difference.b_minus_a;
        *median = Interval { value: -200.0, low: -300.0, high: -100.0 };
        let said = verdict_sentence(&subject, 1);
        assert!(said.contains("µs later than A at p90"), "{said}");
        assert!(said.contains("and 100–300 ns earlier than A at the median"), "{said}");
    }
}
