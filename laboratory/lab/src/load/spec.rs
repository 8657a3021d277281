//! From `storm:40,fifo+…` to loads.

use super::worker::Keeper;
use super::{KNOWN, Load, LoadError, Running, cmd};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;

/// The most loads in one specification.
pub const SPEC_LOADS_MAX: usize = 16;

/// Loads as written on a command line; shown, it is what parses to the same again.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    loads: Vec<Arc<dyn Load>>,
}

/// Why a specification is not understood.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// No load has this name.
    #[error(
        "there is no load `{name}`; there are none, {} (tardy load list describes each)",
        known()
    )]
    Unknown {
        /// What was written.
        name: String,
    },
    /// More than [`SPEC_LOADS_MAX`].
    #[error("{0} loads in one; at most {SPEC_LOADS_MAX}")]
    TooMany(usize),
    /// A number that is none, or not in range.
    #[error("{load}: {what} is `{value}`; it must be a number from {low} to {high}")]
    Number {
        /// Which load.
        load: String,
        /// Which number.
        what: String,
        /// What was written.
        value: String,
        /// The least allowed.
        low: u64,
        /// The most allowed.
        high: u64,
    },
    /// What is written is of the wrong kind.
    #[error("{load}: {what} is `{value}`; {must}")]
    Value {
        /// Which load.
        load: String,
        /// What of it.
        what: String,
        /// What was written.
        value: String,
        /// What it must be.
        must: String,
    },
    /// An option that the load does not have.
    #[error("{load} has no option `{option}`; it is written {usage}")]
    Option {
        /// Which load.
        load: String,
        /// What was written.
        option: String,
        /// How the load is written.
        usage: &'static str,
    },
}

fn known() -> String {
    KNOWN.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.trim() == "none" {
            return Ok(Self::default());
        }
        let parts = split_parts(text);
        let count = parts.len();
        if count > SPEC_LOADS_MAX {
            return Err(SpecError::TooMany(count));
        }
        let loads = parts.into_iter().map(|part| {
            let arguments = Arguments::split(part);
            let kind = KNOWN
                .iter()
                .find(|kind| kind.name == arguments.name)
                .ok_or_else(|| SpecError::Unknown { name: arguments.name.to_owned() })?;
            (kind.parse)(&arguments).map(Arc::from)
        });
        Ok(Self { loads: loads.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loads.is_empty() {
            return f.write_str("none");
        }
        for (index, load) in self.loads.iter().enumerate() {
            if index > 0 {
                f.write_str("+")?;
            }
            load.fmt(f)?;
        }
        Ok(())
    }
}

impl Spec {
    /// Whether this is `none`.
    pub fn is_none(&self) -> bool {
        self.loads.is_empty()
    }

    /// Each of them, as it is written.
    pub fn parts(&self) -> impl Iterator<Item = String> + '_ {
        self.loads.iter().map(ToString::to_string)
    }

    /// Whether whoever wrote it chose a program to be run, or a folder to be written to.
    pub fn is_of_its_authors_choice(&self) -> bool {
        self.parts().any(|part| {
            is_command(&part) || part.split([':', ',']).any(|option| option.starts_with("dir="))
        })
    }

    /// The same loads, each that has it with one more option, which wins over one of that name given
    /// before: for a flag that holds for all of them. `"fifo=2"` is `--fifo=2`.
    ///
    /// # Errors
    /// Where none of them has the option, or it is not understood.
    pub fn with_option(&self, option: &str) -> Result<Self, SpecError> {
        let mut loads = vec![];
        let mut not_had = None;
        let mut is_had = self.is_none();
        for load in &self.loads {
            let text = load.to_string();
            let with_it = if is_command(&text) {
                Err(Arguments::split(&text).no_option(option, cmd::USAGE))
            } else {
                format!("{text},{option}").parse::<Self>()
            };
            match with_it {
                Ok(spec) => {
                    is_had = true;
                    loads.extend(spec.loads);
                }
                Err(error @ SpecError::Option { .. }) => {
                    not_had.get_or_insert(error);
                    loads.push(Arc::clone(load));
                }
                Err(error) => return Err(error),
            }
        }
        match not_had {
            Some(error) if !is_had => Err(error),
            _ => Ok(Self { loads }),
        }
    }

    /// Starts all of them.
    ///
    /// # Errors
    /// Where one could not be started; then none runs on.
    pub fn start(&self) -> Result<Running, LoadError> {
        let loads = self.loads.iter().map(|load| load.start()).collect::<Result<_, _>>()?;
        Ok(Running { loads })
    }

    /// What the only load of this does in its own process.
    pub(super) fn run_in(&self, keeper: &Keeper) -> Result<(), String> {
        self.loads.iter().try_for_each(|load| load.run(keeper))
    }

    /// Whether what is beneath that process is asked to end before it is made to.
    pub(super) fn ends_politely(&self) -> bool {
        self.loads.iter().any(|load| load.ends_politely())
    }
}

/// Whether this part is a command, which is not cut into arguments.
fn is_command(part: &str) -> bool {
    part.trim_start().strip_prefix(cmd::NAME).is_some_and(|rest| rest.starts_with(':'))
}

/// The loads, between the `+`. Those that are inside quotes of a command are its own.
fn split_parts(text: &str) -> Vec<&str> {
    let mut parts = vec![];
    let mut rest = text;
    loop {
        let end = if is_command(rest) { cmd::end_of(rest) } else { rest.find('+') };
        let Some(end) = end else { break };
        parts.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    parts.push(rest);
    parts
}

/// `name[:count][,option[=value]]…`, cut but not understood.
pub(super) struct Arguments<'a> {
    pub(super) name: &'a str,
    /// What stands behind the colon.
    pub(super) behind_name: Option<&'a str>,
    /// Option and value, as written.
    pub(super) options: Vec<(&'a str, Option<&'a str>)>,
    /// All of it behind `name:`, uncut.
    pub(super) rest: &'a str,
}

impl<'a> Arguments<'a> {
    fn split(text: &'a str) -> Self {
        let mut parts = text.split(',').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let (name, behind_name) = cut(head, ':');
        let rest = cut(text, ':').1.unwrap_or_default();
        Self { name, behind_name, options: parts.map(|option| cut(option, '=')).collect(), rest }
    }

    /// A number within bounds.
    pub(super) fn number(
        &self,
        what: &str,
        value: &str,
        low: u64,
        high: u64,
    ) -> Result<u64, SpecError> {
        self.within(what, value, value.parse().ok(), low, high)
    }

    /// The number behind the name, from 1; where none is written, `usual`.
    pub(super) fn count(&self, what: &str, usual: u64, high: u64) -> Result<u64, SpecError> {
        self.behind_name.map_or(Ok(usual), |count| {
            self.number(&format!("the number of {what}"), count, 1, high)
        })
    }

    /// `fifo`, or `fifo=PRIO`: the priority.
    pub(super) fn fifo_prio(&self, value: Option<&str>) -> Result<u8, SpecError> {
        self.number("fifo", value.unwrap_or("1"), 1, 99).map(|prio| prio as u8)
    }

    /// `seed=S`.
    pub(super) fn seed(&self, value: &str) -> Result<u64, SpecError> {
        self.number("seed", value, 0, u64::MAX)
    }

    /// `kind=NAME`, wherever it stands, as it says what other options there are; the first that is known
    /// where it is not written.
    pub(super) fn kind<T>(
        &self,
        known: &'static [T],
        name: impl Fn(&T) -> &'static str,
        usage: &'static str,
    ) -> Result<&'static T, SpecError> {
        let mut chosen = &known[0];
        for &(option, value) in self.options.iter().filter(|(option, _)| *option == "kind") {
            let found = known.iter().find(|kind| value == Some(name(kind)));
            let written = || value.map_or(option.to_owned(), |value| format!("{option}={value}"));
            chosen = found.ok_or_else(|| self.no_option(&written(), usage))?;
        }
        Ok(chosen)
    }

    /// What was read of `value`, if it is within bounds.
    pub(super) fn within(
        &self,
        what: &str,
        value: &str,
        number: Option<u64>,
        low: u64,
        high: u64,
    ) -> Result<u64, SpecError> {
        number.filter(|number| (low..=high).contains(number)).ok_or_else(|| SpecError::Number {
            load: self.name.to_owned(),
            what: what.to_owned(),
            value: value.to_owned(),
            low,
            high,
        })
    }

    /// The error for a value of the wrong kind; `must` says what would do.
    pub(super) fn wrong(&self, what: &str, value: &str, must: &str) -> SpecError {
        SpecError::Value {
            load: self.name.to_owned(),
            what: what.to_owned(),
            value: value.to_owned(),
            must: must.to_owned(),
        }
    }

    /// The error for an option that the load does not have.
    pub(super) fn no_option(&self, option: &str, usage: &'static str) -> SpecError {
        SpecError::Option { load: self.name.to_owned(), option: option.to_owned(), usage }
    }
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn programs_and_folders_are_their_authors_choice() {
        let is = |text: &str| text.parse::<Spec>().unwrap().is_of_its_authors_choice();
        assert!(is("storm:2+cmd:id") && is("disk:1,dir=/tmp") && is("disk,dir=/tmp"));
        assert!(!is("none") && !is("storm:40+hackbench+disk"));
    }

    #[test]
    fn written_and_read_again() {
        for (text, shown) in [
            ("none", "none"),
            ("storm:40", "storm:40"),
            ("storm", "storm:40"),
            ("storm:7,fifo", "storm:7,fifo=1"),
            ("storm:7,fifo=5,fifo=9", "storm:7,fifo=9"),
            ("storm:7,seed=3,fifo=2", "storm:7,fifo=2,seed=3"),
            ("storm:1 + storm:2,fifo", "storm:1+storm:2,fifo=1"),
            ("storm:10000", "storm:10000"),
            ("hackbench", "hackbench:10"),
            ("hackbench:3,threads,fds=20,loops=9", "hackbench:3,loops=9,threads"),
            ("hackbench:1,pipe,socket,size=1024,pipe,fds=7", "hackbench:1,fds=7,size=1k,pipe"),
            ("hackbench:1,threads,processes", "hackbench:1"),
            ("cpu:3,nice=-5", "cpu:3,nice=-5"),
            ("cpu:3,fifo", "cpu:3,fifo=1"),
            ("mem:2,size=1024k,faults", "mem:2,size=1m,faults"),
            ("disk,dir=/mnt/a b,sync", "disk:1,dir=/mnt/a b,sync"),
            ("disk:2,size=64m", "disk:2"),
            ("cmd:stress-ng --timer 4+storm", "cmd:stress-ng --timer 4+storm:40"),
            (r#" cmd: sh -c "a + 'b'" +cmd:x\+y"#, r"cmd:sh -c 'a + '\''b'\'''+cmd:'x+y'"),
            ("cmd:a,b,fifo=3", "cmd:a,b,fifo=3"),
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(spec.to_string().parse::<Spec>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn one_more_option_for_all() {
        let spec: Spec = "storm:1+storm:2,fifo=3".parse().unwrap();
        let spec = spec.with_option("fifo=7").unwrap();
        assert_eq!(spec.to_string(), "storm:1,fifo=7+storm:2,fifo=7");
        assert!(spec.with_option("loud").is_err());
        let some: Spec = "storm:1+net:1".parse().unwrap();
        assert_eq!(some.with_option("fifo=7").unwrap().to_string(), "storm:1,fifo=7+net:1,tcp");
        assert!(some.with_option("fifo=100").is_err());
        let spec: Spec = "cmd:stress-ng --timer 4".parse().unwrap();
        let error = spec.with_option("fifo=7").unwrap_err().to_string();
        assert_eq!(error, "cmd has no option `fifo=7`; it is written cmd:PROGRAM ARGUMENTS…");
        let spec: Spec = "storm:1+cmd:stress-ng --timer 4".parse().unwrap();
        let spec = spec.with_option("fifo=7").unwrap();
        assert_eq!(spec.to_string(), "storm:1,fifo=7+cmd:stress-ng --timer 4");
        assert!(Spec::default().with_option("fifo").unwrap().is_none());
    }

    #[test]
    fn what_is_not_understood_says_what_would_be() {
        for (text, said) in [
            ("", "there is no load ``; there are none, storm,"),
            ("strom:40", "there is no load `strom`; there are none, storm, hackbench"),
            ("none+storm:4", "there is no load `none`"),
            ("storm:0", "storm: the number of threads is `0`; it must be a number from 1 to 10000"),
            ("storm:10001", "number from 1 to 10000"),
            ("storm:", "the number of threads is ``"),
            ("storm:99999999999999999999", "number from 1 to 10000"),
            ("storm:-1", "number from 1 to 10000"),
            ("storm:1,fifo=0", "storm: fifo is `0`; it must be a number from 1 to 99"),
            ("storm:1,fifo=", "fifo is ``"),
            ("storm:1,loud", "storm has no option `loud`; it is written storm[:N]"),
            ("storm:1,", "storm has no option ``"),
            ("hackbench:1001", "hackbench: the number of groups is `1001`"),
            ("hackbench:1,size=0", "size is `0`; it must be a size from 1 to 1m"),
            ("hackbench:1,pipe=1", "hackbench has no option `pipe`"),
            ("hackbench:501,fds=20", "that is 20040 senders and receivers, at most 20000"),
            ("cpu:1,nice=20", "nice is `20`; it must be a number from -20 to 19"),
            ("cpu:1,nice=5,fifo", "SCHED_FIFO knows no nice values"),
            ("mem:1,size=1k", "size is `1k`; it must be a size from 64k to 1024g"),
            ("disk:1,dir=", "dir is ``; it must be a folder"),
            ("cmd", "it must begin with a program"),
            ("cmd:", "it must begin with a program"),
            ("cmd:''", "it must begin with a program"),
            ("cmd,x:y", "it must begin with a program"),
            ("cmd:a 'b+storm:3", "a quote is not closed"),
            ("cmd:a\0b", "there is a NUL in it"),
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let many = vec!["storm"; SPEC_LOADS_MAX + 1].join("+");
        assert_eq!(many.parse::<Spec>().unwrap_err(), SpecError::TooMany(17));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in prop_oneof![
                ".{0,60}",
                "(storm|none|hackbench|cpu|mem|disk|net|timers|irq|mix)[:+,=a-z0-9-]{0,30}",
                "(storm\\+)?cmd:[a-z:+,=' \"\\\\#\n]{0,30}",
                "(hackbench|cpu|mem|disk)(:[0-9]{1,3})?\
                 (,(fds|size|loops|nice|dir)=[0-9]{1,3}[kmg]?|,(pipe|threads|fifo|faults|sync)){0,3}",
                "(net|timers|irq)(:[0-9]{1,2})?\
                 (,kind=(futex|rearm|timer|tlb)|,(rate|size|max|due|slack|cpu)=[0-9]{1,3}(us|ms|kB|k)?\
                 |,(udp|tcp|fifo)){0,4}",
            ]
        ) {
            if let Ok(spec) = text.parse::<Spec>() {
                let shown = spec.to_string();
                prop_assert_eq!(shown.parse::<Spec>().unwrap().to_string(), shown);
            }
        }
    }
}
