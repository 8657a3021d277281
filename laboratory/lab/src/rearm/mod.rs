//! A timeout that is moved again and again before it expires, in different ways: what a move costs,
//! and whether the timeout still comes when it must.
//!
//! One thread moves; each method has a thread that waits, or calls back. The methods take turns of 50 ms in random
//! order. Now and then the moving thread pauses until the timeout must have been delivered, and counts
//! it as missed where it was not. The question of "Re: [PATCH] hrtimer: Update `softirq_expires_next`
//! correctly after `__hrtimer_get_next_event()`" (Thomas Gleixner, 21 April 2021).
//!
//! ```
//! use std::time::Duration;
//! use tardy_lab::rearm::{Plan, start};
//!
//! let plan = Plan { duration: Duration::from_millis(60), ..Plan::default() };
//! for method in start(&plan)?.finish()?.methods {
//!     println!("{}: {} ns a move", method.name, method.call.mean_ns());
//! }
//! # Ok::<(), tardy_lab::rearm::RearmError>(())
//! ```

mod futex;
mod method;
mod mover;
mod plan;
mod queued;
mod served;
mod timeout;
mod timeout_log;
mod waiter;

pub use method::{KNOWN, Kind};
pub use plan::{Pace, Plan, RearmError, TIMEOUT_MAX_NS};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tardy_stats::Latencies;

/// What was measured.
#[derive(Clone, Debug)]
pub struct RearmMeasurement {
    /// How long after the last move the timeout expires.
    pub timeout_ns: u64,
    /// From one move to the next.
    pub every_ns: u64,
    /// How the moving thread waited for its next move.
    pub pace: Pace,
    /// Chose pauses and turns.
    pub seed: u64,
    /// What reading the clock once costs: it is within each [`RearmMethod::call`].
    pub clock_ns: u64,
    /// The moving thread's id.
    pub mover: u32,
    /// One per method.
    pub methods: Vec<RearmMethod>,
}

/// How one method did.
#[derive(Clone, Debug)]
pub struct RearmMethod {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// How often the timeout was moved.
    pub moves: u64,
    /// The time that a move took.
    pub call: Latencies,
    /// Moves, and beginnings of pauses, that came so late that the timeout had passed: each may have
    /// let one be delivered.
    pub late_moves: u64,
    /// Timers that were asked of the kernel by system calls, by whichever thread; `None` where the
    /// method does not count them.
    pub kernel_timers: Option<u64>,
    /// Pauses in which the timeout had to be delivered.
    pub pauses: u64,
    /// Pauses in which it was not, within 1 s.
    pub missed: u64,
    /// How late timeouts were delivered: as many as were.
    pub lateness: Latencies,
    /// CPU time of moves, in the moving thread.
    pub mover_cpu: MoverCpu,
    /// CPU time of the waiting thread, over all.
    pub waiter_cpu_ns: u64,
    /// The waiting thread's id.
    pub waiter: u32,
    /// When it was this method's turn, in order of time; without those beyond the first 262,144.
    pub turns: Vec<Turn>,
}

/// CPU time of some of the moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoverCpu {
    /// How many moves.
    pub samples: u64,
    /// Their CPU time, and what asking for it takes.
    pub ns: u64,
    /// How often that was taken of no move at all.
    pub nothings: u64,
    /// The CPU time of those.
    pub nothing_ns: u64,
}

impl MoverCpu {
    /// Of one move, on average, without what asking for it takes; 0 without any.
    pub fn mean_ns(self) -> f64 {
        let mean = |ns: u64, samples: u64| ns as f64 / samples.max(1) as f64;
        (mean(self.ns, self.samples) - mean(self.nothing_ns, self.nothings)).max(0.0)
    }
}

/// A time in which one method moved, and let its timeouts expire, and nobody else did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its begin.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Moves in it.
    pub moves: u64,
}

impl RearmMethod {
    /// Whether exactly those timeouts were delivered that had to be: all of the pauses, and beyond
    /// them at most one per late move.
    pub fn delivered_as_expected(&self) -> bool {
        let delivered = self.lateness.count();
        self.missed == 0 && (self.pauses..=self.pauses + self.late_moves).contains(&delivered)
    }
}

/// Begins to measure.
///
/// # Errors
/// Where the plan's times do not fit together, or a thread could not be made.
pub fn start(plan: &Plan) -> Result<Running, RearmError> {
    plan.check()?;
    let stop = Arc::<AtomicBool>::default();
    let (alive, done) = channel();
    let (plan, theirs) = (plan.clone(), Arc::clone(&stop));
    let join = std::thread::Builder::new()
        .name("rearm-move".to_owned())
        .spawn(move || {
            let result = mover::run(&plan, &theirs);
            drop::<Sender<()>>(alive);
            result
        })
        .map_err(RearmError::Spawn)?;
    Ok(Running { stop, done, join: Some(join) })
}

/// A measurement that runs. Dropped, it ends.
pub struct Running {
    stop: Arc<AtomicBool>,
    /// Closed when the thread has ended; nothing is ever sent.
    done: Receiver<()>,
    join: Option<JoinHandle<Result<RearmMeasurement, RearmError>>>,
}

impl Running {
    /// Waits until it has ended, at most for `timeout`. Says whether it has.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.done.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    /// Ends it with the next pause. What was measured is kept.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Waits for the end and yields the result.
    ///
    /// # Errors
    /// Where a method failed.
    pub fn finish(mut self) -> Result<RearmMeasurement, RearmError> {
        let join = self.join.take().ok_or(RearmError::Gone)?;
        join.join().map_err(|_| RearmError::Gone)?
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
