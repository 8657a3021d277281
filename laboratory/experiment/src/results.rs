//! What an experiment yields.

use crate::{Experiment, Run};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tardy_stats::Counted;

/// All that has been measured, and on what.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked.
    pub experiment: Experiment,
    /// What was chosen, and on which machine.
    pub run: Run,
    /// The blocks, in the order in which they ran.
    pub blocks: Vec<Block>,
    /// How many blocks there are to be; fewer in [`Results::blocks`] where it was ended early.
    pub planned: usize,
    /// Whether the blocks may be compared with each other.
    pub fitness: Fitness,
    /// What the permissions did not allow, and the like: a sentence each.
    pub notes: Vec<String>,
}

impl Results {
    /// Settings of the machine by name, and what the measurement was asked to be, in one condition or in all, behind
    /// `run.`.
    pub fn settings(&self, condition: Option<usize>) -> BTreeMap<String, String> {
        let Self { experiment, run, .. } = self;
        let mut settings = run.settings.clone();
        let mut chosen = experiment.measure.clone();
        if let Some(condition) = condition.and_then(|place| experiment.conditions.get(place)) {
            chosen.extend(condition.measure.clone());
            let policies = condition.kernel_threads.iter();
            settings.extend(
                policies
                    .map(|(name, policy)| (format!("run.kernel-threads.{name}"), policy.clone())),
            );
        }
        let word =
            |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        settings.extend(chosen.iter().map(|(name, value)| (format!("run.{name}"), word(value))));
        settings
    }

    /// The command that does all of it again. An experiment that does not come with tardy as it is,
    /// but for the number of rounds, is in the file of its results' folder.
    pub fn command(&self) -> String {
        let Self { experiment, run: Run { is_full, seed, guest, .. }, .. } = self;
        let guest = if guest.is_empty() { String::new() } else { format!(" {guest}") };
        let full = if *is_full { " --full" } else { "" };
        let rounds = experiment.length(*is_full).rounds;
        let known = Experiment::named(&experiment.name).ok();
        let known = known.and_then(|known| {
            if known == *experiment {
                return Some((known.name, String::new()));
            }
            let known = known.with_rounds(rounds).ok()?;
            (known == *experiment).then(|| (known.name, format!(" --rounds {rounds}")))
        });
        let (what, rounds) = known.unwrap_or_else(|| ("experiment.toml".to_owned(), String::new()));
        format!("tardy experiment {what}{full}{rounds} --seed {seed}{guest}")
    }
}

/// One block: one condition, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its place in the order of all, from 0.
    pub index: usize,
    /// Which condition, by its place in [`Experiment::conditions`].
    pub condition: usize,
    /// Which round, from 0.
    pub round: u32,
    /// When it began, in seconds since 1970-01-01 UTC.
    pub begun_unix_s: u64,
    /// How long it measured.
    pub length: Duration,
    /// What was measured: one per thread or method, the same names in every block of a condition.
    pub series: Vec<Series>,
    /// What was counted besides.
    pub figures: Vec<Figure>,
    /// What the permissions did not allow, and the like: a sentence each.
    pub notes: Vec<String>,
    /// The machine just before.
    pub before: SystemState,
    /// The machine just after.
    pub after: SystemState,
}

/// The latencies of one thread or method in one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The thread's or the method's name.
    pub name: String,
    /// All of them.
    pub latencies: Counted,
}

/// A figure of one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Whose, a name of the block's [`Series`]; empty where it is the block's own.
    pub of: String,
    /// What it is: `programmings_per_move`, `boosts_per_lock`, `overruns`.
    pub name: String,
    /// How much.
    pub value: f64,
}

impl Figure {
    pub(crate) fn of(of: &str, name: &str, value: f64) -> Self {
        Self { of: of.to_owned(), name: name.to_owned(), value }
    }
}

/// What the machine is like at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemState {
    /// CPU time of all CPUs since boot, idle included, ns.
    pub cpu_ns: u64,
    /// That taken by the hypervisor for others, ns.
    pub steal_ns: u64,
    /// That of processes other than tardy and those beneath it, ns; kernel threads do not count.
    pub others_ns: u64,
    /// The slowest CPU's frequency as a share of its highest, 0–1; `None` where it is not told.
    pub frequency_share: Option<f64>,
    /// How often a CPU was slowed for its heat since boot; `None` where it is not told.
    pub throttled: Option<u64>,
    /// The load average of one minute.
    pub load_average: f64,
}

/// Whether what was measured may be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitness {
    /// In a word.
    pub fit: Fit,
    /// Why, a sentence each; empty where nothing was found.
    pub why: Vec<String>,
}

/// Whether blocks may be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Nothing was found that speaks against it.
    Fit,
    /// With reserve: something hit conditions alike, or a little.
    Doubtful,
    /// Something hit one condition more than another: a difference may be that.
    Unfit,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_what_was_run_and_not_what_is_like_it() {
        let of = |experiment: Experiment| {
            let fitness = Fitness { fit: Fit::Fit, why: vec![] };
            let results = Results {
                experiment,
                run: Run { seed: 4, ..Run::default() },
                blocks: vec![],
                planned: 0,
                fitness,
                notes: vec![],
            };
            results.command()
        };
        let known = Experiment::named("stacking-curve").unwrap();
        assert_eq!(of(known.clone()), "tardy experiment stacking-curve --seed 4");
        let short = known.clone().with_rounds(1).unwrap();
        assert_eq!(of(short), "tardy experiment stacking-curve --rounds 1 --seed 4");
        let mut other = known.clone();
        other.default.block_ms = 2_000;
        assert_eq!(of(other), "tardy experiment experiment.toml --seed 4");
    }
}
