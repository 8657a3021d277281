//! One measuring thread: getting ready, the loop, the result.

use super::cut::{Exchange, Part};
use super::live::Live;
use super::own_cost::{CALIBRATIONS, OwnCost, calibrate};
use super::plan::{Ending, Plan, ThreadPlan};
use super::recorder::Recorder;
use crate::clock::{now_ns, sleep_until};
use crate::sched::{bind, set_current, set_other, tid};
use crate::{BoundBroken, Policy, ThreadUsage};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender};
use tardy_model::{MarkReader, TaskId};
use tardy_stats::Histogram;
use tardy_thread_policy::set_timer_level;

/// Cycles that are run and thrown away before the start, so that the first one that counts finds
/// the loop's code and data in memory.
const WARM_UP_CYCLES: u64 = 4;
const WARM_UP_INTERVAL_NS: u64 = 50_000;

/// A thread that waits for the start.
pub(super) struct Ready {
    pub(super) index: usize,
    pub(super) tid: u32,
    pub(super) policy: Policy,
    pub(super) prio: u8,
    pub(super) marks: Option<MarkReader>,
    /// What was not permitted.
    pub(super) notes: Vec<String>,
    /// The CPU that it could not be bound to.
    pub(super) failed: Option<(u16, std::io::Error)>,
}

/// What a thread brings home.
pub(super) struct Outcome {
    /// Since the last cut.
    pub(super) part: Part,
    pub(super) histogram: Option<Histogram>,
    pub(super) usage: Option<ThreadUsage>,
    pub(super) own_cost: Option<OwnCost>,
    pub(super) notes: Vec<String>,
}

/// Everything that a measuring thread is given.
pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) plan: Plan,
    pub(super) thread: ThreadPlan,
    pub(super) ending: Arc<Ending>,
    pub(super) live: Arc<Live>,
    pub(super) exchange: Arc<Exchange>,
    /// Says that it is ready.
    pub(super) ready: Sender<Ready>,
    /// The common start in ns, or closed where there will be none.
    pub(super) start: Receiver<u64>,
}

impl Worker {
    /// The thread's life. `None` where it was not started.
    pub(super) fn run(self) -> Option<Outcome> {
        let Self { index, plan, thread, ending, live, exchange, ready, start } = self;
        let (policy, notes) = take_policy(&plan, &thread);
        let failed = thread.cpu.and_then(|cpu| bind(cpu).err().map(|error| (cpu, error)));
        let tid = tid();
        let own_cost = rehearse(&plan, &thread);
        let (recorder, reader) = Recorder::new(&plan, TaskId(tid), thread.cpu, (live, exchange));
        let mut cycles = Cycles {
            recorder,
            interval_ns: thread.interval_ns,
            loops: plan.loops.unwrap_or(u64::MAX),
            break_over_ns: plan.break_over_ns.unwrap_or(u64::MAX),
        };
        let prio = if matches!(policy, Policy::Fifo | Policy::Rr) { thread.prio } else { 0 };
        let state = Ready { index, tid, policy, prio, marks: reader, notes, failed };
        ready.send(state).ok()?;
        drop(ready);
        let start_ns = start.recv().ok()?;
        let end_ns = plan.duration.map_or(u64::MAX, |duration| {
            start_ns.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
        });
        // Where even the way here took longer than the first interval, that is the start's own
        // lateness and no sample: begin at the next expiry that can still be waited for.
        let mut first_ns = start_ns + thread.first_ns;
        skip_missed(&mut first_ns, thread.interval_ns, now_ns());
        // What has been before, the way here included, is no part of the measurement.
        let before = ThreadUsage::now();
        let result = cycles.measure(&ending, first_ns, end_ns);
        let usage = ThreadUsage::now().zip(before).map(|(after, before)| after.since(before));
        let Recorder { part, histogram, .. } = cycles.recorder;
        let notes = match result {
            Ok(Some(broken_by)) => {
                // The first one counts. The others stop at their next return.
                let _ = ending.broken.set(BoundBroken { thread: thread.name, ..broken_by });
                ending.stop.store(true, Relaxed);
                vec![]
            }
            Ok(None) => vec![],
            Err(error) => vec![format!(
                "{} ended early: clock_nanosleep on CLOCK_MONOTONIC failed ({error}).",
                thread.name
            )],
        };
        Some(Outcome { part, histogram, usage, own_cost, notes })
    }
}

/// Takes the policy asked for, or what there is. Says which, and what was lost.
fn take_policy(plan: &Plan, thread: &ThreadPlan) -> (Policy, Vec<String>) {
    let mut notes = vec![];
    let mut policy = plan.policy;
    if let Err(error) = set_current(policy, thread.prio, thread.budget) {
        let name = policy.kernel_name();
        let remedy = match policy {
            Policy::Fifo | Policy::Rr => {
                format!("allow {name} with CAP_SYS_NICE or `ulimit -r {}`", thread.prio)
            }
            // Rights are there: it is the time.
            Policy::Deadline if error.kind() == std::io::ErrorKind::InvalidInput => {
                "an interval between /proc/sys/kernel/sched_deadline_period_min_us and _max_us \
                 (100 µs and 4.19 s by default) is needed"
                    .to_owned()
            }
            Policy::Deadline => "CAP_SYS_NICE, all CPUs of the root domain and room in \
                                 /proc/sys/kernel/sched_rt_runtime_us are needed"
                .to_owned(),
            Policy::Other => "start it from a thread without a real-time policy".to_owned(),
        };
        notes.push(format!(
            "{name} was refused ({error}), so the threads ran under SCHED_OTHER and the latencies \
             include other tasks' turns and the timer slack; {remedy}."
        ));
        policy = Policy::Other;
        // A refusal may leave an inherited real-time policy in place; going down needs no permission.
        let _ = set_other();
    }
    if let Some(slack_ns) = plan.timer_slack_ns
        && let Err(error) = set_current_timer_slack(NonZeroU64::new(slack_ns))
    {
        notes.push(format!(
            "The timer slack could not be set to {slack_ns} ns ({error}), so the latencies \
             include the process's default slack; it needs a kernel with PR_SET_TIMERSLACK."
        ));
    }
    if let Some(level) = thread.timer_level
        && let Err(error) = set_timer_level(level)
    {
        notes.push(format!(
            "{} did not get the timer level {level} ({error}), so its timers expire as without \
             levels; the kernel `policies` (tardy vm build policies) has levels, and setting one \
             needs CAP_SYS_NICE.",
            thread.name
        ));
    }
    (policy, notes)
}

/// The same loop on data of its own, so that all of its code has run once; then the cost of a sample.
fn rehearse(plan: &Plan, thread: &ThreadPlan) -> Option<OwnCost> {
    let mut cycles = Cycles {
        recorder: Recorder::rehearsing(plan, thread.cpu),
        interval_ns: WARM_UP_INTERVAL_NS,
        loops: WARM_UP_CYCLES,
        break_over_ns: u64::MAX,
    };
    // Whatever happens here will happen again where it counts.
    let _ = cycles.measure(&Ending::default(), now_ns() + WARM_UP_INTERVAL_NS, u64::MAX);
    let _ = ThreadUsage::now();
    calibrate(&mut cycles.recorder, CALIBRATIONS)
}

/// Moves `expiry_ns` to the first one at or after `now_ns`. Returns how many were skipped.
#[inline]
fn skip_missed(expiry_ns: &mut u64, interval_ns: u64, now_ns: u64) -> u64 {
    if now_ns <= *expiry_ns {
        return 0;
    }
    let missed = (now_ns - *expiry_ns).div_ceil(interval_ns);
    *expiry_ns += missed * interval_ns;
    missed
}

struct Cycles {
    recorder: Recorder,
    interval_ns: u64,
    loops: u64,
    break_over_ns: u64,
}

impl Cycles {
    /// Waits and records until one of the ends. Yields the bound that was broken, if it was this
    /// thread's; its name is not filled in.
    ///
    /// Not inlined, so that the warm-up runs the very code that counts.
    #[inline(never)]
    fn measure(
        &mut self,
        ending: &Ending,
        mut expiry_ns: u64,
        end_ns: u64,
    ) -> Result<Option<BoundBroken>, Errno> {
        let interval_ns = self.interval_ns;
        while !ending.stop.load(Relaxed) {
            match sleep_until(expiry_ns) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            let now_ns = self.recorder.returned(expiry_ns);
            let latency_ns = now_ns.saturating_sub(expiry_ns);
            if latency_ns > self.break_over_ns {
                return Ok(Some(BoundBroken { thread: String::new(), latency_ns, expiry_ns }));
            }
            if now_ns >= end_ns || self.recorder.count() >= self.loops {
                break;
            }
            expiry_ns += interval_ns;
            self.recorder.missed(skip_missed(&mut expiry_ns, interval_ns, now_ns));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::skip_missed;

    #[test]
    fn a_thread_in_time_skips_nothing_and_a_late_one_what_is_past() {
        // (next expiry, now) -> (expiry waited for, skipped), at an interval of 10; as cyclictest's
        // `while (now > next) next += interval`.
        for ((mut expiry_ns, now_ns), expected) in [
            ((100, 95), (100, 0)),
            ((100, 100), (100, 0)),
            ((100, 101), (110, 1)),
            ((100, 110), (110, 1)),
            ((100, 111), (120, 2)),
            ((100, 1_000_000), (1_000_000, 99_990)),
        ] {
            let skipped = skip_missed(&mut expiry_ns, 10, now_ns);
            assert_eq!((expiry_ns, skipped), expected);
        }
    }
}
