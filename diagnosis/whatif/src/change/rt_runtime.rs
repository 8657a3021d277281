//! `rt-runtime=TIME/PERIOD`: the bandwidth of real-time threads.

use super::{Predicted, Removes};
use crate::model::Model;
use crate::refusal::Refusal;
use crate::suspects::Suspects;
use tardy_changes::Change;
use tardy_model::{Culprit, Setting};
use tardy_sim::Bandwidth;

pub(super) struct RtRuntime;

impl Predicted for RtRuntime {
    fn apply(&self, change: &Change, model: &mut Model) -> Result<(), Refusal> {
        if model.is_throttled_somehow {
            return Err(Refusal::Throttled);
        }
        let bandwidth = change.bandwidth_ns();
        if bandwidth.is_some_and(|(runtime_ns, period_ns)| runtime_ns > period_ns) {
            let why = "the kernel takes no runtime that is longer than its period".to_owned();
            return Err(Refusal::Meaningless(why));
        }
        model.system.kernel.rt_bandwidth =
            bandwidth.map(|(runtime_ns, period_ns)| Bandwidth { runtime_ns, period_ns });
        Ok(())
    }

    fn price(&self) -> &'static str {
        "a real-time thread that spins locks everybody else out"
    }

    fn price_of(&self, change: &Change) -> &'static str {
        match change.bandwidth_ns() {
            Some(_) => {
                "real-time threads are stopped for the rest of a period where they have used that up"
            }
            None => self.price(),
        }
    }

    fn removes(&self, change: &Change, _: &Model) -> Option<Removes> {
        change.bandwidth_ns().is_none().then(|| -> Removes {
            Box::new(|segment| segment.culprit == Culprit::Setting(Setting::RtBandwidth))
        })
    }

    fn candidates(&self, _: &Model, suspects: &Suspects) -> Vec<String> {
        if suspects.has("throttled") { vec!["rt-runtime=off".to_owned()] } else { Vec::new() }
    }
}
