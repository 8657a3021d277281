//! What others ran while they measured, by name.

use super::crew::add;
use super::spec::{Arguments, Spec, SpecError};
use super::{Kind, Load, LoadError, Running, RunningLoad, Work};
use std::fmt;
use std::time::Duration;

/// A mix of loads that somebody described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Its name behind `mix:`.
    pub name: &'static str,
    /// The loads, as they are written.
    pub loads: &'static str,
    /// Who described it: author, subject, list, date; and what is as it is said there.
    pub source: &'static str,
}

/// All mixes that there are.
pub const RECIPES: &[Recipe] = &[
    Recipe {
        name: "stacking",
        loads: "storm:40",
        source: "Gratian Crisan, \"latency induced by hrtimer stacking\", linux-rt-users, 4 January \
                 2017: 40 threads that each sleep for random 0–1 ms",
    },
    Recipe {
        name: "stacking-real",
        loads: "timers:20,kind=sleep+timers:20,kind=futex",
        source: "the same: what arms the timers on the systems where it was found, clock_nanosleep and \
                 futex calls with a timeout; the numbers of threads are ours",
    },
    Recipe {
        name: "hackbench-iperf",
        loads: "hackbench:7+net:1,tcp",
        source: "the same: hackbench and iperf at a load average of 277, to compare with; 7 groups are \
                 280 senders and receivers",
    },
    Recipe {
        name: "2005",
        loads: "cpu:3+net:2,tcp,rate=1MB",
        source: "Thomas Gleixner, \"High resolution timers and BH processing on -RT\", \
                 linux-kernel, 28 January 2005: network and applications at a load average of \
                 about 4, on one CPU; the mail does not name the applications",
    },
    Recipe {
        name: "rearm",
        loads: "timers:1,kind=rearm,due=300us,every=20us",
        source: "Thomas Gleixner, \"Re: [PATCH] hrtimer: Update softirq_expires_next correctly after \
                 __hrtimer_get_next_event()\", linux-kernel, 21 April 2021: a timer due 300 µs after the \
                 last packet, moved every 20 µs",
    },
];

const USAGE: &str = "mix:NAME";

pub(super) const KIND: Kind = Kind {
    name: "mix",
    usage: USAGE,
    summary: "loads that others ran while they measured, by name; an option applies to the loads \
              that have it",
    parse: |arguments| Mix::parse(arguments).map(|mix| Box::new(mix) as Box<dyn Load>),
};

/// The loads of a recipe.
#[derive(Debug)]
struct Mix {
    /// As it is written.
    text: String,
    spec: Spec,
}

impl Mix {
    fn parse(arguments: &Arguments) -> Result<Self, SpecError> {
        let name = arguments.behind_name.unwrap_or_default();
        let recipe = RECIPES.iter().find(|recipe| recipe.name == name).ok_or_else(|| {
            let known: Vec<_> = RECIPES.iter().map(|recipe| recipe.name).collect();
            arguments.wrong("the name", name, &format!("there are: {}", known.join(", ")))
        })?;
        let mut text = format!("mix:{name}");
        let mut spec: Spec = recipe.loads.parse()?;
        for &(option, value) in &arguments.options {
            let option = value.map_or(option.to_owned(), |value| format!("{option}={value}"));
            spec = spec.with_option(&option)?;
            text = format!("{text},{option}");
        }
        Ok(Self { text, spec })
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Load for Mix {
    fn start(&self) -> Result<Box<dyn RunningLoad>, LoadError> {
        Ok(Box::new(RunningMix(self.spec.start()?)))
    }
}

struct RunningMix(Running);

impl RunningLoad for RunningMix {
    fn tids(&self) -> Vec<u32> {
        self.0.tids()
    }

    /// Of all of them, by unit.
    fn work(&self) -> Vec<Work> {
        let mut all = vec![];
        for Work { unit, count } in self.0.work().into_iter().flatten() {
            add(&mut all, unit, count);
        }
        all
    }

    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }

    fn over_after(&self) -> Option<Duration> {
        self.0.over_after()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipe_is_of_loads_that_there_are_and_shows_as_its_name() {
        for recipe in RECIPES {
            let loads: Spec = recipe.loads.parse().unwrap();
            assert!(!loads.is_none() && loads.parts().all(|part| !part.starts_with("mix")));
            let text = format!("mix:{}", recipe.name);
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert!(recipe.source.contains("20") || recipe.source.starts_with("the same"));
        }
        let error = "mix:1999".parse::<Spec>().unwrap_err().to_string();
        assert!(error.contains("there are: stacking, "), "{error}");
        assert!("mix".parse::<Spec>().is_err());
    }

    #[test]
    fn an_option_goes_to_the_loads_that_have_it() {
        let spec: Spec = "mix:rearm,every=50us".parse().unwrap();
        assert_eq!(spec.to_string(), "mix:rearm,every=50us");
        assert_eq!(spec.to_string().parse::<Spec>().unwrap().to_string(), spec.to_string());
        assert!("mix:rearm,loud".parse::<Spec>().is_err());
        assert!("mix:rearm,every=0".parse::<Spec>().is_err());
    }

    #[test]
    fn what_its_loads_do_is_told_together() {
        let running = "mix:stacking-real".parse::<Spec>().unwrap().start().unwrap();
        assert_eq!(running.tids().len(), 40);
        let work = running.stop();
        let units: Vec<_> = work[0].iter().map(|work| work.unit).collect();
        assert_eq!((work.len(), units), (1, vec!["sleeps", "timeouts"]));
    }
}
