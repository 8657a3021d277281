//! What was chosen for a run of an experiment, and on which machine.

use crate::{Length, clock};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What was chosen, and on which machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The version of the tardy that began it.
    pub tardy_version: String,
    /// Whether it runs at its full length.
    pub is_full: bool,
    /// Seed for the order of the conditions.
    pub seed: u64,
    /// How long it runs.
    pub length: Length,
    /// The kernel: `uname -r`.
    pub kernel: String,
    /// The machine's name.
    pub host: String,
    /// The machine's architecture: `uname -m`. Not known of runs begun before it was kept.
    #[serde(default)]
    pub architecture: String,
    /// What its time is: `counted, 500 MIPS`, or the clock source.
    #[serde(default)]
    pub clock: String,
    /// The flags of the guest in which it ran, where it was one in counted time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guest: String,
    /// The hypervisor, where it is a guest of one.
    pub hypervisor: Option<String>,
    /// CPUs online.
    pub cpus: u32,
    /// The kernel's tick rate per second, where it tells.
    pub hz: Option<u32>,
    /// The kernel's preemption model.
    pub preemption: String,
    /// Settings of the machine that matter for timing, by name, when it was begun.
    pub settings: BTreeMap<String, String>,
    /// Names of conditions that could not be run here, with why.
    pub left_out: Vec<(String, String)>,
}

impl Run {
    /// A run of `experiment` on the machine that `facts` tell of.
    pub(crate) fn new(
        facts: &tardy_host::Facts,
        is_full: bool,
        seed: u64,
        length: Length,
        left_out: Vec<(String, String)>,
    ) -> Self {
        Self {
            tardy_version: env!("CARGO_PKG_VERSION").to_owned(),
            is_full,
            seed,
            length,
            kernel: facts.release.clone(),
            host: facts.hostname.clone(),
            architecture: facts.arch.clone(),
            clock: clock::told(facts.clock_source.as_deref()),
            guest: String::new(),
            hypervisor: facts.hypervisor.clone(),
            cpus: facts.cpus,
            hz: facts.hz,
            preemption: facts.preemption.clone(),
            settings: facts.settings.clone(),
            left_out,
        }
    }

    /// Settings that are not now what they were when it was begun, in a sentence.
    pub(crate) fn changed_settings(&self, now: &BTreeMap<String, String>) -> Option<String> {
        let names: BTreeSet<&String> = self.settings.keys().chain(now.keys()).collect();
        let told = |settings: &BTreeMap<String, String>, name| {
            settings.get(name).map_or_else(|| "unknown".to_owned(), Clone::clone)
        };
        let changed: Vec<String> = names
            .into_iter()
            .filter(|name| self.settings.get(*name) != now.get(*name))
            .map(|name| {
                format!("{name} from {} to {}", told(&self.settings, name), told(now, name))
            })
            .collect();
        (!changed.is_empty()).then(|| {
            format!(
                "Settings changed between blocks, since the run was begun: {}. Compare what came \
                 before and after with care.",
                changed.join(", ")
            )
        })
    }
}
