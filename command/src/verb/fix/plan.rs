//! From what makes a thread late to remedies that fit, in the order in which they are tried.

use crate::failure::Failure;
use crate::output;
use std::collections::BTreeSet;
use tardy_changes::{Change, KNOWN, Whom, about};
use tardy_explain::Explanation;
use tardy_model::Cause;
use tardy_remedy::{Remedy, Setting, System, commands_for, next_boot, remedy};
use tardy_whatif::WhatIf;

/// What a change is expected to gain, as shares of the lateness, 0–1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gain {
    /// Of the worst 1 % of wakeups.
    pub(super) worst: f64,
    /// Of all of them.
    pub(super) all: f64,
    /// How that is known: "at best", "predicted".
    pub(super) how: &'static str,
    /// Where the gain of the worst 1 % is in 90 of 100 predictions.
    pub(super) range: Option<(f64, f64)>,
}

impl Gain {
    /// What it gains, in a clause.
    pub(super) fn in_words(&self) -> String {
        let Some((low, high)) = self.range else {
            if self.worst == 0.0 {
                return "nothing is predicted".to_owned();
            }
            let percent = self.worst * 100.0;
            return format!("{} {percent:.0} % of the lateness of the worst 1 %", self.how);
        };
        let (falls, may) = (less(self.worst), if low < 0.0 { ", or may not help" } else { "" });
        format!(
            "the mean of the worst 1 % is {} to be {falls} late{may} (90 of 100 predictions: {} to {})",
            self.how,
            end(low),
            end(high)
        )
    }

    /// Whether it is predicted to make the worst wakeups later, or nothing earlier.
    fn is_harm(&self) -> bool {
        let harms = self.worst < 0.0 || (self.worst <= 0.0 && self.all <= 0.0);
        self.range.is_some() && harms
    }
}

/// A share that lateness falls by: `87 % less`; where it rises, `16 % more`, or `2.2 times as`.
fn less(share: f64) -> String {
    let percent = share * 100.0;
    match share {
        ..-1.0 => format!("{:.1} times as", 1.0 - share),
        ..0.0 => format!("{:.0} % more", -percent),
        0.995.. => "over 99 % less".to_owned(),
        _ => format!("{percent:.0} % less"),
    }
}

/// The same as an end of a range.
fn end(share: f64) -> String {
    let text = less(share);
    if text.ends_with(" as") { text + " late" } else { text }
}

/// Who tells what a change gains.
pub(super) trait Forecast {
    /// What a change gains that was advised against a cause.
    fn gain(&self, advice: &tardy_explain::Advice, change: &Change) -> Gain;
}

/// Nothing is gained beyond what the cause took.
pub(super) struct AtBest;

impl Forecast for AtBest {
    fn gain(&self, advice: &tardy_explain::Advice, _: &Change) -> Gain {
        Gain { worst: advice.worst_gain, all: advice.gain, how: "at best", range: None }
    }
}

/// What a simulation of the recording says; where it cannot tell, no more than at best.
impl Forecast for WhatIf {
    fn gain(&self, advice: &tardy_explain::Advice, change: &Change) -> Gain {
        let predicted = self.predict(std::slice::from_ref(change)).ok();
        let Some(prediction) = predicted.filter(|prediction| !prediction.is_unsure) else {
            return AtBest.gain(advice, change);
        };
        let [mean, .., worst, _] = *prediction.own();
        let share = |ns: f64| 1.0 - ns / worst.recorded_ns.max(1.0);
        Gain {
            worst: -worst.change(),
            all: -mean.change(),
            how: "predicted",
            range: Some((share(worst.high_ns), share(worst.low_ns))),
        }
    }
}

/// A remedy that fits.
pub(super) struct Candidate {
    pub(super) change: Change,
    /// What it is against, the cause that took most of the worst wakeups first.
    pub(super) causes: Vec<Cause>,
    pub(super) gain: Gain,
    pub(super) remedy: &'static dyn Remedy,
    /// What it sets now; or why it cannot be had here.
    pub(super) settings: Result<Vec<Setting>, String>,
    /// Somebody named it as it is: a name in it is for all who have it.
    pub(super) is_asked: bool,
    /// The number of the process that stands in for a victim that is started only to be tried.
    stand_in: Option<u32>,
}

impl Candidate {
    /// What it is against, in words.
    pub(super) fn against(&self) -> String {
        let names: Vec<&str> = self.causes.iter().map(|cause| cause.0).collect();
        match &names[..] {
            [] => "nothing".to_owned(),
            [one] => (*one).to_owned(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }

    /// What a person types, a line each.
    pub(super) fn commands(&self) -> Vec<String> {
        let stand_in = self.stand_in.filter(|_| self.change.whom() == Some(&Whom::Victim));
        let stand_in = stand_in.map(|number| (number, "PID"));
        self.settings.as_deref().map(|all| commands_for(all, stand_in)).unwrap_or_default()
    }

    /// The parameter of the kernel's command line that does it.
    pub(super) fn next_boot(&self) -> Option<String> {
        next_boot(&self.change)
    }
}

/// Whose lateness it is.
pub(super) struct Whose<'a> {
    /// The late threads that run now.
    pub(super) threads: &'a [u32],
    /// The processes that had a part in their lateness.
    pub(super) culprits: &'a BTreeSet<u32>,
    /// They are of a command that is started for each trial.
    pub(super) is_started: bool,
}

/// Those that fit, the most gain first; what gains the same stays in the order of the advice. A change that is for
/// several causes is there once, with all of them.
pub(super) fn candidates(
    explanation: &Explanation,
    whom: &Whose<'_>,
    forecast: &dyn Forecast,
    only: &[String],
) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let stand_in = whom.is_started.then(std::process::id);
    let everywhere = System::new(stand_in.map_or_else(|| whom.threads.to_vec(), |own| vec![own]));
    let among = everywhere.clone().among(whom.culprits.clone());
    for advice in &explanation.advice {
        // Who looks on was in the way, and is gone then.
        let is_own = |change: &&Change| change.whom() == Some(&Whom::Id(std::process::id()));
        for change in advice.changes.iter().filter(|change| !is_own(change)) {
            let is_wanted = only.is_empty() || only.iter().any(|name| is_named(change, name));
            if let Some(known) = found.iter_mut().find(|candidate| candidate.change == *change) {
                known.causes.push(advice.cause);
                if known.gain.range.is_none() {
                    // What it takes away at best is of all of them.
                    known.gain.worst = (known.gain.worst + advice.worst_gain).min(1.0);
                    known.gain.all = (known.gain.all + advice.gain).min(1.0);
                }
                continue;
            }
            let Some(remedy) = remedy::of(change.name()).filter(|_| is_wanted) else {
                continue;
            };
            let is_asked = only.contains(&change.to_string());
            let system = if is_asked { &everywhere } else { &among };
            let settings = remedy.settings(change, system).map_err(|why| why.to_string());
            let gain = forecast.gain(advice, change);
            found.push(Candidate {
                change: change.clone(),
                causes: vec![advice.cause],
                gain,
                remedy,
                settings,
                is_asked,
                stand_in,
            });
        }
    }
    for change in only.iter().filter_map(|text| as_asked(text)) {
        // Whoever names one may try it whatever the advice is.
        if let Some(remedy) = remedy::of(change.name())
            && !found
                .iter()
                .any(|it| it.change == change || only.iter().any(|name| it.change.name() == name))
        {
            let settings = remedy.settings(&change, &everywhere).map_err(|why| why.to_string());
            let gain = Gain { worst: 0.0, all: 0.0, how: "as asked", range: None };
            found.push(Candidate {
                change,
                causes: Vec::new(),
                gain,
                remedy,
                settings,
                is_asked: true,
                stand_in,
            });
        }
    }
    let worst_share = |cause: &Cause| {
        let of = explanation.causes.iter().find(|found| found.cause == *cause);
        of.map_or(0.0, |found| found.worst_share)
    };
    for candidate in &mut found {
        candidate.causes.sort_by(|a, b| worst_share(b).total_cmp(&worst_share(a)));
    }
    // What is predicted to harm is for whoever names it.
    found.retain(|candidate| !only.is_empty() || !candidate.gain.is_harm());
    // What was predicted to help comes before what may, at best.
    let is_told =
        |candidate: &Candidate| candidate.gain.range.is_some() && candidate.gain.worst > 0.0;
    found.sort_by(|a, b| {
        let told = is_told(b).cmp(&is_told(a));
        let worst = b.gain.worst.total_cmp(&a.gain.worst);
        told.then(worst).then(b.gain.all.total_cmp(&a.gain.all))
    });
    found
}

/// What is against this cause comes before all else, in the order that it has.
pub(super) fn put_first(candidates: &mut [Candidate], cause: &str) {
    candidates.sort_by_key(|candidate| !candidate.causes.iter().any(|it| it.0 == cause));
}

/// Whether there is a remedy of this name, or one that does this change.
pub(super) fn must_be_known(text: &str) -> Result<(), Failure> {
    let name = about(text).map(|about| about.name);
    let written = || text.parse::<Change>().ok().map(|change| change.name());
    if name.or_else(written).is_some_and(|name| remedy::of(name).is_some()) {
        return Ok(());
    }
    let all: Vec<&str> =
        KNOWN.iter().map(|about| about.name).filter(|name| remedy::of(name).is_some()).collect();
    let text = output::one_line(text);
    Err(Failure::usage(format!(
        "--only {text}: tardy makes no such change; it makes {}",
        all.join(", ")
    )))
}

/// A change that was asked for by itself, or by a name that stands for one change of the system or the victim.
fn as_asked(text: &str) -> Option<Change> {
    let change: Change = about(text).map_or(text, |about| about.example).parse().ok()?;
    let is_by_itself = about(text).is_none() || matches!(change.whom(), None | Some(Whom::Victim));
    is_by_itself.then_some(change)
}

/// Whether a change is meant by a name, or by itself.
fn is_named(change: &Change, name: &str) -> bool {
    change.name() == name || change.to_string() == name
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn gain(worst: f64, range: Option<(f64, f64)>) -> Gain {
        Gain { worst, all: 0.1, how: if range.is_some() { "predicted" } else { "at best" }, range }
    }

    pub(in super::super) fn candidate(change: &str, causes: &[&'static str]) -> Candidate {
        let change: Change = change.parse().unwrap();
        Candidate {
            remedy: remedy::of(change.name()).unwrap(),
            change,
            causes: causes.iter().map(|cause| Cause(cause)).collect(),
            gain: gain(0.1, None),
            settings: Ok(Vec::new()),
            is_asked: false,
            stand_in: None,
        }
    }

    #[test]
    fn a_gain_says_how_it_is_known_and_how_sure() {
        assert_eq!(
            [
                gain(0.92, Some((0.8, 0.999))),
                gain(0.92, Some((-1.2, 0.97))),
                gain(-0.3, Some((-0.5, 0.1))),
                gain(0.4, None),
                gain(0.0, None),
            ]
            .map(|gain| gain.in_words()),
            [
                "the mean of the worst 1 % is predicted to be 92 % less late (90 of 100 predictions: 80 % less to over 99 % less)",
                "the mean of the worst 1 % is predicted to be 92 % less late, or may not help (90 of 100 predictions: 2.2 times \
                 as late to 97 % less)",
                "the mean of the worst 1 % is predicted to be 30 % more late, or may not help (90 of 100 predictions: 50 % more \
                 to 10 % less)",
                "at best 40 % of the lateness of the worst 1 %",
                "nothing is predicted",
            ]
        );
    }

    #[test]
    fn what_is_against_a_cause_comes_first_and_the_rest_stays() {
        let mut all = [
            candidate("preempt=full", &["not_preemptible"]),
            candidate("slack(victim)=1ns", &["slack"]),
            candidate("prio(victim)=fifo:50", &["cpu_contention", "higher_priority"]),
        ];
        put_first(&mut all, "higher_priority");
        let names = all.each_ref().map(|candidate| candidate.change.name());
        assert_eq!(names, ["prio", "preempt", "slack"]);
    }

    #[test]
    fn what_makes_the_worst_later_is_no_plan() {
        assert!(gain(-0.01, Some((-0.1, 0.1))).is_harm());
        assert!(!gain(0.01, Some((-0.1, 0.1))).is_harm() && !gain(-0.01, None).is_harm());
    }
}
