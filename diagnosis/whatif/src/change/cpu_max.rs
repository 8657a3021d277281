//! `cpu-max(GROUP)=TIME/PERIOD`: the CPU bandwidth of a control group.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use std::collections::BTreeSet;
use tardy_changes::{Change, Whom};
use tardy_model::{Culprit, Setting};
use tardy_sim::Group;

pub(super) struct CpuMax;

impl Predicted for CpuMax {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let workload = &model.system.workload;
        let named = match change.whom() {
            Some(Whom::Name(path)) => workload.groups.iter().position(|group| group.name == *path),
            _ => None,
        };
        let (groups, places) = if let Some(at) = named {
            (vec![at as u32], Vec::new())
        } else {
            let places = super::places(change, model)?;
            let groups = places.iter().filter_map(|at| workload.threads[*at].group);
            let groups: BTreeSet<u32> = groups.collect();
            (groups.into_iter().collect(), places)
        };
        match (change.bandwidth_ns(), groups.as_slice()) {
            (None, []) => {
                return Err(Refusal::Unrecorded(
                    "how much bandwidth the group had, so the recording cannot be replayed with it: \
                     only a bound is possible",
                ));
            }
            (None, lifted) => {
                let threads = model.system.workload.threads.iter_mut();
                for thread in threads.filter(|it| it.group.is_some_and(|at| lifted.contains(&at))) {
                    thread.group = None;
                }
            }
            // Where it had none, who else is in the group was not told.
            (Some((quota_ns, period_ns)), []) => {
                let groups = &mut model.system.workload.groups;
                let group = groups.len() as u32;
                groups.push(Group { name: "changed".to_owned(), quota_ns, period_ns });
                for at in places {
                    model.system.workload.threads[at].group = Some(group);
                }
            }
            (Some((quota_ns, period_ns)), set) => {
                for at in set {
                    let group = &mut model.system.workload.groups[*at as usize];
                    (group.quota_ns, group.period_ns) = (quota_ns, period_ns);
                }
            }
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "the group may take the CPU time from others"
    }

    fn removes(&self, change: &Change, _: &Model) -> Option<Removes> {
        change.bandwidth_ns().is_none().then(|| -> Removes {
            Box::new(|segment| {
                matches!(segment.culprit, Culprit::Setting(Setting::CfsBandwidth(_)))
            })
        })
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("throttled") { vec!["cpu-max(victim)=off".to_owned()] } else { Vec::new() }
    }
}
