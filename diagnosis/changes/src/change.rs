//! One change as it is written: `NAME`, `NAME=VALUE`, `NAME(WHOM)`, `NAME(WHOM)=VALUE`.

use crate::known::{About, Form, KNOWN, Target, about};
use crate::{CpuList, Scheduling, Whom, written_ns};
use std::fmt;
use std::str::FromStr;

/// What is to be changed. What it is set to was found well written for its [`Form`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    about: &'static About,
    whom: Option<Whom>,
    value: Option<String>,
}

/// Why it is no change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// None has that name.
    #[error("there is no change \"{0}\"; there are {known}", known = names())]
    Unknown(String),
    /// It has no target, one too many, or one that cannot be.
    #[error("{name} {what}: write {example}")]
    Target {
        /// The change.
        name: &'static str,
        /// What is wrong.
        what: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// Its value is missing or cannot be.
    #[error("{name}: {what}: write {example}")]
    Value {
        /// The change.
        name: &'static str,
        /// What is wrong.
        what: String,
        /// How it is written.
        example: &'static str,
    },
}

fn names() -> String {
    let names: Vec<&str> = KNOWN.iter().map(|about| about.name).collect();
    names.join(", ")
}

impl Change {
    /// Makes one.
    ///
    /// # Errors
    /// Says what of it cannot be, and how it is written.
    pub fn new(
        about: &'static About,
        whom: Option<Whom>,
        value: Option<String>,
    ) -> Result<Self, ChangeError> {
        let target = |what| ChangeError::Target { name: about.name, what, example: about.example };
        match (about.target, &whom) {
            (Target::System, Some(_)) => return Err(target("applies to the whole system")),
            (Target::System, None) => {}
            (_, None) => return Err(target("must say for whom")),
            (Target::Threads | Target::Group, Some(Whom::Irq(_))) => {
                return Err(target("does not apply to interrupts"));
            }
            _ => {}
        }
        let wrong =
            |what: String| ChangeError::Value { name: about.name, what, example: about.example };
        match (&value, about.form) {
            (Some(_), Form::None) => return Err(wrong("it takes no value".to_owned())),
            (None, Form::None) => {}
            (None, _) => return Err(wrong("it needs a value".to_owned())),
            (Some(value), form) => {
                if let Some(must) = must_be(form, value) {
                    return Err(wrong(format!("\"{value}\" is not {must}")));
                }
            }
        }
        Ok(Self { about, whom, value })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// What is known of it.
    #[must_use]
    pub fn about(&self) -> &'static About {
        self.about
    }

    /// Whom it is for.
    #[must_use]
    pub fn whom(&self) -> Option<&Whom> {
        self.whom.as_ref()
    }

    /// What it is, as one would say it: "timer slack 1ns for the late threads". Holds names from traces.
    #[must_use]
    pub fn in_words(&self) -> String {
        self.in_words_by(|_| None)
    }

    /// The same, where threads that it names by number have names.
    #[must_use]
    pub fn in_words_by(&self, name_of: impl Fn(u32) -> Option<String>) -> String {
        let of = match &self.whom {
            None => String::new(),
            Some(Whom::Victim) => "the late threads".to_owned(),
            Some(whom @ Whom::Id(id)) => match name_of(*id) {
                Some(name) => format!("{name} ({id})"),
                None => whom.to_string(),
            },
            Some(whom) => whom.to_string(),
        };
        let policy = self.scheduling().filter(|_| self.about.form == Form::Scheduling);
        let to = policy.map_or_else(|| self.word().to_owned(), Scheduling::in_words);
        // What is put in may hold braces itself.
        let (before, after) = self.about.words.split_once("{of}").unwrap_or((self.about.words, ""));
        let [before, after] = [before, after].map(|text| text.replace("{to}", &to));
        if self.about.words.contains("{of}") { before + &of + &after } else { before }
    }

    /// What it is set to, as it was written.
    #[must_use]
    pub fn word(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// The time it is set to, ns; `None` where it is `off` or no time.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        written_ns(self.word())
    }

    /// The scheduling policy it is set to.
    #[must_use]
    pub fn scheduling(&self) -> Option<Scheduling> {
        Scheduling::parse(self.word())
    }

    /// The CPUs it is set to.
    #[must_use]
    pub fn cpus(&self) -> Option<CpuList> {
        CpuList::parse(self.word()).filter(|cpus| !cpus.is_empty())
    }

    /// The number it is set to.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.word().parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
    }

    /// The time and the period it is set to, ns; `None` where it is `off`.
    #[must_use]
    pub fn bandwidth_ns(&self) -> Option<(u64, u64)> {
        let (runtime, period) = self.word().split_once('/')?;
        let (runtime_ns, period_ns) = (written_ns(runtime)?, written_ns(period)?);
        (runtime_ns > 0 && period_ns > 0).then_some((runtime_ns, period_ns))
    }
}

/// Why changes cannot be made together: two of them are one change of the same threads, and the second would be all that
/// is left; or one removes the threads that another is for.
#[must_use]
pub fn clash(changes: &[Change]) -> Option<String> {
    let removes = |change: &Change| change.name() == "remove";
    let clashes = |one: &Change, other: &Change| {
        one.whom == other.whom && (one.name() == other.name() || removes(one) || removes(other))
    };
    changes.iter().enumerate().find_map(|(at, one)| {
        let other = changes[..at].iter().find(|other| clashes(one, other))?;
        Some(format!("{other} and {one} cannot be made together: name one of them"))
    })
}

/// What a value of this form has to be, where it is not.
fn must_be(form: Form, value: &str) -> Option<String> {
    let is_off = value == "off";
    let bandwidth = || {
        let (runtime, period) = value.split_once('/')?;
        (written_ns(runtime)? > 0 && written_ns(period)? > 0).then_some(())
    };
    let (is_well, must) = match form {
        Form::Time => (written_ns(value).is_some(), "a time"),
        Form::TimeOrOff => (is_off || written_ns(value).is_some(), "a time or off"),
        Form::Scheduling => (Scheduling::parse(value).is_some(), "a scheduling policy"),
        Form::Cpus => {
            (CpuList::parse(value).is_some_and(|cpus| !cpus.is_empty()), "a list of CPUs")
        }
        Form::Number => (
            value.parse().is_ok_and(|number: f64| number > 0.0 && number.is_finite()),
            "a number above 0",
        ),
        Form::Bandwidth => (is_off || bandwidth().is_some(), "a time in a period or off"),
        Form::OneOf(words) if !words.contains(&value) => {
            return Some(format!("one of {}", words.join(", ")));
        }
        Form::None | Form::OneOf(_) => (true, ""),
        Form::Word => (!value.is_empty(), "a word"),
    };
    (!is_well).then(|| must.to_owned())
}

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let text = text.trim();
        let end = text.find(['(', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let about = about(name.trim()).ok_or_else(|| ChangeError::Unknown(name.to_owned()))?;
        let target = |what| ChangeError::Target { name: about.name, what, example: about.example };
        let (whom, rest) = match rest.strip_prefix('(') {
            None => (None, rest),
            Some(inner) => {
                let (whom, rest) = inner.split_once(')').ok_or_else(|| target("lacks a )"))?;
                (Some(Whom::parse(whom).ok_or_else(|| target("names nobody"))?), rest.trim())
            }
        };
        let value = match (rest.strip_prefix('='), rest) {
            (Some(value), _) => Some(value.trim().to_owned()),
            (None, "") => None,
            (None, _) => return Err(target("does not end in =VALUE")),
        };
        Self::new(about, whom, value)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)?;
        if let Some(whom) = &self.whom {
            write!(f, "({whom})")?;
        }
        if let Some(value) = &self.value {
            write!(f, "={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Change {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn in_words_it_is_what_one_would_say() {
        for (written, said) in [
            ("prio(victim)=fifo:50", "SCHED_FIFO 50 for the late threads"),
            ("prio(a{to}b)=other", "SCHED_OTHER for a{to}b"),
            ("slack(victim)=1ns", "timer slack 1ns for the late threads"),
            ("remove(hackbench)", "without hackbench"),
            ("affinity(irq 24)=0,2", "irq 24 on CPU 0,2 only"),
            ("more(storm)=30", "30 more of storm"),
            ("slower(hog)=0.5", "intervals of hog 0.5 times as long"),
            ("no-theft", "a host that takes no time"),
        ] {
            assert_eq!(read(written).in_words(), said);
        }
    }

    #[test]
    fn a_number_has_a_name_where_somebody_knows_one() {
        let name_of = |id| (id == 7).then(|| "hog".to_owned());
        assert_eq!(read("prio(7)=idle").in_words_by(name_of), "SCHED_IDLE for hog (7)");
        assert_eq!(read("prio(8)=idle").in_words_by(name_of), "SCHED_IDLE for 8");
    }

    #[test]
    fn one_change_is_made_once() {
        let clash = |written: &[&str]| {
            super::clash(&written.iter().map(|text| read(text)).collect::<Vec<_>>())
        };
        assert!(clash(&["affinity(victim)=0", "prio(victim)=fifo:1", "affinity(hog)=0"]).is_none());
        assert!(clash(&["remove(hog)", "prio(victim)=fifo:1", "timers=deferred"]).is_none());
        for gone in [["remove(hog)", "more(hog)=3"], ["prio(hog)=other", "remove(hog)"]] {
            assert!(clash(&gone).unwrap().contains("cannot be made together"));
        }
        let said = clash(&["affinity(victim)=0", "thp=never", "affinity(victim)=1"]).unwrap();
        assert!(said.starts_with("affinity(victim)=0 and affinity(victim)=1"), "{said}");
    }

    #[test]
    fn every_example_reads_and_is_written_alike() {
        for about in KNOWN {
            let change = read(about.example);
            assert_eq!(change.to_string(), about.example);
            let words = change.in_words();
            assert!(!words.contains(['{', '}']) && !words.contains("victim"), "{words}");
            assert_eq!(change.name(), about.name);
        }
        assert!(KNOWN.is_sorted_by_key(|about| about.name));
    }

    #[test]
    fn values_are_what_they_say() {
        assert_eq!(read("slack(29014)=1.5us").time_ns(), Some(1_500));
        assert_eq!(read("prio(hackbench)=0").scheduling(), Some(Scheduling::Other(0)));
        assert_eq!(read("prio(victim)=50").scheduling(), Some(Scheduling::Fifo(50)));
        assert_eq!(read("affinity(irq 24)=0-2").cpus().unwrap().len(), 3);
        assert_eq!(read("rt-runtime=off").bandwidth_ns(), None);
        assert_eq!(read("rt-runtime=900ms/1s").bandwidth_ns(), Some((900_000_000, 1_000_000_000)));
        assert_eq!(read("affinity(irq 24)=1").whom(), Some(&Whom::Irq(24)));
    }

    #[test]
    fn what_cannot_be_says_how_it_is_written() {
        for (text, part) in [
            ("nope=1", "there is no change \"nope\"; there are affinity, "),
            ("slack=1ns", "slack must say for whom: write slack(victim)=1ns"),
            ("slack(irq 3)=1ns", "slack does not apply to interrupts"),
            ("slack(victim)=1", "slack: \"1\" is not a time"),
            ("slack(victim)", "it needs a value"),
            ("slack(victim=1ns", "slack lacks a )"),
            ("slack()=1ns", "slack names nobody"),
            ("slack(victim)1ns", "does not end in =VALUE"),
            ("no-theft=1", "it takes no value"),
            ("preempt(victim)=full", "preempt applies to the whole system"),
            ("preempt=most", "\"most\" is not one of none, voluntary, lazy, full, rt"),
            ("prio(a)=fifo:100", "is not a scheduling policy"),
            ("affinity(a)=3-1", "is not a list of CPUs"),
            ("cpu-max(a)=0ms/1ms", "is not a time in a period or off"),
            ("more(a)=-1", "is not a number above 0"),
        ] {
            let error = text.parse::<Change>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_written_alike(text in ".{0,40}") {
            if let Ok(change) = text.parse::<Change>() {
                prop_assert_eq!(read(&change.to_string()), change);
            }
        }
    }
}
