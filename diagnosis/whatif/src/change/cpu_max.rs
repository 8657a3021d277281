//! `cpu-max(GROUP)=TIME/PERIOD`: the CPU bandwidth of a control group.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;
use tardy_model::{Culprit, Setting};
use tardy_sim::Group;

pub(super) struct CpuMax;

impl Predicted for CpuMax {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let Some((quota_ns, period_ns)) = change.bandwidth_ns() else {
            return Err(Refusal::Unrecorded(
                "how much bandwidth the group had, so the recording cannot be replayed with it: \
                 only a bound is possible",
            ));
        };
        let places = super::places(change, model)?;
        let groups = &mut model.system.workload.groups;
        let group = groups.len() as u32;
        groups.push(Group { name: "changed".to_owned(), quota_ns, period_ns });
        for at in places {
            model.system.workload.threads[at].group = Some(group);
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
