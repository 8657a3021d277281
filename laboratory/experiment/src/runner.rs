//! Runs what is missing in an experiment's folder.

use crate::Run;
use crate::folder::Folder;
use crate::kernel_threads;
use crate::schedule::Slot;
use crate::state::Machine;
use crate::subject::{Ask, Observer, Subject, Yield};
use crate::{Block, Condition, Experiment, ExperimentError, changed, need, timer_policy};
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use tardy_host::Host;
use tardy_lab::load::Spec;

/// How often a load's warm-up looks whether the end is wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An experiment that can be run, or gone on with.
pub struct Runner {
    folder: Folder,
    /// By place among all conditions; `None` for those left out.
    conditions: Vec<Option<Ready>>,
    /// What the next block's notes are to hold besides its own.
    notes: Vec<String>,
}

/// A condition, understood.
struct Ready {
    name: String,
    subject: Box<dyn Subject>,
    load: Spec,
    kernel_threads: kernel_threads::Wanted,
    timer_policy: timer_policy::Wanted,
}

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Blocks done.
    pub done: usize,
    /// Blocks that there are to be.
    pub planned: usize,
    /// The condition that runs.
    pub condition: String,
    /// How long this run has taken, those before not counted.
    pub elapsed: Duration,
    /// How long it will still take, as planned.
    pub left: Duration,
    /// The largest latency of all blocks so far, ns, of this run and those before.
    pub worst_ns: u64,
    /// In which condition that was; empty where there is none.
    pub worst_in: String,
}

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All blocks are done.
    Complete,
    /// It was ended before that; the blocks done are kept.
    Early,
}

impl Runner {
    /// A new run in a new folder, or an empty one.
    ///
    /// # Errors
    /// Where the folder cannot be made, or no condition can be run here.
    pub fn begin(
        path: &Path,
        experiment: &Experiment,
        is_full: bool,
        seed: u64,
        host: &Host,
    ) -> Result<Self, ExperimentError> {
        let left_out: Vec<(String, String)> = experiment
            .conditions
            .iter()
            .filter_map(|condition| {
                let why = lacking(experiment, condition, host);
                why.map(|why| (condition.name.clone(), why))
            })
            .collect();
        if left_out.len() == experiment.conditions.len() {
            let why = left_out.iter().map(|(name, why)| format!("{name}: {why}"));
            return Err(ExperimentError::NothingLeft {
                name: experiment.name.clone(),
                why: why.collect::<Vec<_>>().join("; "),
            });
        }
        let run = Run::new(host.facts(), is_full, seed, experiment.length(is_full), left_out);
        Self::over(Folder::create(path, experiment, run)?)
    }

    /// Goes on with a run that was ended, by whatever.
    ///
    /// # Errors
    /// Where the folder is no experiment's, another process is at it, or it was begun on another
    /// machine or kernel.
    pub fn resume(path: &Path, host: &Host) -> Result<Self, ExperimentError> {
        let folder = Folder::resume(path)?;
        let run = folder.run();
        let facts = host.facts();
        let begun = format!("on {}, {}, {} CPUs", run.host, run.kernel, run.cpus);
        let here = format!("{}, {}, {} CPUs", facts.hostname, facts.release, facts.cpus);
        if begun != format!("on {here}") {
            let path = path.to_owned();
            return Err(ExperimentError::OtherMachine { path, begun, here });
        }
        let note = run.changed_settings(&facts.settings);
        let mut runner = Self::over(folder)?;
        runner.notes.extend(note);
        Ok(runner)
    }

    fn over(folder: Folder) -> Result<Self, ExperimentError> {
        let experiment = folder.experiment();
        let wrong = |why| ExperimentError::Wrong { origin: experiment.name.clone(), why };
        let is_left_out =
            |name: &str| folder.run().left_out.iter().any(|(left_out, _)| left_out == name);
        let mut conditions = vec![];
        for condition in &experiment.conditions {
            conditions.push(if is_left_out(&condition.name) {
                None
            } else {
                Some(Ready {
                    name: condition.name.clone(),
                    subject: experiment.subject(condition).map_err(wrong)?,
                    load: condition.spec().map_err(wrong)?,
                    kernel_threads: experiment.kernel_threads(condition).map_err(wrong)?,
                    timer_policy: experiment.timer_policy(condition).map_err(wrong)?,
                })
            });
        }
        Ok(Self { folder, conditions, notes: Vec::new() })
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// How long what is missing takes, as planned.
    pub fn left(&self) -> Duration {
        self.each() * self.missing().len() as u32
    }

    fn each(&self) -> Duration {
        let length = self.folder.run().length;
        length.block() + length.warm_up()
    }

    fn missing(&self) -> Vec<Slot> {
        let done: HashSet<usize> = self.folder.blocks().iter().map(|block| block.index).collect();
        self.folder.slots().into_iter().filter(|slot| !done.contains(&slot.index)).collect()
    }

    /// Runs what is missing, in its order, until all is done or `is_over` says so. Each block is on
    /// disk before the next begins; one that is ended is thrown away.
    ///
    /// # Errors
    /// Where a load or a measurement could not be started, or a block could not be written.
    pub fn run(
        &mut self,
        observer: Option<&dyn Observer>,
        is_over: &dyn Fn() -> bool,
        mut on_progress: impl FnMut(&Progress),
    ) -> Result<Ended, ExperimentError> {
        let begun = Instant::now();
        let missing = self.missing();
        let planned = self.folder.slots().len();
        let mut progress = Progress {
            done: planned - missing.len(),
            planned,
            left: self.left(),
            ..Progress::default()
        };
        for block in self.folder.blocks() {
            progress.worse(block, &self.folder.experiment().conditions[block.condition].name);
        }
        for slot in missing {
            let Some(ready) = &self.conditions[slot.condition] else { continue };
            progress.condition.clone_from(&ready.name);
            let left = progress.left;
            let block_begun = Instant::now();
            let block = measure(ready, slot, self.folder.run(), observer, is_over, &mut |worst| {
                progress.elapsed = begun.elapsed();
                progress.left = left.saturating_sub(block_begun.elapsed());
                if let Some(ns) = worst.filter(|ns| *ns > progress.worst_ns) {
                    progress.worst_ns = ns;
                    progress.worst_in.clone_from(&ready.name);
                }
                on_progress(&progress);
            });
            let block = block.map_err(|why| ExperimentError::Block {
                block: slot.index,
                condition: ready.name.clone(),
                why,
            })?;
            let Some(mut block) = block else { return Ok(Ended::Early) };
            block.notes.append(&mut self.notes);
            progress.worse(&block, &ready.name);
            self.folder.add(block)?;
            progress.done += 1;
            progress.left = left.saturating_sub(self.each());
        }
        Ok(Ended::Complete)
    }
}

impl Progress {
    fn worse(&mut self, block: &Block, condition: &str) {
        let worst = block.series.iter().filter_map(|series| series.latencies.max_ns()).max();
        if let Some(ns) = worst.filter(|ns| *ns > self.worst_ns) {
            self.worst_ns = ns;
            condition.clone_into(&mut self.worst_in);
        }
    }
}

/// Why a condition cannot be run here; `None` where it can.
fn lacking(experiment: &Experiment, condition: &Condition, host: &Host) -> Option<String> {
    let lacks = condition.needs.iter().find_map(|need| need::lacking(need, host));
    let threads = || match experiment.kernel_threads(condition) {
        Ok(wanted) => kernel_threads::lacking(&wanted),
        Err(why) => Some(why),
    };
    let policy = || match experiment.timer_policy(condition) {
        Ok(wanted) => timer_policy::lacking(&wanted),
        Err(why) => Some(why),
    };
    lacks.or_else(threads).or_else(policy)
}

/// Measures one block. `None` where it was ended early.
fn measure(
    ready: &Ready,
    slot: Slot,
    run: &Run,
    observer: Option<&dyn Observer>,
    is_over: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Option<u64>),
) -> Result<Option<Block>, String> {
    let machine = Machine::this();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let before = machine.state();
    let mut settings = kernel_threads::settings(&ready.kernel_threads)?;
    settings.extend(timer_policy::settings(&ready.timer_policy));
    let changed = changed::change(&settings)?;
    let load = ready.load.start().map_err(|error| error.to_string())?;
    let warm = Instant::now();
    while warm.elapsed() < run.length.warm_up() && !is_over() {
        tell(None);
        std::thread::sleep(LOOK_EVERY.min(run.length.warm_up().saturating_sub(warm.elapsed())));
    }
    if is_over() {
        return Ok(None);
    }
    let mut ask = Ask {
        length: run.length.block(),
        seed: run.seed.wrapping_add(slot.index as u64),
        hz: run.hz,
        is_over,
        tell,
        observer,
    };
    let begun = Instant::now();
    let Yield { series, figures, notes } = ready.subject.measure(&mut ask)?;
    let length = begun.elapsed();
    // Its processes are waited for, so that their time is known to be the load's.
    load.stop();
    changed::put_back(changed)?;
    if is_over() {
        return Ok(None);
    }
    Ok(Some(Block {
        index: slot.index,
        condition: slot.condition,
        round: slot.round,
        begun_unix_s: since.map_or(0, |since| since.as_secs()),
        length,
        series,
        figures,
        notes,
        before,
        after: machine.state(),
    }))
}
