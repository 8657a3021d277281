//! CPUs for the late threads alone, while the system runs: an isolated partition of cpusets.

use super::{Lacking, Remedy, of_form};
use crate::place::{Form, HIERARCHY, PARTITION, Place};
use crate::setting::Setting;
use crate::system::System;
use tardy_changes::{Change, Whom};
use tardy_host::kernel_version::{self, KernelVersion};

const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";

/// From here on a kernel remembers which CPUs were asked for, whatever a cpuset makes of it (8f9ea86fdf99, "sched: Always
/// preserve the user requested cpumask").
const KEEPS_WHAT_WAS_ASKED: KernelVersion = (6, 2);

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
        "root; Linux 6.2; cpuset in the unified hierarchy of control groups; another CPU"
    }

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
        let release = system.root().word("proc/sys/kernel/osrelease").unwrap_or_default();
        if kernel_version::parse(&release).is_none_or(|version| version < KEEPS_WHAT_WAS_ASKED) {
            return Err(Lacking::new(
                "before Linux 6.2 threads lose the CPUs that they are bound to when a partition is made: boot with \
                 isolcpus=",
            ));
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
        let partition = Place::Partition { path: PARTITION.to_owned() };
        settings.push(Setting { place: partition, to: cpus.to_string() });
        let group = PARTITION.strip_prefix(HIERARCHY).unwrap_or(PARTITION);
        let joins = |process| Setting { place: Place::Group(process), to: group.to_owned() };
        settings.extend(processes.into_iter().map(joins));
        Ok(settings)
    }

    fn kernel_parameter(&self, change: &Change) -> Option<String> {
        let cpus = change.cpus()?;
        Some(format!("isolcpus=domain,managed_irq,{cpus} nohz_full={cpus} rcu_nocbs={cpus}"))
    }
}
