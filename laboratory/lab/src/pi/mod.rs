//! What a lock costs a thread of high priority, where one of none has it: the program of "`ARMv7` futex
//! latency spike" (linux-rt-users, 2015).
//!
//! Three threads. *High* (`SCHED_FIFO` 59) and *Low* (no priority, on any CPU) do the same: lock, busy
//! for 1001 ns, unlock, busy for 1001 ns. *Busy* (`SCHED_FIFO` 58) shares High's CPU and spins: what
//! High leaves is taken by it, so that Low goes on only as fast as the lock's protocol makes it. High
//! measures how long its lock call takes, and its rounds less both loads.
//!
//! A round is what the program did, with its readings of the clock and no other: one at the round's end,
//! which is the next one's begin, and those of the loads. So each time to lock and each round holds one
//! reading ([`PiMeasurement::clock_ns`]); a round is kept within the next one's load.
//!
//! Whatever happens to High, the measurement ends: a watchdog above all three ends it when its time is
//! over or no round ends for [`Plan::stall_max`], and Busy ends by itself soon after.
//!
//! ```no_run
//! use tardy_lab::pi::{Plan, start};
//!
//! let measurement = start(&Plan::default(), || false)?.finish()?;
//! println!("at most {} ns of {}", measurement.jitter.max_ns(), measurement.jitter.count());
//! # Ok::<(), tardy_lab::pi::PiError>(())
//! ```

mod busy_wait;
mod crew;
mod high;
mod measurement;
mod notes;
mod others;
mod plan;
mod rounds;
mod throttling;
mod watchdog;

pub use busy_wait::LoadCheck;
pub use high::LONG_ROUND_NS;
pub use measurement::{Ended, PiMeasurement, Tids};
pub use plan::{
    LOAD_MAX_NS, LOAD_NS, LockProtocol, PRIO, PiError, Plan, ROUNDS, STALL_MAX, TIME_MAX,
    TRAINING_ROUNDS,
};
pub use rounds::WorstRound;
pub use throttling::Throttling;

use crate::{DmaLatency, MemoryLock};
use crew::{Crew, join};
use high::{Calibration, High};
use others::{Other, low_policy};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tardy_pthread_mutex::{Kind, Mutex};
use watchdog::{Limits, Watchdog};

/// What the threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    mutex: Mutex,
    /// Read by all in every round, written once.
    stop: AtomicBool,
    ended: OnceLock<Ended>,
    /// High's rounds of all kinds.
    rounds: Apart<AtomicU64>,
}

/// On a cache line of its own, away from the neighbour that the prefetcher brings along.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl Shared {
    /// Ends all; the first reason counts.
    fn end(&self, why: Ended) {
        let _ = self.ended.set(why);
        self.stop.store(true, Relaxed);
    }
}

/// A thread that ends for whatever reason takes all others along.
struct EndsAll(Arc<Shared>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.end(Ended::Failed);
    }
}

/// Begins to measure. `asked` is whether the user wants an end: it is asked by the watchdog, which
/// comes to run even where there is no CPU for anybody else.
///
/// # Errors
/// Where the plan asks for what there is not, or real-time priorities are not permitted.
pub fn start(plan: &Plan, asked: impl Fn() -> bool + Send + 'static) -> Result<Running, PiError> {
    plan.check()?;
    let cpus = plan::usable_cpus()?;
    let cpu = plan.cpu.or(cpus.last().copied()).unwrap_or(0);
    let protocol = plan.protocol.with_ceiling(plan.prio);
    let shared = Arc::new(Shared {
        mutex: Mutex::new(Kind { protocol, robust: plan.robust })?,
        stop: AtomicBool::new(false),
        ended: OnceLock::new(),
        rounds: Apart::default(),
    });
    let mut notes = vec![];
    let dma_latency = plan.dma_latency_us.and_then(|us| kept(DmaLatency::hold(us), &mut notes));
    let (watch, watchdog) = {
        let (ready, is_ready) = channel();
        let (start, started) = channel();
        let watchdog = Watchdog {
            prio: plan.watchdog_prio(),
            other_cpus: cpus.iter().copied().filter(|&other| other != cpu).collect(),
            limits: limits(plan),
            asked,
            ready,
            started,
        };
        let join = spawn("pi-watchdog", &shared, move |shared| watchdog.run(shared))?;
        is_ready.recv().map_err(|_| PiError::Gone)??;
        (start, join)
    };
    let mut crew = Crew::new(Arc::clone(&shared), watch, watchdog);
    let (busy_ready, busy_is_ready) = channel();
    let (low_ready, low_is_ready) = channel();
    let (high_ready, high_is_ready) = channel();
    let (busy_start, busy_started) = channel();
    let (low_start, low_started) = channel();
    let (high_start, high_started) = channel();
    let (alive, done) = channel::<()>();
    // High first and alone, as it measures the loads.
    let others = vec![low_start, busy_start];
    let high = High { plan: plan.clone(), cpu, ready: high_ready, start: high_started, others };
    crew.high = Some(spawn("pi-high", &shared, move |shared| {
        let _alive = alive;
        let ends_all = EndsAll(Arc::clone(shared));
        let result = high.run(shared);
        drop(ends_all);
        result
    })?);
    let high::Ready { tid: high, calibration } = is_ready(&high_is_ready)?;
    let other = |ready, start| Other { plan: plan.clone(), cpu, ready, start };
    let busy = other(busy_ready, busy_started);
    crew.busy = Some(spawn("pi-busy", &shared, move |shared| busy.busy(shared))?);
    let low = other(low_ready, low_started);
    crew.low = Some(spawn("pi-low", &shared, move |shared| {
        let ends_all = EndsAll(Arc::clone(shared));
        let result = low.low(shared);
        drop(ends_all);
        result
    })?);
    let tids =
        Tids { high, busy: is_ready(&busy_is_ready)?.tid, low: is_ready(&low_is_ready)?.tid };
    notes.extend(notes::circumstances(plan, cpus.len(), &calibration));
    // Last, when all that the threads will use has been mapped.
    let memory = if plan.lock_memory { kept(MemoryLock::hold(), &mut notes) } else { None };
    let throttling = Throttling::of(cpu);
    // On one CPU nothing that follows here runs before the end: it is High's from now on.
    crew.go(&high_start);
    Ok(Running {
        plan: plan.clone(),
        crew,
        done,
        facts: Facts { cpu, cpus: cpus.len(), tids, calibration, throttling, notes },
        _held: (dma_latency, memory),
    })
}

fn limits(plan: &Plan) -> Limits {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Limits { time_max_ns: ns(plan.time_max()), stall_max_ns: ns(plan.stall_max) }
}

fn kept<T>(held: Result<T, String>, notes: &mut Vec<String>) -> Option<T> {
    held.map_err(|note| notes.push(note)).ok()
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    shared: &Arc<Shared>,
    life: impl FnOnce(&Arc<Shared>) -> T + Send + 'static,
) -> Result<JoinHandle<T>, PiError> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || life(&shared))
        .map_err(|source| PiError::Spawn { name, source })
}

fn is_ready<T>(from: &Receiver<Result<T, PiError>>) -> Result<T, PiError> {
    from.recv().map_err(|_| PiError::Gone)?
}

/// What is known before the start.
struct Facts {
    cpu: u16,
    cpus: usize,
    tids: Tids,
    calibration: Calibration,
    throttling: Throttling,
    notes: Vec<String>,
}

/// A measurement that runs. Dropped, it ends.
pub struct Running {
    plan: Plan,
    crew: Crew,
    /// Closed when High has ended; nothing is ever sent.
    done: Receiver<()>,
    facts: Facts,
    _held: (Option<DmaLatency>, Option<MemoryLock>),
}

impl Running {
    /// High's rounds up to now, those that do not count included.
    pub fn rounds(&self) -> u64 {
        self.crew.shared.rounds.0.load(Relaxed)
    }

    /// Waits until High has ended, at most for `timeout`. Says whether it has.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.done.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    /// Ends it after the round that it is in. What was measured is kept.
    pub fn stop(&self) {
        self.crew.shared.end(Ended::Stopped);
    }

    /// Waits for the end and yields the result.
    ///
    /// # Errors
    /// Where a thread could not go on.
    pub fn finish(mut self) -> Result<PiMeasurement, PiError> {
        let high = join(self.crew.high.take())?.ok_or(PiError::Gone)?;
        let low_rounds = join(self.crew.low.take())?;
        join(self.crew.busy.take())?;
        let (high, low_rounds) = (high?, low_rounds?);
        let ended = self.crew.shared.ended.get().copied().unwrap_or(Ended::Failed);
        let Self { plan, facts, .. } = &mut self;
        let mut notes = std::mem::take(&mut facts.notes);
        notes.extend(notes::ending(ended, plan));
        let Calibration { clock_ns, kernel_call_ns, locked, free } = facts.calibration.clone();
        let (low_policy, low_prio) = low_policy(plan.protocol);
        Ok(PiMeasurement {
            protocol: plan.protocol,
            robust: plan.robust,
            cpu: facts.cpu,
            cpus: facts.cpus,
            prio: plan.prio,
            low_policy,
            low_prio,
            tids: facts.tids,
            clock_ns,
            kernel_call_ns,
            locked,
            free,
            training_rounds: plan.training_rounds,
            to_lock: high.counted.to_lock,
            jitter: high.counted.jitter,
            histograms: high.counted.histograms,
            worst: high.counted.worst,
            shorter: high.counted.shorter,
            slow_calls: high.counted.slow_calls,
            sleeps: high.sleeps,
            long_rounds: high.long_rounds,
            long_rounds_preempted: high.long_rounds_preempted,
            owners_died: high.owners_died,
            low_rounds,
            throttling: facts.throttling,
            began_ns: high.began_ns,
            ended_ns: high.ended_ns,
            ended,
            notes,
        })
    }
}
