//! What a comparison of sleeps amounts to, in sentences that the tests bear.

use super::differences::{in_words, probability};
use super::us;
use crate::units::duration;
use tardy_lab::sleep::{ALIKE_NS, Comparison, SlackFinding, SlackVerdict, SleepMeasurement};

/// The findings, most important first. Nothing is said to differ without the test.
pub fn sleep_sentences(measurement: &SleepMeasurement, comparison: &Comparison) -> Vec<String> {
    if measurement.rounds == 0 {
        return vec!["No round was finished, so there is nothing to compare.".to_owned()];
    }
    let mut sentences = alike(measurement, &comparison.by_mean, "mean");
    // Rare long delays make means uncertain, not medians.
    if comparison.by_median != comparison.by_mean {
        sentences.extend(alike(measurement, &comparison.by_median, "median"));
    }
    if sentences.is_empty() {
        sentences.push(format!(
            "No two methods are shown to differ by less than {}, in the mean or the median.",
            duration(ALIKE_NS as u64)
        ));
    }
    sentences.extend(comparison.slack.iter().map(|finding| slack(measurement, finding)));
    // Where there is no slack, that holds for all calls, in the same words.
    sentences.dedup();
    sentences.extend(early(measurement));
    sentences
}

fn alike(measurement: &SleepMeasurement, groups: &[Vec<usize>], what: &str) -> Vec<String> {
    let told = groups.iter().filter(|group| group.len() > 1);
    told.map(|group| {
        let names: Vec<String> =
            group.iter().map(|&place| format!("“{}”", measurement.methods[place].name())).collect();
        format!(
            "These {} differ by less than {} in the {what}: {}.",
            in_letters(group.len()),
            duration(ALIKE_NS as u64),
            names.join(", ")
        )
    })
    .collect()
}

fn slack(measurement: &SleepMeasurement, finding: &SlackFinding) -> String {
    let name = |place: usize| measurement.methods[place].name();
    let (with, without) = (name(finding.with), name(finding.without));
    let has = duration(measurement.slack_ns);
    match finding.verdict {
        SlackVerdict::IsTheSlack => format!(
            "“{with}” takes {} longer than “{without}” at the median, {} µs in the mean (p {}): \
             that is the thread's timer slack of {has}.",
            in_words(finding.median),
            us(finding.mean.value),
            probability(finding.p_adjusted),
        ),
        SlackVerdict::NotTheSlack => format!(
            "“{with}” and “{without}” differ by {} at the median, {} µs in the mean (p {}), which \
             the thread's timer slack of {has} alone does not explain.",
            in_words(finding.median),
            us(finding.mean.value),
            probability(finding.p_adjusted),
        ),
        SlackVerdict::NotToldApart => format!(
            "No difference between “{with}” and “{without}” was found (p {}), although the \
             thread's timer slack is {has}.",
            probability(finding.p_adjusted),
        ),
        SlackVerdict::NoSlack => format!(
            "The thread's timer slack is {has}{}, so a slack of 1 ns takes nothing away.",
            if measurement.prio > 0 { ", as for every real-time thread" } else { "" },
        ),
    }
}

fn early(measurement: &SleepMeasurement) -> Option<String> {
    let early: Vec<String> = measurement
        .methods
        .iter()
        .filter(|method| method.early > 0)
        .map(|method| format!("“{}” {} times", method.name(), method.early))
        .collect();
    (!early.is_empty())
        .then(|| format!("Sleeps ended too early, which must not happen: {}.", early.join(", ")))
}

fn in_letters(number: usize) -> String {
    const WORDS: [&str; 10] =
        ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(number).map_or_else(|| number.to_string(), |&word| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sleep::fixture;
    use tardy_lab::sleep::compare;

    fn sentences(slack_ns: u64, rounds: usize) -> Vec<String> {
        let measurement = fixture::measurement(slack_ns, rounds);
        sleep_sentences(&measurement, &compare(&measurement))
    }

    #[test]
    fn slack_is_named_where_it_is_one() {
        let sentences = sentences(50_000, 2_000);
        assert_eq!(
            sentences[0],
            "These three differ by less than 300 ns in the mean: “clock_nanosleep absolute, slack \
             1 ns”, “nanosleep, slack 1 ns”, “timerfd+read”."
        );
        assert!(sentences[1].starts_with("“nanosleep” takes 50.0 µs (95 % interval "));
        assert!(sentences[1].ends_with("that is the thread's timer slack of 50.0 µs."));
        assert_eq!(sentences.len(), 2);
    }

    #[test]
    fn and_not_where_there_is_none_or_too_little_was_seen() {
        let none = sentences(0, 2_000);
        assert!(none.last().unwrap().starts_with("The thread's timer slack is 0 ns"), "{none:?}");
        assert!(!none.iter().any(|sentence| sentence.contains("that is")));
        let few = sentences(50_000, 2);
        assert!(few.last().unwrap().contains("No difference between"), "{few:?}");
        assert_eq!(sentences(50_000, 0).len(), 1);
    }
}
