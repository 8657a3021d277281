//! Predicts from a recording: reads it, and simulates it as it was.

use crate::failure::Failure;
use crate::input::Input;
use tardy_explain::{Explainer, Options, Watch};
use tardy_model::Batch;
use tardy_recording::Manifest;
use tardy_whatif::{KernelSeen, Observation, Observed};

/// Reads all of `input`. Costs are taken from the first half of the time.
pub(crate) fn observe(input: &mut Input, watch: Watch) -> Result<Observed, Failure> {
    let options = Options { watch: input.watch(watch), worst: 0 };
    let totals = input.manifest().totals;
    let fit_until_ns = totals.map(|totals| totals.first_ns.midpoint(totals.last_ns));
    let mut explainer = Explainer::new(options, Observation::new(fit_until_ns));
    let mut batch = Batch::default();
    while input.read(&mut batch)? {
        explainer.batch(&batch);
        batch.clear();
    }
    let (_, observation) = explainer.finish();
    Ok(observation.finish())
}

/// What a manifest says of the kernel.
pub(crate) fn kernel(manifest: &Manifest) -> KernelSeen {
    let host = &manifest.host;
    KernelSeen { preemption: host.preemption.clone(), hz: host.hz, cpus: host.cpus_online }
}
