//! What a sample costs the thread that takes it.

use super::plan::{Affinity, Plan};
use super::recorder::Recorder;
use crate::clock::{now_ns, sleep_for};

/// Samples that are recorded on throw-away data before a measurement begins: about a millisecond.
pub(super) const CALIBRATIONS: usize = 5_000;

/// Samples that are recorded each after a sleep of [`SLEEP_NS`], on throw-away data too.
const SLEEPS: usize = 64;
/// Long enough to be a real sleep, with its way through the kernel.
const SLEEP_NS: u64 = 50_000;

/// How far the calibrated latencies are apart: they go around 0–65 µs, so that they fall into many
/// classes of the distribution, as real ones do. Prime, so that all of them come.
const STEP_NS: u64 = 7_919;
const LATENCIES_NS: u64 = 1 << 16;

/// What a sample costs: from the clock reading that is the wakeup until the sample is stored and the
/// clock can be read again. So each holds one reading of the clock besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnCost {
    /// How many samples were taken in a row, with warm caches.
    pub samples: usize,
    /// The least of them.
    pub min_ns: u64,
    /// Their median.
    pub median_ns: u64,
    /// How many samples were taken each after a short sleep, as in a measurement; a longer one, or
    /// others' work in between, makes them dearer still.
    pub sleeps: usize,
    /// Their median.
    pub slept_median_ns: u64,
}

/// What a sample of `plan` costs on this thread and CPU, by the code that measures. Allocates before
/// the first sample and none after it. `None` for no samples.
pub fn own_cost(plan: &Plan, samples: usize) -> Option<OwnCost> {
    let cpu = (plan.affinity != Affinity::Unbound).then_some(0);
    calibrate(&mut Recorder::rehearsing(plan, cpu), samples)
}

/// The same by a recorder whose samples are thrown away.
pub(super) fn calibrate(recorder: &mut Recorder, samples: usize) -> Option<OwnCost> {
    let mut costs_ns = vec![0; samples.max(SLEEPS)];
    let slept_ns = &mut costs_ns[..SLEEPS];
    for cost_ns in &mut *slept_ns {
        // One that a signal cuts short is a sleep all the same.
        sleep_for(SLEEP_NS);
        record_all(recorder, std::slice::from_mut(cost_ns));
    }
    let slept_median_ns = *sorted(slept_ns).get(SLEEPS / 2)?;
    let costs_ns = &mut costs_ns[..samples];
    record_all(recorder, costs_ns);
    let costs_ns = sorted(costs_ns);
    let (min_ns, median_ns) = (*costs_ns.first()?, *costs_ns.get(samples / 2)?);
    Some(OwnCost { samples, min_ns, median_ns, sleeps: SLEEPS, slept_median_ns })
}

fn sorted(costs_ns: &mut [u64]) -> &[u64] {
    costs_ns.sort_unstable();
    costs_ns
}

/// A function of its own, so that a profiler can tell it from what is around it.
#[inline(never)]
fn record_all(recorder: &mut Recorder, costs_ns: &mut [u64]) {
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
            let info = allocation_counter::measure(|| record_all(&mut recorder, &mut costs_ns));
            assert_eq!((info.count_total, info.bytes_total), (0, 0));
            let part = recorder.exchange.take().expect("the first return changed it over");
            assert_eq!(part.latencies.count() + recorder.part.latencies.count(), 1000);
        }
    }
}
