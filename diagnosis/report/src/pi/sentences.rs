//! What a measurement of a lock amounts to, in sentences.

use super::BoostsSeen;
use crate::units::{count, counted, duration, whole_percent};
use tardy_lab::pi::{LONG_ROUND_NS, PiMeasurement, Throttling};

/// What the figures mean, and what a reader must know besides; a sentence or two each.
pub fn pi_sentences(m: &PiMeasurement, boosts: &Result<BoostsSeen, String>) -> Vec<String> {
    let mut sentences = vec![];
    sentences.extend(longest(m));
    if m.jitter.count() > 0 {
        sentences.push(contended(m));
    }
    sentences.push(low(m));
    match boosts {
        Ok(seen) => sentences.extend(boosted(seen)),
        Err(why) => sentences.push(format!("Boosts per lock call: not known: {why}.")),
    }
    sentences.push(throttled(m));
    if m.shorter > 0 {
        sentences.push(format!(
            "{} took less than both loads should take, and counted as 0.",
            counted(m.shorter, "round")
        ));
    }
    if m.owners_died > 0 {
        sentences.push(format!("The lock's owner had died in {}.", counted(m.owners_died, "call")));
    }
    sentences.extend(m.notes.iter().cloned());
    sentences
}

fn longest(m: &PiMeasurement) -> Option<String> {
    m.worst.map(|worst| {
        format!(
            "Longest: {} in round {} of {}, {} of it in the lock call.",
            duration(worst.jitter_ns),
            count(worst.number),
            count(m.jitter.count()),
            duration(worst.to_lock_ns)
        )
    })
}

fn contended(m: &PiMeasurement) -> String {
    let share = m.slow_calls as f64 / m.jitter.count().max(1) as f64;
    format!(
        "Contended: at most {} of {} lock calls ({}), those that took {} or more, the least that \
         a call of the kernel takes here; High slept {} in these rounds.",
        count(m.slow_calls),
        count(m.jitter.count()),
        whole_percent(share),
        duration(m.kernel_call_ns),
        counted(m.sleeps, "time")
    )
}

fn low(m: &PiMeasurement) -> String {
    let rounds = counted(m.low_rounds, "round");
    if m.low_rounds < m.jitter.count() / 100 {
        return format!(
            "Low: only {rounds} meanwhile, so there was hardly any contention, because Low had no \
             CPU."
        );
    }
    format!("Low: {rounds} meanwhile.")
}

fn boosted(seen: &BoostsSeen) -> Vec<String> {
    if seen.calls == 0 {
        let mut sentences =
            vec!["Recorded: no lock call of High went to the kernel, so none boosted.".to_owned()];
        sentences.extend(seen.notes.iter().cloned());
        return sentences;
    }
    let shares = seen.by_boosts.iter().map(|&(boosts, calls)| {
        let share = whole_percent(calls as f64 / seen.calls as f64);
        format!("{} {} ({share})", counted(boosts, "boost"), count(calls))
    });
    let shares: Vec<_> = shares.collect();
    let figures: Vec<_> =
        seen.latencies.iter().map(|(name, ns)| format!("{name} {}", duration(*ns))).collect();
    let mut sentences = vec![format!(
        "Recorded: {} of High went to the kernel ({}), it slept in {}; with {}.",
        counted(seen.calls, "lock call"),
        figures.join(", "),
        count(seen.slept),
        shares.join(", with ")
    )];
    sentences.push(match (seen.double, seen.worst_double) {
        (0, _) | (_, None) => format!(
            "Double boosts: none in {}; other kernels and loads may differ.",
            counted(seen.calls, "call")
        ),
        (double, Some((at_ns, ns))) => format!(
            "Double boosts: {} of {}, the longest call {} (at {at_ns} ns).",
            count(double),
            counted(seen.calls, "call"),
            duration(ns)
        ),
    });
    sentences.extend(seen.double_words.iter().cloned());
    if seen.touched_by_loss > 0 {
        sentences.push(format!(
            "Lost events may hide a part of {}.",
            counted(seen.touched_by_loss, "call")
        ));
    }
    sentences.extend(seen.notes.iter().cloned());
    sentences
}

fn throttled(m: &PiMeasurement) -> String {
    let Throttling { rt_runtime_us, rt_period_us, fair_server_ns } = m.throttling;
    let how = match (rt_runtime_us, rt_period_us, fair_server_ns) {
        (_, _, Some(ns)) if ns > 0 => format!(" (a fair server of {})", duration(ns)),
        (Some(runtime), Some(period), _) if runtime >= 0 => {
            format!(" ({} of {} ms)", runtime / 1000, period / 1000)
        }
        _ => String::new(),
    };
    let state = match m.throttling.is_on() {
        Some(true) => format!("Throttling of real-time threads is on{how}"),
        Some(false) => "Throttling of real-time threads is off".to_owned(),
        None => "Whether real-time threads are throttled is not known".to_owned(),
    };
    let limit = duration(LONG_ROUND_NS);
    if m.long_rounds_preempted > 0 {
        format!(
            "{state}; High lost its CPU though it could run in {} of {limit} or more: to \
             throttling, or to a thread above it.",
            counted(m.long_rounds_preempted, "round")
        )
    } else if m.long_rounds > 0 {
        format!(
            "{state}; {} took {limit} or more, and High lost its CPU in none of them: it slept, \
             or an interrupt or a hypervisor took the time.",
            counted(m.long_rounds, "round")
        )
    } else {
        format!("{state}; no round shows it.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pi::fixture::{measurement, seen};

    fn one(m: &PiMeasurement, boosts: &Result<BoostsSeen, String>, begin: &str) -> String {
        let sentences = pi_sentences(m, boosts);
        let found = sentences.iter().find(|sentence| sentence.starts_with(begin));
        found.unwrap_or_else(|| panic!("{begin}: {sentences:#?}")).clone()
    }

    #[test]
    fn throttling_is_told_as_it_was_seen() {
        let mut m = measurement();
        let none = Err("x".to_owned());
        assert!(one(&m, &none, "Throttling").contains(
            "950 of 1000 ms); High lost its CPU though it could run in 1 round of 500.0 µs"
        ));
        m.long_rounds_preempted = 0;
        assert!(one(&m, &none, "Throttling").contains("High lost its CPU in none of them"));
        m.long_rounds = 0;
        m.throttling.rt_runtime_us = Some(-1);
        assert!(one(&m, &none, "Whether").ends_with("not known; no round shows it."));
        m.throttling.fair_server_ns = Some(0);
        assert!(one(&m, &none, "Throttling").contains("is off"));
        m.throttling.fair_server_ns = Some(50_000_000);
        assert!(one(&m, &none, "Throttling").contains("on (a fair server of 50.00 ms)"));
    }

    #[test]
    fn a_low_that_had_no_cpu_is_told() {
        let mut m = measurement();
        let none = Err("x".to_owned());
        assert_eq!(one(&m, &none, "Low"), "Low: 99,000 rounds meanwhile.");
        m.low_rounds = 3;
        assert!(
            one(&m, &none, "Low")
                .contains("only 3 rounds meanwhile, so there was hardly any contention")
        );
    }

    #[test]
    fn no_double_boost_is_not_told_as_a_proof() {
        let mut seen = seen();
        (seen.double, seen.worst_double, seen.double_words) = (0, None, None);
        let m = measurement();
        let told = one(&m, &Ok(seen.clone()), "Double boosts");
        assert!(told.contains("none in 1,000 calls; other kernels"));
        seen.calls = 0;
        assert!(one(&m, &Ok(seen), "Recorded").contains("no lock call"));
    }

    #[test]
    fn one_that_ended_at_once_has_no_longest_round() {
        let mut m = measurement();
        (m.worst, m.jitter) = (None, tardy_stats::Latencies::default());
        let sentences = pi_sentences(&m, &Err("x".to_owned()));
        assert!(
            sentences
                .iter()
                .all(|sentence| !sentence.starts_with("Longest")
                    && !sentence.starts_with("Contended"))
        );
    }
}
