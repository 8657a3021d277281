//! Many simulations at once, on threads of this machine; their number changes no result.

use super::cases::Case;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use std::num::NonZeroUsize;
use std::ops::Range;
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
    pub(super) lock_calls: u64,
    pub(super) boosts: u64,
    pub(super) double_boosts: u64,
    pub(super) moves: u64,
    pub(super) programmed_by_moves: u64,
    pub(super) programming_ns: u64,
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
        self.lock_calls += other.lock_calls;
        self.boosts += other.boosts;
        self.double_boosts += other.double_boosts;
        self.moves += other.moves;
        self.programmed_by_moves += other.programmed_by_moves;
        self.programming_ns += other.programming_ns;
    }
}

impl Observer for Figures {
    const EVENTS: bool = false;
    const STATES: bool = false;

    fn late(&mut self, _: u64, thread: ThreadAt, lateness_ns: u64) {
        if let Some(Some(latencies)) = self.latencies.get_mut(thread as usize) {
            latencies.record(lateness_ns);
        }
    }
}

/// All runs of a system under a policy together.
pub(super) struct PolicyRuns<'a> {
    pub(super) case: &'a Case,
    pub(super) policy: &'a str,
    pub(super) totals: Figures,
    /// Of each entry of the file, what each run has shown.
    runs: Vec<Vec<Run>>,
}

/// An entry's threads in one run.
#[derive(Clone, Copy, Debug)]
struct Run {
    mean_ns: u64,
    max_ns: u64,
}

/// What the threads of an entry have shown.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) all: Latencies,
    /// Half of all measurements, each of as many runs as the file calls rounds, show a larger maximum.
    pub(super) max_median_ns: u64,
    /// The least and the most of the runs' means, and the least of their maxima.
    pub(super) means_ns: (u64, u64),
    pub(super) max_low_ns: u64,
}

impl PolicyRuns<'_> {
    /// The threads that come of one entry of the file as one, where any of them is watched.
    pub(super) fn by_group(&self) -> impl Iterator<Item = Group> {
        let file = &self.case.file;
        file.groups.iter().zip(&self.runs).filter_map(|((name, range), runs)| {
            let all = of_entry(&self.totals, range.clone())?;
            let of_measurement =
                |runs: &[Run]| runs.iter().map(|run| run.max_ns).max().unwrap_or_default();
            let mut maxima: Vec<u64> =
                runs.chunks(file.rounds as usize).map(of_measurement).collect();
            maxima.sort_unstable();
            let means = || runs.iter().map(|run| run.mean_ns);
            Some(Group {
                name: name.clone(),
                max_median_ns: maxima.get(maxima.len() / 2).copied().unwrap_or_default(),
                means_ns: (means().min()?, means().max()?),
                max_low_ns: runs.iter().map(|run| run.max_ns).min()?,
                all,
            })
        })
    }

    /// How often the devices were programmed for each move of an armed timer, in all and by moves themselves;
    /// `None` where none was moved.
    pub(super) fn programmed_per_move(&self) -> Option<(f64, f64)> {
        let Figures { programmed, moves, programmed_by_moves, .. } = self.totals;
        let share = |of: u64| of as f64 / moves as f64;
        (moves > 0).then(|| (share(programmed), share(programmed_by_moves)))
    }

    pub(super) fn programmed_per_s(&self) -> f64 {
        let seconds = self.span_ns() / 1e9;
        if seconds > 0.0 { self.totals.programmed as f64 / seconds } else { 0.0 }
    }

    /// The share of all CPUs' time that went into programming their devices, 0–1.
    pub(super) fn programming_share(&self) -> f64 {
        let cpus_ns = self.span_ns() * f64::from(self.case.file.system.machine.cpus);
        if cpus_ns > 0.0 { self.totals.programming_ns as f64 / cpus_ns } else { 0.0 }
    }

    /// The system's time of all runs.
    fn span_ns(&self) -> f64 {
        self.case.file.span_ns as f64 * f64::from(self.case.file.runs)
    }
}

/// The threads of an entry as one; `None` where none is watched.
fn of_entry(figures: &Figures, range: Range<usize>) -> Option<Latencies> {
    let mut all = figures.latencies.get(range)?.iter().flatten();
    let mut sum = all.next()?.clone();
    all.for_each(|latencies| sum.merge(latencies));
    Some(sum)
}

/// Simulates every system under each of its policies as often as its file says.
pub(super) fn all<'a>(
    cases: &'a [Case],
    jobs: Option<NonZeroUsize>,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Vec<PolicyRuns<'a>>, Failure> {
    let under = || {
        cases.iter().flat_map(|case| case.file.policies.iter().map(move |policy| (case, policy)))
    };
    let work: Vec<(&Case, &str, u32)> = under()
        .flat_map(|(case, policy)| (0..case.file.runs).map(move |run| (case, policy.as_str(), run)))
        .collect();
    let workers =
        jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let workers = workers.min(work.len());
    let (next, done_ns, alive) =
        (AtomicUsize::new(0), AtomicU64::new(0), AtomicUsize::new(workers));
    let found: Vec<Mutex<Option<Figures>>> = work.iter().map(|_| Mutex::new(None)).collect();
    let all_ns = work.iter().map(|(case, ..)| case.file.span_ns).fold(0, u64::saturating_add);
    let progress = Progress::new(Some(Duration::from_nanos(all_ns)), quiet);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, policy, run)) = work.get(at).copied() else { break };
                    let figures = one(&case.file, policy, run, &done_ns, interrupt);
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
            thread::sleep(if quiet { LOOK / 20 } else { LOOK });
        }
    });
    drop(progress);
    let mut found = found.into_iter().map(|place| place.into_inner().ok().flatten());
    let mut results = Vec::new();
    for (case, policy) in under() {
        let mut totals = Figures::of(&case.file);
        let mut runs = vec![Vec::new(); case.file.groups.len()];
        for _ in 0..case.file.runs {
            let figures = found.next().flatten();
            let figures = figures.ok_or_else(|| Failure::new("the simulation was interrupted"))?;
            for ((_, range), runs) in case.file.groups.iter().zip(&mut runs) {
                if let Some(all) = of_entry(&figures, range.clone()).filter(|all| all.count() > 0) {
                    runs.push(Run { mean_ns: all.mean_ns().round() as u64, max_ns: all.max_ns() });
                }
            }
            totals.add(&figures);
        }
        results.push(PolicyRuns { case, policy, totals, runs });
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
    let counted = Figures {
        steps: simulation.steps(),
        programmed: simulation.programmed(),
        lock_calls: simulation.lock_calls(),
        boosts: simulation.boosts(),
        double_boosts: simulation.double_boosts(),
        moves: simulation.moves(),
        programmed_by_moves: simulation.programmed_by_moves(),
        programming_ns: simulation.programming_time_ns(),
        latencies: Vec::new(),
    };
    Some(Figures { latencies: simulation.into_observer().latencies, ..counted })
}
