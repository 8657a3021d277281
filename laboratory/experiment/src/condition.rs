//! A condition of an experiment.

use crate::{need, truth};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tardy_lab::load::{Spec, SpecError};

/// One condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Condition {
    /// What it is called.
    pub name: String,
    /// The load, as on the command line; `none` for none.
    #[serde(default = "no_load")]
    pub load: String,
    /// What the measurement takes in this condition instead.
    #[serde(default)]
    pub measure: toml::Table,
    /// Policies of kernel threads in this condition, over those of the experiment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_threads: BTreeMap<String, String>,
    /// Timer policies of the kernel in this condition, over those of the experiment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timer_policy: BTreeMap<String, String>,
    /// What the system must be for it: `preempt-rt`, `realtime`, `cpus-2`. Where it is not, the
    /// condition is left out, and the results say why.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Where it stands among the others, by the name of what varies: `threads = 10`. A curve is drawn
    /// over it. Numbers and words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, toml::Value>,
}

fn no_load() -> String {
    "none".to_owned()
}

impl Condition {
    /// The load.
    pub(crate) fn spec(&self) -> Result<Spec, String> {
        self.load.parse().map_err(|error: SpecError| error.to_string())
    }

    /// Where it stands, in words: what varies with its value.
    pub fn stands_at(&self, name: &str) -> Option<String> {
        self.at.get(name).map(|value| match value {
            toml::Value::String(word) => word.clone(),
            other => other.to_string(),
        })
    }

    /// What can be checked of it alone.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.spec()?;
        self.needs.iter().try_for_each(|need| need::check(need))?;
        for (name, value) in &self.at {
            let is_number = value.as_float().is_some_and(f64::is_finite) || value.is_integer();
            if !is_number && !value.is_str() {
                return Err(format!("at.{name} is {value}; write a number or a word"));
            }
            if truth::is_taken(name) {
                return Err(format!("at.{name}: a table of figures has a column of that name"));
            }
        }
        Ok(())
    }
}
