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

mod crew;
mod cut;
mod live;
mod own_cost;
mod plan;
mod recorder;
mod thread;

pub use cut::Part;
pub use live::LiveFigures;
pub use own_cost::{OwnCost, own_cost};
pub use plan::{Affinity, CyclicError, INTERVAL_MAX_NS, INTERVAL_MIN_NS, Phase, Plan, THREADS_MAX};

use crate::clock::now_ns;
use crate::usage::fault_note;
use crate::{BoundBroken, DmaLatency, Measurement, MemoryLock, Policy, ThreadMeasurement};
use crew::{Crew, Member};
use cut::Exchange;
use live::Live;
use plan::{Ending, usable_cpus};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;
use tardy_model::MarkReader;
use thread::{Ready, Worker};

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
        let exchange = Arc::<Exchange>::default();
        let worker = Worker {
            index,
            plan: plan.clone(),
            thread: thread.clone(),
            ending: Arc::clone(&ending),
            live: Arc::clone(&live),
            exchange: Arc::clone(&exchange),
            ready: ready_sender.clone(),
            start: start_receiver,
        };
        let (sender, home) = sync_channel(1);
        let (let_go, goes) = channel::<()>();
        let alive: Sender<()> = alive.clone();
        let join = std::thread::Builder::new()
            .name(thread.name.clone())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let Some(outcome) = worker.run() else { return };
                // Nobody is there to take it where the measurement was dropped.
                let _ = sender.send(outcome);
                drop((sender, alive));
                let _ = goes.recv();
            })
            .map_err(|source| CyclicError::Spawn { index, source })?;
        crew.members.push(Member {
            thread,
            live,
            exchange,
            start: Some(start),
            home,
            let_go: Some(let_go),
            join: Some(join),
            outcome: None,
            cut: None,
        });
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
    Ok(Prepared { threads: states, crew, notes, held: Held { _dma: dma_latency, memory } })
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
        Running { threads, crew, notes, held }
    }
}

/// A measurement that runs. Dropped, it ends.
pub struct Running {
    threads: Vec<PreparedThread>,
    crew: Crew,
    notes: Vec<String>,
    held: Held,
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

    /// Takes what each thread has measured since the last cut, or since the start, and lets them go on:
    /// one [`Part`] per thread, in the order of [`Running::threads`].
    ///
    /// No sample is lost, none is in two parts, and parts are in order of time: a wait belongs to the
    /// part in which it began. The threads do not stop, wait or allocate for it; each changes over at
    /// its next return, so at its own time within one interval, and for that long this call takes. When
    /// it is back, every thread has begun its first wait of the next part. What comes after the last
    /// cut is had by one more once the threads have ended ([`Running::wait`]); from then on parts are
    /// empty. [`Running::finish`] yields the whole all the same.
    ///
    /// Its cost is the caller's: 200 KB a thread, and looking every tenth of an interval whether they
    /// have changed over.
    pub fn cut(&mut self) -> Vec<Part> {
        for member in &self.crew.members {
            member.exchange.ask(Part::touched());
        }
        self.crew.members.iter_mut().map(Member::cut).collect()
    }

    /// Waits for the end and yields the result. Without duration, loops or [`Running::stop`] that
    /// is for ever.
    pub fn finish(mut self) -> Measurement {
        let mut notes = std::mem::take(&mut self.notes);
        let mut threads = vec![];
        let mut histograms = vec![];
        // None is let go before all are done.
        let _ = self.crew.done.recv();
        for (state, member) in self.threads.iter().zip(&mut self.crew.members) {
            member.join();
            let Some(outcome) = member.outcome.take() else {
                notes.push(format!(
                    "{} ended without a result: this is a bug in tardy, please report it.",
                    state.name
                ));
                continue;
            };
            notes.extend(outcome.notes);
            histograms.extend(outcome.histogram);
            let mut whole = outcome.part;
            if let Some(cut) = &member.cut {
                whole.merge(cut);
            }
            threads.push(ThreadMeasurement {
                name: state.name.clone(),
                pid: state.tid,
                policy: state.policy,
                prio: state.prio,
                cpu: state.cpu,
                interval_ns: state.interval_ns,
                latencies: whole.latencies,
                overruns: whole.overruns,
                blocking: whole.blocking,
                usage: outcome.usage,
                own_cost: outcome.own_cost,
            });
        }
        let used = threads.iter().map(|thread| (&*thread.name, thread.usage));
        notes.extend(fault_note(used, self.held.memory.is_some()));
        let broken_by = self.broken_by().cloned();
        Measurement { threads, broken_by, notes, histograms }
    }
}

/// What is held for as long as the measurement lives.
struct Held {
    _dma: Option<DmaLatency>,
    memory: Option<MemoryLock>,
}
