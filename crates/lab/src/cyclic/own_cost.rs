//! What a sample costs the thread that takes it.

use super::plan::{Affinity, Plan};
use super::recorder::Recorder;
use crate::clock::now_ns;

/// Samples that are recorded on throw-away data before a measurement begins: about a millisecond.
pub(super) const CALIBRATIONS: usize = 5_000;

/// How far the calibrated latencies are apart: they go around 0–65 µs, so that they fall into many
/// classes of the distribution, as real ones do. Prime, so that all of them come.
const STEP_NS: u64 = 7_919;
const LATENCIES_NS: u64 = 1 << 16;

/// What a sample costs: from the clock reading that is the wakeup until the sample is stored and the
/// clock can be read again. So each holds one reading of the clock besides. Taken in a row, with warm
/// caches: after a sleep it is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCost {
    /// How many samples it was taken from.
    pub samples: usize,
    /// The least.
    pub min_ns: u64,
    /// The median.
    pub median_ns: u64,
}

/// What a sample of `plan` costs on this thread and CPU, by the code that measures. Allocates before
/// the first sample and none after it. `None` for no samples.
pub fn own_cost(plan: &Plan, samples: usize) -> Option<OwnCost> {
    let cpu = (plan.affinity != Affinity::Unbound).then_some(0);
    calibrate(&mut Recorder::rehearsing(plan, cpu), samples)
}

/// The same by a recorder whose samples are thrown away.
pub(super) fn calibrate(recorder: &mut Recorder, samples: usize) -> Option<OwnCost> {
    let mut costs_ns = vec![0; samples];
    record(recorder, &mut costs_ns);
    costs_ns.sort_unstable();
    let (min_ns, median_ns) = (*costs_ns.first()?, *costs_ns.get(samples / 2)?);
    Some(OwnCost { samples, min_ns, median_ns })
}

fn record(recorder: &mut Recorder, costs_ns: &mut [u64]) {
    let mut latency_ns = 0;
    for cost_ns in costs_ns {
        latency_ns = (latency_ns + STEP_NS) % LATENCIES_NS;
        let expiry_ns = now_ns().saturating_sub(latency_ns);
        let woken_ns = recorder.returned(expiry_ns);
        recorder.missed(0);
        *cost_ns = now_ns().saturating_sub(woken_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_counted_and_ordered() {
        let cost = own_cost(&Plan::default(), 100).unwrap();
        assert_eq!(cost.samples, 100);
        assert!(cost.min_ns <= cost.median_ns);
        assert_eq!(own_cost(&Plan::default(), 0), None);
    }

    #[test]
    fn to_record_a_sample_and_to_change_parts_allocates_nothing() {
        let all = Plan { marks: true, histogram_us: Some(20), ..Plan::default() };
        for plan in [Plan::default(), all] {
            let mut recorder = Recorder::rehearsing(&plan, Some(0));
            let mut costs_ns = vec![0; 1000];
            let info = allocation_counter::measure(|| record(&mut recorder, &mut costs_ns));
            assert_eq!((info.count_total, info.bytes_total), (0, 0));
            let part = recorder.exchange.take().expect("the first return changed it over");
            assert_eq!(part.latencies.count() + recorder.part.latencies.count(), 1000);
        }
    }
}
