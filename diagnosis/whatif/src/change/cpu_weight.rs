//! `cpu-weight(GROUP)=N`: the share of the CPU that a control group gets beside others.

use super::Predicted;
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::{Change, Whom};
use tardy_model::weight::{CPU_WEIGHTS, of_cpu_weight};

/// The weight worth a try: ten times an ordinary group's.
const WORTH_A_TRY: u32 = 1000;

pub(super) struct CpuWeight;

impl CpuWeight {
    /// The control groups that are meant, of which it is known what they weigh.
    fn groups(change: &Change, model: &Model) -> Result<Vec<usize>, Refusal> {
        let workload = &model.system.workload;
        if let Some(Whom::Name(path)) = change.whom()
            && let Some(at) = workload.groups.iter().position(|group| group.name == *path)
        {
            return Ok(vec![at]);
        }
        let places = super::places(change, model)?;
        let innermost = |at: &usize| {
            let mut around = workload.around(workload.threads[*at].group);
            around.find(|(_, group)| group.weight.is_some()).map(|(at, _)| at as usize)
        };
        let mut groups: Vec<usize> = places.iter().filter_map(innermost).collect();
        groups.sort_unstable();
        groups.dedup();
        Ok(groups)
    }
}

impl Predicted for CpuWeight {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        let groups = Self::groups(change, model)?;
        let weight = change.number().unwrap_or(0.0).round() as u32;
        let weight = weight.clamp(*CPU_WEIGHTS.start(), *CPU_WEIGHTS.end());
        let all = &mut model.system.workload.groups;
        if groups.is_empty() {
            return Err(Refusal::Unrecorded(
                "what control groups weigh, or these threads are in none",
            ));
        }
        if let Some(session) = groups.iter().find(|at| all[**at].is_session()) {
            let name = &all[*session].name;
            return Err(Refusal::Meaningless(format!(
                "they share the CPU as a session ({name}) and are in no control group with a weight"
            )));
        }
        for at in groups {
            all[at].weight = Some(of_cpu_weight(weight));
        }
        Ok(())
    }

    fn price(&self) -> &'static str {
        "other groups get less of the CPU while this one wants more"
    }

    fn candidates(&self, model: &Model, suspects: &Suspects) -> Vec<String> {
        let Ok(change) = format!("cpu-weight(victim)={WORTH_A_TRY}").parse::<Change>() else {
            return Vec::new();
        };
        let groups = &model.system.workload.groups;
        let is_lighter = |at: &usize| {
            let weight = groups[*at].weight.unwrap_or(u32::MAX);
            !groups[*at].is_session() && weight < of_cpu_weight(WORTH_A_TRY)
        };
        let found = Self::groups(&change, model).unwrap_or_default();
        let helps =
            suspects.has("cpu_contention") && found.len() == 1 && found.iter().all(is_lighter);
        if helps { vec![change.to_string()] } else { Vec::new() }
    }
}
