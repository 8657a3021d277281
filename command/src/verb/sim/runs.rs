//! Many simulations at once, on threads of this machine; their number changes no result.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tardy_sim::file::File;
use tardy_sim::{Observer, START_NS, Simulation, ThreadAt};
use tardy_stats::Latencies;

/// Between two looks at the progress, and at whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// A simulation goes on for so much of its time before it says how far it is, ns.
const SLICE_NS: u64 = 100_000_000;

/// What simulations of one system have shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    /// Of each thread of the workload that is watched.
    pub(super) latencies: Vec<Option<Latencies>>,
    pub(super) steps: u64,
    pub(super) programmed: u64,
    pub(super) moves: u64,
}

impl Figures {
    fn of(file: &File) -> Self {
        let watched = file.system.workload.threads.iter().map(|thread| thread.watched);
        let latencies = watched.map(|watched| watched.then(Latencies::default)).collect();
        Self { latencies, ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        for (sum, latencies) in self.latencies.iter_mut().zip(&other.latencies) {
            if let (Some(sum), Some(latencies)) = (sum, latencies) {
                sum.merge(latencies);
            }
        }
        self.steps += other.steps;
        self.programmed += other.programmed;
        self.moves += other.moves;
    }
}

impl Observer for Figures {
    const EVENTS: bool = false;
    const STATES: bool = false;

    fn late(&mut self, thread: ThreadAt, lateness_ns: u64) {
        if let Some(Some(latencies)) = self.latencies.get_mut(thread as usize) {
            latencies.record(lateness_ns);
        }
    }
}

/// All runs of a policy together.
pub(super) struct PolicyRuns<'a> {
    pub(super) policy: &'a str,
    pub(super) totals: Figures,
}

impl PolicyRuns<'_> {
    /// The threads that come of one entry of the file as one, where any of them is watched.
    pub(super) fn by_group<'b>(
        &'b self,
        file: &'b File,
    ) -> impl Iterator<Item = (String, Latencies)> + 'b {
        file.groups.iter().filter_map(|(name, range)| {
            let mut all = self.totals.latencies.get(range.clone())?.iter().flatten();
            let mut sum = all.next()?.clone();
            all.for_each(|latencies| sum.merge(latencies));
            Some((name.clone(), sum))
        })
    }

    pub(super) fn programmed_per_s(&self, file: &File) -> f64 {
        let seconds = file.span_ns as f64 / 1e9 * f64::from(file.runs);
        if seconds > 0.0 { self.totals.programmed as f64 / seconds } else { 0.0 }
    }
}

/// Simulates every policy as often as the file says.
pub(super) fn all(
    file: &File,
    jobs: Option<NonZeroUsize>,
    quiet: bool,
) -> Result<Vec<PolicyRuns<'_>>, Failure> {
    let interrupt = Interrupt::catch()?;
    let work: Vec<(&str, u32)> = file
        .policies
        .iter()
        .flat_map(|policy| (0..file.runs).map(move |run| (policy.as_str(), run)))
        .collect();
    let workers =
        jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let workers = workers.min(work.len());
    let (next, done_ns, alive) =
        (AtomicUsize::new(0), AtomicU64::new(0), AtomicUsize::new(workers));
    let found: Vec<Mutex<Option<Figures>>> = work.iter().map(|_| Mutex::new(None)).collect();
    let all_ns = file.span_ns.saturating_mul(work.len() as u64);
    let progress = Progress::new(Some(Duration::from_nanos(all_ns)), quiet);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((policy, run)) = work.get(at).copied() else { break };
                    let figures = one(file, policy, run, &done_ns, &interrupt);
                    if let (Some(figures), Ok(mut place)) = (figures, found[at].lock()) {
                        *place = Some(figures);
                    }
                }
                alive.fetch_sub(1, Ordering::Release);
            });
        }
        while alive.load(Ordering::Acquire) > 0 {
            let done = Duration::from_nanos(done_ns.load(Ordering::Relaxed));
            progress.show(done, "of the systems' time".to_owned());
            thread::sleep(LOOK);
        }
    });
    drop(progress);
    let mut found = found.into_iter().map(|place| place.into_inner().ok().flatten());
    let mut results = Vec::new();
    for policy in &file.policies {
        let mut totals = Figures::of(file);
        for _ in 0..file.runs {
            let figures = found.next().flatten();
            totals.add(&figures.ok_or_else(|| Failure::new("the simulation was interrupted"))?);
        }
        results.push(PolicyRuns { policy, totals });
    }
    Ok(results)
}

/// One run; `None` where the user wanted an end.
fn one(
    file: &File,
    policy: &str,
    run: u32,
    done_ns: &AtomicU64,
    interrupt: &Interrupt,
) -> Option<Figures> {
    let system = file.system_of(policy, run);
    let mut simulation = Simulation::new(&system, Figures::of(file)).ok()?;
    let end_ns = START_NS.saturating_add(file.span_ns);
    while simulation.now_ns() < end_ns {
        if interrupt.is_asked() {
            return None;
        }
        let from_ns = simulation.now_ns();
        simulation.run_until(end_ns.min(from_ns.saturating_add(SLICE_NS)));
        done_ns.fetch_add(simulation.now_ns() - from_ns, Ordering::Relaxed);
    }
    let (steps, programmed, moves) =
        (simulation.steps(), simulation.programmed(), simulation.moves());
    Some(Figures { steps, programmed, moves, ..simulation.into_observer() })
}
