//! A change, proven or not: blocks with it and blocks without, in random order, in one recording.
//!
//! What is compared is how late the victim's threads woke; a wakeup belongs to the block in which it was due. A block
//! begins a little after the change is made, so that what was armed before it is over.

mod shown;
mod whom;

pub(crate) use whom::{Victim, VictimFlags, threads_of};

use crate::failure::Failure;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::session::{self, Request, Session, settings};
use crate::verb::load;
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tardy_changes::Change;
use tardy_explain::change::Account;
use tardy_explain::{Explainer, Named, Options, Sink};
use tardy_kernel::monotonic_ns;
use tardy_remedy::{Changed, Hold, Journal, Outcome, System, Undone, remedy};
use tardy_report::Compared;
use tardy_stats::Counted;

/// What was armed, queued or asleep before a change was made is over after this.
const SETTLES: Duration = Duration::from_millis(100);

/// How often it is looked whether somebody wants an end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Wakeups of one trial at most: 24 bytes each, 384 MiB.
const WAKEUPS_MAX: usize = 1 << 24;

/// How it is tried.
#[derive(Clone, Debug, Args)]
pub(crate) struct TrialFlags {
    /// Number of blocks of each side
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(12..=256))]
    rounds: u16,

    /// Length of each block; a bare number is seconds
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = crate::arguments::duration)]
    block: Duration,

    /// Seed for the order of the blocks and for the statistics
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[arg(long, help = load::help("What runs meanwhile [default: none; for a recording of tardy \
        run, the load it had]"))]
    pub(crate) load: Option<String>,
}

/// One of the two that are compared.
#[derive(Clone, Debug)]
pub(crate) enum Arm {
    /// The system as it is.
    AsItIs,
    /// Changed.
    Changed(Vec<Change>),
    /// This command runs, and is the victim.
    Command(Vec<String>),
}

/// What the side without a change is called: "X is 20 µs earlier than without it".
pub(crate) const WITHOUT: &str = "without it";

/// What is tried.
pub(crate) struct Trial<'a> {
    pub(crate) flags: &'a TrialFlags,
    pub(crate) victim: &'a Victim,
    pub(crate) names: [String; 2],
    pub(crate) arms: [Arm; 2],
    /// The chance of a false alarm that is accepted.
    pub(crate) alpha: f64,
    pub(crate) load: &'a str,
    /// The threads of the victim that changes are for; `None`: all of them.
    pub(crate) late: Option<&'a [u32]>,
    /// The processes that names in changes are for; `None`: all of the system.
    pub(crate) among: Option<&'a BTreeSet<u32>>,
}

/// A stretch of time in which one arm was on.
struct Block {
    arm: usize,
    start_ns: u64,
    end_ns: u64,
}

/// Those that are over, and whether anything was tried yet.
#[derive(Default)]
struct Blocks {
    all: Vec<Block>,
    are_begun: bool,
}

/// What came of it.
pub(crate) struct Tried {
    pub(crate) compared: Compared,
    pub(crate) took: Duration,
}

impl Trial<'_> {
    /// Tries it. Whatever happens, nothing is left changed.
    pub(crate) fn run(&self, interrupt: &Interrupt, output: &Output) -> Result<Tried, Failure> {
        let begun = Instant::now();
        let folder = output::recording_folder(None, "verify")?;
        let mut blocks = Blocks::default();
        if let Err(failure) = self.record(folder.clone(), &mut blocks, interrupt, output) {
            return Err(if blocks.are_begun {
                failure
                    .adding(&format!("; what was recorded until then is in {}", folder.display()))
            } else {
                // There is nothing in it that anybody would look for.
                output::discard(&folder);
                failure
            });
        }
        let compared = self.explain(&folder, &blocks.all)?;
        Ok(Tried { compared, took: begun.elapsed() })
    }

    fn record(
        &self,
        folder: PathBuf,
        blocks: &mut Blocks,
        interrupt: &Interrupt,
        output: &Output,
    ) -> Result<(), Failure> {
        let load = load::parse(self.load, None, output)?;
        let mut running = self.victim.start();
        let processes = running.watched();
        let mut settings = settings::of_run(Some(&load), None);
        settings.extend(settings::of_processes(processes.iter().copied()));
        let request = Request {
            folder,
            settings,
            watched_processes: processes,
            watch_children: self.has_commands(),
            ..Request::default()
        };
        let load = load.start()?;
        let session = Session::begin(&session::probe_host(), request)
            .map_err(|failure| Failure::new(format!("cannot record: {failure}")))?;
        // However it ends, the recording ends with it.
        let tried = self.try_blocks(&session, &mut running, blocks, interrupt, output);
        drop(running);
        load.stop();
        let ended = session.end();
        let is_whole = tried?;
        ended?;
        if !is_whole {
            return Err(Failure::new("the recording ended before the trial did"));
        }
        Ok(())
    }

    /// Tries one after the other. Whether the recording lasted.
    fn try_blocks(
        &self,
        session: &Session,
        running: &mut whom::Running<'_>,
        blocks: &mut Blocks,
        interrupt: &Interrupt,
        output: &Output,
    ) -> Result<bool, Failure> {
        let each = self.flags.block + SETTLES;
        let progress =
            Progress::new(Some(each * 2 * u32::from(self.flags.rounds)), output.hides_progress());
        let begun = Instant::now();
        let mut random = fastrand::Rng::with_seed(self.flags.seed);
        for _ in 0..self.flags.rounds {
            let first = random.usize(0..2);
            for arm in [first, 1 - first] {
                progress.show(begun.elapsed(), format!("{}: {}", self.names[0], self.names[1]));
                let block = self.block(arm, running, &mut blocks.are_begun, interrupt)?;
                blocks.all.push(block);
                if session.has_ended() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// One block; the change is taken back when this returns.
    fn block(
        &self,
        arm: usize,
        running: &mut whom::Running<'_>,
        is_begun: &mut bool,
        interrupt: &Interrupt,
    ) -> Result<Block, Failure> {
        // Dropped after what is held.
        let _hold;
        let held = match &self.arms[arm] {
            Arm::AsItIs => {
                running.see_to_it()?;
                None
            }
            Arm::Command(command) => {
                running.replace(command)?;
                *is_begun = true;
                None
            }
            Arm::Changed(changes) => {
                running.see_to_it()?;
                let mut victims = running.threads();
                if let Some(late) = self.late {
                    victims.retain(|tid| late.contains(tid));
                }
                let system = System::new(victims);
                let system = match self.among {
                    Some(among) => system.among(among.clone()),
                    None => system,
                };
                let mut settings = Vec::new();
                for change in changes {
                    settings.extend(settings_of(change, &system)?);
                }
                // Whoever wants an end waits until it is put back: it is looked for that often.
                _hold = Hold::new();
                let held = Journal::system().change(&settings, &self.names[arm])?;
                if held.entries().is_empty() {
                    return Err(Failure::usage(format!(
                        "{} is in force already, so there is nothing to try: both sides would be the same",
                        self.names[arm]
                    )));
                }
                *is_begun = true;
                Some(held)
            }
        };
        let is_over = wait(SETTLES, interrupt);
        let start_ns = monotonic_ns();
        let is_over = is_over && wait(self.flags.block, interrupt);
        let end_ns = monotonic_ns();
        put_back(&held.map_or_else(Vec::new, Changed::undo), is_over)?;
        if matches!(self.arms[arm], Arm::Command(_)) {
            running.end()?;
        }
        Ok(Block { arm, start_ns, end_ns })
    }

    fn has_commands(&self) -> bool {
        self.victim.is_command() || self.arms.iter().any(|arm| matches!(arm, Arm::Command(_)))
    }

    fn explain(&self, folder: &Path, blocks: &[Block]) -> Result<Compared, Failure> {
        let mut input = Input::own(folder)?;
        let options = Options { watch: input.watch(self.victim.watch()), worst: 0 };
        let mut explainer = Explainer::new(options, Found { blocks, ..Found::default() });
        input.show_to(&mut explainer)?;
        let (explanation, found) = explainer.finish();
        let mut notes = Vec::new();
        if explanation.lost > 0 {
            notes.push(format!("{} events were lost", explanation.lost));
        }
        if found.is_full {
            notes.push(format!("only the first {WAKEUPS_MAX} wakeups count"));
        }
        // A round of which one block is empty says nothing of a pair.
        let mut of_blocks: Vec<Vec<u64>> = vec![Vec::new(); blocks.len()];
        let mut places = [Vec::new(), Vec::new()];
        for (at, (block, ns)) in found.wakeups.iter().enumerate() {
            of_blocks[*block].push(*ns);
            places[blocks[*block].arm].push(at);
        }
        let mut sides: [Vec<Counted>; 2] = [Vec::new(), Vec::new()];
        for (round, latencies) in blocks.chunks(2).zip(of_blocks.chunks(2)) {
            if latencies.iter().all(|block| !block.is_empty()) {
                for (block, latencies) in round.iter().zip(latencies) {
                    sides[block.arm].push(Counted::of_values(latencies.iter().copied()));
                }
            }
        }
        let taken = places.map(|places| found.account.taken(places));
        Ok(shown::compared(self, sides, &taken, notes, folder))
    }

    pub(super) const fn seed(&self) -> u64 {
        self.flags.seed
    }
}

/// What a change sets; or why it cannot be done.
pub(crate) fn settings_of(
    change: &Change,
    system: &System,
) -> Result<Vec<tardy_remedy::Setting>, Failure> {
    let remedy = remedy::of(change.name()).ok_or_else(|| {
        Failure::usage(format!(
            "{} can be predicted, but tardy cannot make this change",
            change.name()
        ))
    })?;
    remedy
        .settings(change, system)
        .map_err(|lacking| Failure::new(format!("{change} is not possible here: {lacking}")))
}

/// Whether it was as long as this, and nobody wants an end.
fn wait(long: Duration, interrupt: &Interrupt) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < long {
        if interrupt.is_asked() {
            return false;
        }
        std::thread::sleep(LOOK_EVERY.min(long.saturating_sub(begun.elapsed())));
    }
    true
}

/// What is said of a block whose change was taken back: nothing where it is over and all of it was.
fn put_back(undone: &[Undone], is_over: bool) -> Result<(), Failure> {
    let is_back = |it: &&Undone| matches!(it.outcome, Outcome::Restored | Outcome::Nothing);
    let left: Vec<String> = undone.iter().filter(|it| !is_back(it)).map(Undone::words).collect();
    match (is_over, left.is_empty()) {
        (true, true) => Ok(()),
        (true, false) => Err(Failure::new(format!("the trial was disturbed: {}", left.join("; ")))),
        (false, true) => Err(Failure::new("interrupted: what was changed has been put back")),
        (false, false) => Err(Failure::new(format!(
            "interrupted, and not all that was changed has been put back: {}",
            left.join("; ")
        ))),
    }
}

/// Wakeups by block.
#[derive(Default)]
struct Found<'a> {
    blocks: &'a [Block],
    wakeups: Vec<(usize, u64)>,
    account: Account,
    is_full: bool,
}

impl Sink for Found<'_> {
    fn wakeup(&mut self, named: &Named<'_>) {
        let wakeup = named.wakeup();
        let at = self.blocks.partition_point(|block| block.end_ns <= wakeup.expiry_ns);
        let is_in = self.blocks.get(at).is_some_and(|block| block.start_ns <= wakeup.expiry_ns);
        self.is_full |= self.wakeups.len() == WAKEUPS_MAX;
        if is_in && !self.is_full {
            self.wakeups.push((at, wakeup.lateness_ns));
            self.account.add(named);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tardy_host::Root;
    use tardy_remedy::{Form, Place, Setting};

    /// Whoever ends a trial is told what is still changed.
    #[test]
    fn an_end_says_what_was_not_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::at(Root::at(folder.path()));
        let setting = |name: &str| {
            fs::write(folder.path().join(name), "1").unwrap();
            let place = Place::File { path: format!("/{name}"), form: Form::Word };
            Setting { place, to: "2".to_owned() }
        };
        let told = |others: &[&str], is_over| {
            let settings = [setting("a"), setting("b")];
            let changed = journal.change(&settings, "a test").unwrap();
            for name in others {
                fs::write(folder.path().join(name), "3").unwrap();
            }
            put_back(&changed.undo(), is_over).map_err(|failure| failure.to_string())
        };
        assert_eq!(told(&[], true), Ok(()));
        let all_back = "interrupted: what was changed has been put back";
        assert_eq!(told(&[], false), Err(all_back.to_owned()));
        let error = told(&["a", "b"], false).unwrap_err();
        assert!(!error.contains(all_back) && error.contains("/a is left as it is"), "{error}");
        assert!(error.contains("/b is left as it is"), "{error}");
        assert!(told(&["a"], true).unwrap_err().contains("disturbed: /a is left"));
    }
}
