//! Threads that ask to be woken at fixed times and see how late they are: cyclictest's measurement.
//!
//! ```
//! use std::time::Duration;
//! use tardy_lab::cyclic::{Plan, prepare};
//!
//! let plan = Plan { duration: Some(Duration::from_millis(20)), ..Plan::default() };
//! // The threads exist now and wait: the time to attach a recorder to them.
//! let prepared = prepare(&plan)?;
//! for thread in prepared.threads() {
//!     println!("{} is thread {} on CPU {:?}", thread.name, thread.tid, thread.cpu);
//! }
//! let running = prepared.start();
//! while !running.wait(Duration::from_millis(10)) {
//!     println!("{:?}", running.snapshot());
//! }
//! let measurement = running.finish();
//! assert!(!measurement.threads.is_empty());
//! # Ok::<(), tardy_lab::cyclic::CyclicError>(())
//! ```

mod live;
mod plan;
mod thread;

pub use live::LiveFigures;
pub use plan::{Affinity, CyclicError, INTERVAL_MAX_NS, INTERVAL_MIN_NS, Phase, Plan, THREADS_MAX};

use crate::clock::now_ns;
use crate::{BoundBroken, DmaLatency, Measurement, MemoryLock, Policy, ThreadMeasurement};
use live::Live;
use plan::{Ending, ThreadPlan, usable_cpus};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tardy_model::MarkReader;
use thread::{Outcome, Ready, Worker};

/// A measuring thread's stack. It calls nothing deep, and a locked stack is memory.
const STACK_BYTES: usize = 256 << 10;

/// Makes the threads, up to where they wait for the start.
///
/// # Errors
/// Where the plan asks for what there is not, or a thread could not be made. What is merely not
/// permitted is a note in the measurement.
pub fn prepare(plan: &Plan) -> Result<Prepared, CyclicError> {
    let usable = usable_cpus()?;
    let threads = plan.threads(&usable)?;
    let mut notes = vec![];
    let dma_latency = plan.dma_latency_us.and_then(|us| kept(DmaLatency::hold(us), &mut notes));
    let ending = Arc::<Ending>::default();
    let (ready_sender, ready) = channel();
    let (alive, done) = channel();
    let mut crew = Crew { members: vec![], ending: Arc::clone(&ending), done };
    for (index, thread) in threads.into_iter().enumerate() {
        let (start, start_receiver) = channel();
        let live = Arc::<Live>::default();
        let worker = Worker {
            index,
            plan: plan.clone(),
            thread: thread.clone(),
            ending: Arc::clone(&ending),
            live: Arc::clone(&live),
            ready: ready_sender.clone(),
            start: start_receiver,
        };
        let alive: Sender<()> = alive.clone();
        let join = std::thread::Builder::new()
            .name(thread.name.clone())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let outcome = worker.run();
                drop(alive);
                outcome
            })
            .map_err(|source| CyclicError::Spawn { index, source })?;
        crew.members.push(Member { thread, live, start: Some(start), join: Some(join) });
    }
    drop((ready_sender, alive));
    let mut ready: Vec<Ready> = ready.iter().take(crew.members.len()).collect();
    if ready.len() < crew.members.len() {
        return Err(CyclicError::Gone);
    }
    ready.sort_by_key(|state| state.index);
    let mut states = vec![];
    for state in ready {
        if let Some((cpu, source)) = state.failed {
            return Err(CyclicError::Cpu { cpu, source });
        }
        for note in state.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let Member { thread, .. } = &crew.members[state.index];
        states.push(PreparedThread {
            name: thread.name.clone(),
            tid: state.tid,
            cpu: thread.cpu,
            policy: state.policy,
            prio: state.prio,
            interval_ns: thread.interval_ns,
            marks: state.marks,
        });
    }
    // Last, when all that the threads will use has been mapped.
    let memory = if plan.lock_memory { kept(MemoryLock::hold(), &mut notes) } else { None };
    Ok(Prepared { threads: states, crew, notes, held: Held { _dma: dma_latency, _memory: memory } })
}

fn kept<T>(held: Result<T, String>, notes: &mut Vec<String>) -> Option<T> {
    held.map_err(|note| notes.push(note)).ok()
}

/// A measuring thread that waits for the start.
pub struct PreparedThread {
    /// Its name: `cyclic-0` and so on.
    pub name: String,
    /// Its thread id.
    pub tid: u32,
    /// The CPU that it is bound to.
    pub cpu: Option<u16>,
    /// The policy that it really has.
    pub policy: Policy,
    /// Its real-time priority; 0 where the policy has none.
    pub prio: u8,
    /// From one expiry to the next.
    pub interval_ns: u64,
    marks: Option<MarkReader>,
}

/// Threads that wait for the start. Dropped, they end.
pub struct Prepared {
    threads: Vec<PreparedThread>,
    crew: Crew,
    notes: Vec<String>,
    held: Held,
}

impl Prepared {
    /// The threads.
    pub fn threads(&self) -> &[PreparedThread] {
        &self.threads
    }

    /// What the permissions did not allow, as it will stand in the measurement.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Takes the recorder's ends of the threads' marks: one per thread where [`Plan::marks`] asked
    /// for them, none the second time.
    pub fn take_marks(&mut self) -> Vec<MarkReader> {
        self.threads.iter_mut().filter_map(|thread| thread.marks.take()).collect()
    }

    /// Starts all of them at one time.
    pub fn start(mut self) -> Running {
        let start_ns = now_ns();
        for member in &mut self.crew.members {
            if let Some(start) = member.start.take() {
                // A thread that is gone shows when it is joined.
                let _ = start.send(start_ns);
            }
        }
        let Self { threads, crew, notes, held } = self;
        Running { threads, crew, notes, _held: held }
    }
}

/// A measurement that runs. Dropped, it ends.
pub struct Running {
    threads: Vec<PreparedThread>,
    crew: Crew,
    notes: Vec<String>,
    _held: Held,
}

/// Ends a measurement from anywhere, for instance on Ctrl-C.
#[derive(Clone)]
pub struct Stopper {
    ending: Arc<Ending>,
}

impl Stopper {
    /// Ends the measurement: each thread at its next return, so within one interval.
    pub fn stop(&self) {
        self.ending.stop.store(true, Relaxed);
    }
}

impl Running {
    /// The threads.
    pub fn threads(&self) -> &[PreparedThread] {
        &self.threads
    }

    /// What each thread has seen up to now, in the order of [`Running::threads`].
    pub fn snapshot(&self) -> Vec<LiveFigures> {
        self.crew.members.iter().map(|member| member.live.figures()).collect()
    }

    /// Waits until all threads have ended, at most for `timeout`. Says whether they have.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.crew.done.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    /// The bound that was exceeded, as soon as it is.
    pub fn broken_by(&self) -> Option<&BoundBroken> {
        self.crew.ending.broken.get()
    }

    /// Ends the measurement: each thread at its next return, so within one interval.
    pub fn stop(&self) {
        self.stopper().stop();
    }

    /// A handle to end it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper { ending: Arc::clone(&self.crew.ending) }
    }

    /// Waits for the end and yields the result. Without duration, loops or [`Running::stop`] that
    /// is for ever.
    pub fn finish(mut self) -> Measurement {
        let mut notes = std::mem::take(&mut self.notes);
        let mut threads = vec![];
        let mut histograms = vec![];
        for (state, member) in self.threads.iter().zip(&mut self.crew.members) {
            let Some(Ok(Some(outcome))) = member.join.take().map(JoinHandle::join) else {
                notes.push(format!(
                    "{} ended without a result: this is a defect of tardy, please report it.",
                    state.name
                ));
                continue;
            };
            notes.extend(outcome.notes);
            histograms.extend(outcome.histogram);
            threads.push(ThreadMeasurement {
                name: state.name.clone(),
                pid: state.tid,
                policy: state.policy,
                prio: state.prio,
                cpu: state.cpu,
                interval_ns: state.interval_ns,
                latencies: outcome.latencies,
                overruns: outcome.overruns,
            });
        }
        let broken_by = self.broken_by().cloned();
        Measurement { threads, broken_by, notes, histograms }
    }
}

/// What is held for as long as the measurement lives.
struct Held {
    _dma: Option<DmaLatency>,
    _memory: Option<MemoryLock>,
}

struct Member {
    thread: ThreadPlan,
    live: Arc<Live>,
    /// Closed without a word, it sends the thread home.
    start: Option<Sender<u64>>,
    join: Option<JoinHandle<Option<Outcome>>>,
}

/// The threads. Dropped, they are stopped and joined, so that none outlives its measurement.
struct Crew {
    members: Vec<Member>,
    ending: Arc<Ending>,
    /// Closed when the last thread has ended; nothing is ever sent.
    done: Receiver<()>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.ending.stop.store(true, Relaxed);
        for member in &mut self.members {
            member.start = None;
        }
        for member in &mut self.members {
            if let Some(join) = member.join.take() {
                let _ = join.join();
            }
        }
    }
}
