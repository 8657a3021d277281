//! A machine as tardy sees it.

use crate::calls::Calls;
use crate::capability::{self, Ability, Capability};
use crate::check::{self, Check};
use crate::escape::printable;
use crate::facts::Facts;
use crate::probe::Probe;
use crate::root::Root;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The schema of a host in JSON.
pub const SCHEMA: &str = "tardy.doctor/1";

/// What a machine was and allowed when it was probed. In JSON it is `{"schema":"tardy.doctor/1",
/// "host":{…},"checks":[…],"capabilities":[…]}` with [`Facts`], [`Check`]s and [`Capability`]s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    facts: Facts,
    checks: Vec<Check>,
    capabilities: Vec<Capability>,
}

impl Host {
    /// Reads this system, a few hundred small files. Never fails: what cannot be read is unknown.
    pub fn probe() -> Self {
        Self::probe_at(Root::system(), Calls::ask())
    }

    /// Reads another root with given answers of the system calls, for tests.
    pub fn probe_at(root: Root, calls: Calls) -> Self {
        let probe = Probe::new(root, calls);
        Self {
            facts: Facts::of(&probe),
            checks: check::run(&probe),
            capabilities: capability::judge(&probe),
        }
    }

    /// The same machine for a program that was built without eBPF.
    #[must_use]
    pub fn without_ebpf(mut self) -> Self {
        capability::refuse_live(&mut self.capabilities);
        self
    }

    /// The facts for a manifest.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// All checks, in the order in which they are to be shown.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What tardy can do here, one entry per [`Ability`].
    pub fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    /// Whether tardy can do this here.
    pub fn can(&self, ability: Ability) -> bool {
        self.capabilities.iter().any(|capability| capability.name == ability && capability.ok)
    }

    /// The machine and what is possible on it, in one line that is fit for a terminal.
    pub fn summary(&self) -> String {
        let facts = &self.facts;
        let mut parts = vec![format!("{} {}", facts.release, facts.arch), facts.preemption.clone()];
        parts.extend(facts.hz.map(|hz| format!("HZ {hz}")));
        parts.extend(facts.hypervisor.as_ref().map(|name| format!("guest of {name}")));
        parts.push(format!("{} CPU{}", facts.cpus, if facts.cpus == 1 { "" } else { "s" }));
        parts.extend(facts.clock_source.clone());
        let can = |ability| if self.can(ability) { "yes" } else { "no" };
        let recording = if self.can(Ability::Live) {
            "eBPF yes".to_owned()
        } else {
            format!("eBPF no, tracefs {}", can(Ability::Tracefs))
        };
        printable(&format!(
            "{}; {recording}, RT priorities {}",
            parts.join(", "),
            can(Ability::Realtime)
        ))
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut host = serializer.serialize_struct("Host", 4)?;
        host.serialize_field("schema", SCHEMA)?;
        host.serialize_field("host", &self.facts)?;
        host.serialize_field("checks", &self.checks)?;
        host.serialize_field("capabilities", &self.capabilities)?;
        host.end()
    }
}
