//! Predicts from a recording: reads it, simulates it as it was, and tries changes.

use crate::explanation::Explained;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Output;
use crate::progress;
use clap::Args;
use std::num::NonZeroUsize;
use tardy_changes::Change;
use tardy_explain::{Explainer, Explanation, Options, Watch};
use tardy_recording::Manifest;
use tardy_report::{Predictions, Shown};
use tardy_sim::Throttles;
use tardy_whatif::{
    Baseline, Class, KernelSeen, Observation, Observed, RealTimeShare, Refusal, Tried, WhatIf, rank,
};

/// Whether a report predicts.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct PredictFlags {
    /// Do not predict what changes would do: that takes some seconds for a million events
    #[arg(long)]
    pub(crate) no_whatif: bool,
}

/// Of recordings with more events a report predicts nothing by itself.
const EVENTS_MAX: u64 = 10_000_000;

/// What was predicted.
#[derive(Debug)]
pub(crate) struct Predicted {
    baseline: Baseline,
    apart: Option<Baseline>,
    tried: Vec<Tried>,
}

impl Predicted {
    fn predictions(&self) -> Predictions<'_> {
        Predictions {
            baseline: &self.baseline,
            apart: self.apart.as_ref(),
            notes: &[],
            tried: &self.tried,
            shown: Shown::IN_REPORTS,
        }
    }
}

/// Reads all of `input`. Costs are taken from the first half of the time.
pub(crate) fn observe(input: &mut Input, watch: Watch) -> Result<(Explanation, Observed), Failure> {
    let options = Options { watch: input.watch(watch), worst: 0 };
    let mut explainer = Explainer::new(options, observation(&input.manifest()));
    input.show_to(&mut explainer)?;
    let (explanation, observation) = explainer.finish();
    Ok((explanation, observation.finish()))
}

/// What looks on while a recording is explained.
pub(crate) fn observation(manifest: &Manifest) -> Observation {
    let fit_until_ns = manifest.totals.map(|totals| totals.first_ns.midpoint(totals.last_ns));
    Observation::new(fit_until_ns)
}

/// Whether a report predicts from it by itself.
pub(crate) fn is_worthwhile(manifest: &Manifest) -> bool {
    manifest.totals.is_none_or(|totals| totals.events <= EVENTS_MAX)
}

/// What changes would do, where a report was to predict it.
pub(crate) fn for_report(
    explained: &mut Explained,
    manifest: &Manifest,
    output: &Output,
) -> Option<Result<Predicted, Refusal>> {
    let observed = explained.observed.take()?;
    let simulated =
        progress::while_running(output.hides_progress(), "simulating it as it was", None, |_| {
            WhatIf::new(&observed, &kernel(manifest))
        });
    Some(simulated.map(|whatif| {
        let candidates = whatif.candidates().into_iter().map(|change| vec![change]);
        let tried = try_all(&whatif, &observed, &candidates.collect::<Vec<_>>(), None, output);
        let apart = whatif.baseline_apart().cloned();
        Predicted { baseline: whatif.baseline().clone(), apart, tried }
    }))
}

/// The same as a report takes it.
pub(crate) fn shown(
    predicted: Option<&Result<Predicted, Refusal>>,
) -> Option<Result<Predictions<'_>, &Refusal>> {
    predicted.map(|predicted| predicted.as_ref().map(Predicted::predictions))
}

/// Tries each, on so many threads of this machine or on one per CPU, and shows how far that is.
pub(crate) fn try_all(
    whatif: &WhatIf,
    observed: &Observed,
    changes: &[Vec<Change>],
    jobs: Option<NonZeroUsize>,
    output: &Output,
) -> Vec<Tried> {
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let steps = Some(changes.len() as u64);
    let words = format!("simulating {} changes", changes.len());
    progress::while_running(output.hides_progress(), &words, steps, |done| {
        rank(whatif, observed, changes, jobs, &|count| done(count as u64))
    })
}

/// What a manifest says of the kernel.
pub(crate) fn kernel(manifest: &Manifest) -> KernelSeen {
    let host = &manifest.host;
    KernelSeen {
        preemption: host.preemption.clone(),
        hz: host.hz,
        cpus: host.cpus_online,
        realtime: realtime_share(manifest),
        throttles: throttles(manifest),
        class: class(manifest),
        is_kvm_guest: host.hypervisor.as_deref().is_some_and(|name| name.contains("KVM")),
    }
}

/// The source of simulated recordings.
pub(crate) const SIMULATED: &str = "sim";

/// Of traces of other tools nobody knows where they were made: most are a live machine's.
fn class(manifest: &Manifest) -> Class {
    match manifest {
        Manifest { source, .. } if source == SIMULATED => Class::Simulated,
        Manifest { vm: Some(_), .. } => Class::Counted,
        _ => Class::Live,
    }
}

/// The kernel from which on ordinary threads have a server of their own (`fair_server` in `kernel/sched/deadline.c`),
/// and real-time threads are throttled no more.
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);

/// The kernel from which on a control group without CPU time is held thread by thread, where each returns to user space
/// (`throttle_cfs_rq_work` in `kernel/sched/fair.c`).
const TASKS_THROTTLED_SINCE: (u32, u32) = (6, 18);

fn throttles(manifest: &Manifest) -> Throttles {
    if is_since(manifest, TASKS_THROTTLED_SINCE) { Throttles::Tasks } else { Throttles::Queues }
}

/// Whether the recorded kernel is of this release or a later one; not where nobody says.
fn is_since(manifest: &Manifest, since: (u32, u32)) -> bool {
    let mut release = manifest.host.kernel_release.split(['.', '-']).map(str::parse::<u32>);
    match (release.next(), release.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= since,
        _ => false,
    }
}

fn realtime_share(manifest: &Manifest) -> RealTimeShare {
    if is_since(manifest, FAIR_SERVER_SINCE) {
        return RealTimeShare::All;
    }
    let number = |name: &str| manifest.settings.get(name).and_then(|text| text.parse::<i64>().ok());
    match (number("kernel.sched_rt_runtime_us"), number("kernel.sched_rt_period_us")) {
        (Some(-1), _) => RealTimeShare::All,
        (Some(runtime @ 1..), Some(period @ 1..)) => RealTimeShare::Limited {
            runtime_ns: runtime.unsigned_abs().saturating_mul(1_000),
            period_ns: period.unsigned_abs().saturating_mul(1_000),
        },
        _ => RealTimeShare::Unknown,
    }
}
