//! How long sleeps take that ask for the same time in different ways.
//!
//! One thread runs all methods once a round, in a fresh random order, so that whatever drifts or
//! disturbs hits all of them alike. [`compare`] then says which of them differ, and what the timer
//! slack has to do with it. The question of "Re: [PATCH] kernel/time: Feedback reply for `hr_sleep`
//! syscall, a fine-grained sleep service" (Thomas Gleixner, 7 April 2021).
//!
//! ```
//! use tardy_lab::sleep::{Plan, compare, start};
//!
//! let plan = Plan { rounds: 20, ..Plan::default() };
//! let measurement = start(&plan)?.finish()?;
//! for method in &measurement.methods {
//!     println!("{}: {} ns", method.name(), method.elapsed.mean_ns());
//! }
//! println!("{} groups", compare(&measurement).by_mean.len());
//! # Ok::<(), tardy_lab::sleep::SleepError>(())
//! ```

mod compare;
mod method;
mod plan;
mod thread;

pub use compare::{ALIKE_NS, ALPHA, Comparison, Pair, SlackFinding, SlackVerdict, compare};
pub use method::{KNOWN, Kind, Slack, names};
pub use plan::{Plan, REQUEST_MAX_NS, ROUNDS, ROUNDS_MAX, SleepError, WARM_UP_ROUNDS};

use crate::usage::fault_note;
use crate::{DmaLatency, MemoryLock, Policy, ThreadUsage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tardy_stats::Latencies;

/// What was measured.
#[derive(Clone, Debug)]
pub struct SleepMeasurement {
    /// How long each sleep was to be.
    pub request_ns: u64,
    /// Rounds that count: each method has so many samples.
    pub rounds: u64,
    /// Rounds before them that were thrown away.
    pub warm_up_rounds: u64,
    /// Rounds that a signal cut short; they do not count.
    pub interrupted: u64,
    /// The thread's timer slack as the kernel told it; 0 under a real-time policy.
    pub slack_ns: u64,
    /// The slack as the kernel told it after it was set to 1 ns.
    pub least_slack_ns: u64,
    /// The policy that the thread really had.
    pub policy: Policy,
    /// Its real-time priority; 0 where the policy has none.
    pub prio: u8,
    /// The CPU that it was bound to.
    pub cpu: Option<u16>,
    /// Chose the orders of the rounds.
    pub seed: u64,
    /// What it costs to ask for the thread's CPU time once: subtracted from [`MethodMeasurement::cpu`].
    pub cpu_clock_ns: u64,
    /// What the kernel counted against the thread over the rounds that count; `None` where it does not
    /// tell.
    pub usage: Option<ThreadUsage>,
    /// One per method and slack.
    pub methods: Vec<MethodMeasurement>,
    /// What the permissions did not allow, one sentence each with what would bring it.
    pub notes: Vec<String>,
}

/// How one method slept.
#[derive(Clone, Debug)]
pub struct MethodMeasurement {
    /// The call's name.
    pub call: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The slack that it slept with.
    pub slack: Slack,
    /// From before the call until after it.
    pub elapsed: Latencies,
    /// Microseconds (rounded down) and how many sleeps took them, least first, none empty. Exact.
    pub micros: Vec<(u64, u64)>,
    /// CPU time of the thread per sleep, less what asking costs.
    pub cpu: Latencies,
    /// Sleeps that ended before their time, which none may.
    pub early: u64,
    /// The elapsed times, one a round, in order; at most `u32::MAX` each.
    pub series: Vec<u32>,
}

impl MethodMeasurement {
    /// The call's name, and its slack where that is not the thread's own.
    pub fn name(&self) -> String {
        self.slack.names(self.call)
    }
}

/// Begins to measure.
///
/// # Errors
/// Where the plan asks for what there is not. What is merely not permitted is a note in the
/// measurement.
pub fn start(plan: &Plan) -> Result<Running, SleepError> {
    plan.check()?;
    let mut notes = vec![];
    let dma_latency = plan.dma_latency_us.and_then(|us| kept(DmaLatency::hold(us), &mut notes));
    let shared = Arc::<Shared>::default();
    let (alive, done) = channel();
    let (plan, theirs) = (plan.clone(), Arc::clone(&shared));
    let lock_memory = plan.lock_memory;
    let join = std::thread::Builder::new()
        .name("sleep".to_owned())
        .spawn(move || {
            let result = thread::run(&plan, &theirs);
            drop::<std::sync::mpsc::Sender<()>>(alive);
            result
        })
        .map_err(SleepError::Spawn)?;
    let memory = if lock_memory { kept(MemoryLock::hold(), &mut notes) } else { None };
    let held = (dma_latency, memory);
    Ok(Running { shared, done, join: Some(join), notes, held })
}

fn kept<T>(held: Result<T, String>, notes: &mut Vec<String>) -> Option<T> {
    held.map_err(|note| notes.push(note)).ok()
}

/// What the measuring thread and who watches it share.
#[derive(Debug, Default)]
struct Shared {
    rounds: AtomicU64,
    stop: AtomicBool,
}

/// A measurement that runs. Dropped, it ends.
pub struct Running {
    shared: Arc<Shared>,
    /// Closed when the thread has ended; nothing is ever sent.
    done: Receiver<()>,
    join: Option<JoinHandle<Result<SleepMeasurement, SleepError>>>,
    notes: Vec<String>,
    held: (Option<DmaLatency>, Option<MemoryLock>),
}

impl Running {
    /// Rounds that count so far.
    pub fn rounds(&self) -> u64 {
        self.shared.rounds.load(Relaxed)
    }

    /// Waits until it has ended, at most for `timeout`. Says whether it has.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.done.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    /// Ends it after the round that it is in. What was measured is kept.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
    }

    /// Waits for the end and yields the result.
    ///
    /// # Errors
    /// Where the thread could not measure.
    pub fn finish(mut self) -> Result<SleepMeasurement, SleepError> {
        let join = self.join.take().ok_or(SleepError::Gone)?;
        let mut measurement = join.join().map_err(|_| SleepError::Gone)??;
        measurement.notes.splice(0..0, std::mem::take(&mut self.notes));
        measurement.notes.extend(fault_note([("sleep", measurement.usage)], self.held.1.is_some()));
        Ok(measurement)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(join) = self.join.take() {
            let _ = join.join();
        }
    }
}
