//! `cpu-max(GROUP)=TIME/PERIOD`: the CPU bandwidth of a control group.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use std::collections::BTreeSet;
use tardy_changes::{Change, Whom};
use tardy_model::{Culprit, Setting, weight};
use tardy_sim::{Bandwidth, Group, Workload};

pub(super) struct CpuMax;

impl Predicted for CpuMax {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let workload = &model.system.workload;
        let named = match change.whom() {
            Some(Whom::Name(path)) => workload.groups.iter().position(|group| group.name == *path),
            _ => None,
        };
        let places = if named.is_some() { Vec::new() } else { super::places(change, model)? };
        let own: Vec<Option<u32>> = match named {
            Some(at) => vec![Some(at as u32)],
            None => places.iter().map(|at| workload.threads[*at].group).collect(),
        };
        let limited: BTreeSet<u32> =
            own.iter().filter_map(|group| workload.limit(*group)).collect();
        let own: BTreeSet<Option<u32>> = own.into_iter().collect();
        let is_known = workload.groups.iter().any(|group| group.weight.is_some());
        let workload = &mut model.system.workload;
        let set: Vec<u32> = match (change.bandwidth_ns(), limited.is_empty()) {
            (None, true) if is_known => {
                return Err(Refusal::Meaningless("no limit of CPU time is around it".to_owned()));
            }
            (None, true) => {
                return Err(Refusal::Unrecorded(
                    "how much bandwidth the group had, so the recording cannot be replayed with it: \
                     only a bound is possible",
                ));
            }
            (_, false) => limited.into_iter().collect(),
            // Nothing limits them: the group that they are in is, or one that they alone are moved to.
            (Some(_), true) => match own.into_iter().collect::<Vec<_>>()[..] {
                [Some(only)] if !workload.groups[only as usize].is_session() => vec![only],
                [within] => vec![gathered(workload, within, &places)],
                _ => vec![gathered(workload, None, &places)],
            },
        };
        let bandwidth = change.bandwidth_ns();
        for at in set {
            workload.groups[at as usize].bandwidth =
                bandwidth.map(|(runtime_ns, period_ns)| Bandwidth { runtime_ns, period_ns });
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

/// Moves threads to a group of their own, which weighs what a new one does.
fn gathered(workload: &mut Workload, within: Option<u32>, places: &[usize]) -> u32 {
    let at = workload.groups.len() as u32;
    let weight = Some(weight::NICE_0);
    // A session is left with the move.
    let within = within.filter(|within| !workload.groups[*within as usize].is_session());
    workload.groups.push(Group { name: "changed".to_owned(), within, weight, bandwidth: None });
    for place in places {
        workload.threads[*place].group = Some(at);
    }
    at
}
