//! CPUs for the late threads alone, while the system runs: an isolated partition of cpusets.

use super::{Lacking, Remedy, of_form};
use crate::place::{Form, HIERARCHY, PARTITION, Place};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::{Change, Whom};

const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";

pub(super) struct Isolate;

impl Remedy for Isolate {
    fn name(&self) -> &'static str {
        "isolate"
    }

    fn price(&self) -> &'static str {
        "All others share the remaining CPUs, and the whole process of the late threads has these alone; the scheduler \
            balances no load there."
    }

    fn needs(&self) -> &'static str {
        "root; Linux 6.1; cpuset in the unified hierarchy of control groups; another CPU"
    }

    /// Threads are bound before their process moves: whatever the kernel keeps of that, they have what they had when all
    /// is taken back, the last first.
    fn settings(&self, change: &Change, system: &System) -> Result<Vec<Setting>, Lacking> {
        let cpus = change.cpus().ok_or_else(|| of_form(change))?;
        let online = system.online().ok_or_else(|| Lacking::new("the CPUs are not known"))?;
        if !cpus.without(&online).is_empty() {
            return Err(Lacking::new(format!("of CPUs {cpus} only {online} are online")));
        }
        let others = online.without(&cpus);
        if others.is_empty() {
            return Err(Lacking::new("no CPU would be left for the others"));
        }
        let controllers = system.root().word(&format!("{HIERARCHY}/cgroup.controllers"));
        if !controllers.is_some_and(|all| all.split(' ').any(|name| name == "cpuset")) {
            return Err(Lacking::new(
                "cpuset is not in the unified hierarchy of control groups: boot with cgroup_no_v1=cpuset, or with \
                 isolcpus=",
            ));
        }
        let processes = system.processes(&Whom::Victim)?;
        let mut settings = Vec::new();
        if system.root().exists(WORKQUEUES) {
            settings.extend(system.file(WORKQUEUES, Form::Mask, &others.to_string())?);
        }
        let subtree = format!("{HIERARCHY}/cgroup.subtree_control");
        settings.extend(system.file(&subtree, Form::Cpuset, "+cpuset")?);
        let to = cpus.to_string();
        let partition = Place::Partition { path: PARTITION.to_owned() };
        settings.push(Setting { place: partition, to: to.clone() });
        let group = PARTITION.strip_prefix(HIERARCHY).unwrap_or(PARTITION);
        for process in processes {
            let threads = system.threads(Some(&Whom::Id(process.tid)))?;
            let bound = |thread| Setting { place: Place::Affinity(thread), to: to.clone() };
            settings.extend(threads.into_iter().map(bound));
            settings.push(Setting { place: Place::Group(process), to: group.to_owned() });
        }
        Ok(settings)
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        let cpus = change.cpus()?;
        Some(format!("isolcpus=domain,managed_irq,{cpus} nohz_full={cpus} rcu_nocbs={cpus}"))
    }
}
