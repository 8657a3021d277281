//! Whether a trial proved a change.

use tardy_report::units::duration_mean;
use tardy_report::{Bound, Compared, Figure, Gate};
use tardy_stats::Interval;
use tardy_stats::ab::{Comparison, Difference, Verdict};

/// What a trial says of a change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// It helped, by as much as was asked for.
    Helped(String),
    /// It made it worse.
    Harmed(String),
    /// Neither is shown.
    NotShown(String),
}

/// What was measured, a figure each: without the change, with it, and the gain with its interval. None where nothing
/// could be compared.
pub(super) fn figures(compared: &Compared) -> Vec<serde_json::Value> {
    let Some(comparison) = first(compared) else { return Vec::new() };
    if matches!(comparison.verdict, Verdict::TooFew { .. }) {
        return Vec::new();
    }
    let document = |(figure, difference): (Figure, Difference)| {
        let Interval { value, low, high } = difference.b_minus_a;
        serde_json::json!({
            "figure": figure.name(),
            "without_ns": difference.a,
            "with_ns": difference.b,
            "gain_ns": { "value": -value, "low": -high, "high": -low },
            "shown": is_shown(comparison, &difference),
        })
    };
    all(comparison).map(document).collect()
}

/// How many wakeups were compared, without the change and with it.
pub(super) fn wakeups(compared: &Compared) -> [u64; 2] {
    first(compared).map_or([0; 2], |comparison| [comparison.a.count, comparison.b.count])
}

fn first(compared: &Compared) -> Option<&Comparison> {
    compared.subjects.first()?.comparisons.first()
}

/// The mean, then the quantiles, the outermost last.
fn all(comparison: &Comparison) -> impl DoubleEndedIterator<Item = (Figure, Difference)> {
    let quantiles = comparison.quantiles.iter();
    let quantiles = quantiles.map(|it| (Figure::Quantile(it.q), it.difference));
    std::iter::once((Figure::Mean, comparison.mean)).chain(quantiles)
}

fn is_shown(comparison: &Comparison, difference: &Difference) -> bool {
    difference.p_adjusted < comparison.alpha
}

/// The first comparison, B with the change, against what was asked for.
pub(super) fn decide(compared: &Compared, at_least: Option<&Gate>) -> Decision {
    let Some(comparison) = first(compared) else {
        return Decision::NotShown("nothing was compared".to_owned());
    };
    if let Verdict::TooFew { why } = &comparison.verdict {
        return Decision::NotShown(why.clone());
    }
    let figures = || all(comparison);
    let is_shown = |difference: &Difference| is_shown(comparison, difference);
    // Whatever else gets better: who has it looks at the worst.
    let later = figures().rfind(|(_, it)| is_shown(it) && it.b_minus_a.low > 0.0);
    if let Some((figure, difference)) = later {
        return Decision::Harmed(told(figure, &difference));
    }
    if let Some(gate) = at_least {
        let Some((figure, difference)) = figures().find(|(figure, _)| *figure == gate.figure)
        else {
            return Decision::NotShown(format!("too few wakeups for {}", gate.figure.name()));
        };
        let asked_ns = match gate.bound {
            Bound::Ns(ns) => ns as f64,
            Bound::Share(share) => share * difference.a,
        };
        let words = told(figure, &difference);
        let has = is_shown(&difference) && difference.b_minus_a.high < -asked_ns;
        return if has { Decision::Helped(words) } else { Decision::NotShown(words) };
    }
    let earlier = figures().rfind(|(_, it)| is_shown(it) && it.b_minus_a.high < 0.0);
    match earlier {
        Some((figure, difference)) => Decision::Helped(told(figure, &difference)),
        None => Decision::NotShown(told(Figure::Mean, &comparison.mean)),
    }
}

/// `p99: 151.0 µs to 12.3 µs, 138.7 µs earlier (95 %: 120.4 µs to 150.1 µs)`.
fn told(figure: Figure, difference: &Difference) -> String {
    let Interval { value, low, high } = difference.b_minus_a;
    // Of both ends the nearer to nothing comes first.
    let (word, gain, ends) = if value < 0.0 {
        ("earlier", -value, [-high, -low])
    } else {
        ("later", value, [low, high])
    };
    let [from, to] = ends.map(signed);
    let [a, b] = [difference.a, difference.b].map(duration_mean);
    format!("{}: {a} to {b}, {} {word} (95 %: {from} to {to})", figure.name(), duration_mean(gain))
}

/// An interval may reach beyond nothing.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "" };
    format!("{sign}{}", duration_mean(ns.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_report::Subject;
    use tardy_stats::ab::{Question, compare};
    use tardy_stats::{Counted, Sample};

    /// Blocks of latencies around this, ns.
    fn sample(name: &str, from_ns: u64, random: &mut fastrand::Rng) -> Sample {
        let mut block = || {
            // What neighbours share.
            let shared = random.u64(0..2_000);
            Counted::of_values((0..200).map(|_| from_ns + shared + random.u64(0..10_000)))
        };
        Sample {
            name: name.to_owned(),
            blocks: std::iter::repeat_with(&mut block).take(16).collect(),
            resolution_ns: 1,
        }
    }

    fn tried(from_ns: [u64; 2], random: &mut fastrand::Rng) -> Compared {
        let [a, b] = from_ns.map(|ns| sample("x", ns, random));
        let question = Question { paired: true, resamples: 500, ..Question::default() };
        let comparisons = vec![compare(&a, &b, &question)];
        Compared {
            sides: Vec::new(),
            subjects: vec![Subject {
                name: String::new(),
                sides: Vec::new(),
                comparisons,
                changes: Vec::new(),
            }],
            settings: tardy_report::SettingsCompared::default(),
            changes: Vec::new(),
            gates: Vec::new(),
            warnings: Vec::new(),
            page: None,
        }
    }

    #[test]
    fn what_helps_is_kept_and_what_harms_is_not() {
        let mut random = fastrand::Rng::with_seed(1);
        let better = tried([50_000, 20_000], &mut random);
        let is_told = |told: &str, word| told.contains(word) && told.contains("(95 %: 2");
        assert!(
            matches!(decide(&better, None), Decision::Helped(told) if is_told(&told, "earlier"))
        );
        let worse = tried([20_000, 50_000], &mut random);
        assert!(matches!(decide(&worse, None), Decision::Harmed(told) if is_told(&told, "later")));
        let gate = |bound| Gate { bound, figure: Figure::Quantile(0.9) };
        let gain = figures(&better);
        assert!(
            gain.iter().all(|it| it["shown"] == true && it["gain_ns"]["low"].as_f64() > Some(0.0))
        );
        assert_eq!(wakeups(&better), [16 * 200; 2]);
        let asked = |ns| decide(&better, Some(&gate(Bound::Ns(ns))));
        assert!(matches!(asked(20_000), Decision::Helped(_)), "{:?}", asked(20_000));
        assert!(matches!(asked(40_000), Decision::NotShown(_)));
        let share = |share| decide(&better, Some(&gate(Bound::Share(share))));
        assert!(matches!(share(0.3), Decision::Helped(_)));
        assert!(matches!(share(0.9), Decision::NotShown(_)));
    }

    #[test]
    fn a_placebo_is_rejected() {
        let mut random = fastrand::Rng::with_seed(2);
        let kept = (0..100).filter(|_| {
            matches!(decide(&tried([20_000, 20_000], &mut random), None), Decision::Helped(_))
        });
        let kept = kept.count();
        assert!(kept <= 5, "{kept} of 100");
    }
}
