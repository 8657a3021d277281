//! The remedies, a file each. A new one is a file here, a line in the registry and, where it is new as a change, one
//! in `tardy_changes`.

use crate::setting::Setting;
use crate::system::System;
use tardy_changes::Change;

/// Does what a change of its name says.
pub trait Remedy: Sync {
    /// Its name, that of the change.
    fn name(&self) -> &'static str;

    /// What it costs others, in a sentence.
    fn price(&self) -> &'static str;

    /// The same of one change, where it depends on what is set.
    fn price_of(&self, _change: &Change) -> &'static str {
        self.price()
    }

    /// What it needs, in a few words.
    fn needs(&self) -> &'static str;

    /// What is set, in this order.
    ///
    /// # Errors
    /// Why it cannot be had here.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking>;

    /// The parameter of the kernel's command line that does the same from the next boot on.
    fn kernel_parameter(&self, _change: &Change) -> Option<String> {
        None
    }
}

/// Why a remedy cannot be had here, in a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lacking(String);

impl Lacking {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

macro_rules! registry {
    ($($file:ident::$remedy:ident),* $(,)?) => {
        $(mod $file;)*

        /// All that there are, those of threads first.
        pub const REGISTRY: &[&dyn Remedy] = &[$(&$file::$remedy),*];
    };
}

registry![
    slack::Slack,
    prio::Prio,
    affinity::Affinity,
    isolate::Isolate,
    cpu_max::CpuMax,
    cpu_weight::CpuWeight,
    rt_runtime::RtRuntime,
    preempt::Preempt,
    idle_latency::IdleLatency,
    halt_poll::HaltPoll,
    governor::Governor,
    epp::Epp,
    timer_migration::TimerMigration,
    workqueue_cpus::WorkqueueCpus,
    unbound_kthreads::UnboundKthreads,
    thp::Thp,
    khugepaged::Khugepaged,
    swap::Swap,
    swappiness::Swappiness,
    watchdog::Watchdog,
    vmstat_interval::VmstatInterval,
];

/// The remedy that does a change; `None` where it can only be predicted.
pub fn of(name: &str) -> Option<&'static dyn Remedy> {
    REGISTRY.iter().copied().find(|remedy| remedy.name() == name)
}

/// What the kernel takes for a switch.
fn switch(change: &Change) -> &'static str {
    if change.word() == "on" { "1" } else { "0" }
}

fn of_form(change: &Change) -> Lacking {
    Lacking::new(format!("{} does not show its current value", change.name()))
}

#[cfg(test)]
mod tests;
