//! `tardy experiment`: conditions side by side.

mod guest;
mod observer;
mod shown;

use crate::failure::{Failure, Outcome};
use crate::guest::GuestFlags;
use crate::interrupt::Interrupt;
use crate::listing;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::session;
use clap::Args;
use observer::Recorder;
pub(in crate::verb) use shown::Shown;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tardy_experiment::{self as experiment, Ended, Experiment, Runner};
use tardy_host::Host;
use tardy_report::units;

/// Flags of `tardy experiment`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy experiment list           list those that come with tardy\n\
    tardy experiment show NAME      print one as a file, to change it\n\
    tardy experiment NAME           run it, about a minute\n\
    tardy experiment NAME --vm      run it on a real kernel in counted time\n\
    tardy experiment --resume DIR   continue a run that ended early")]
pub(crate) struct ExperimentVerb {
    /// The name of an experiment, or a TOML file; or list, or show
    #[arg(value_name = "NAME|FILE|list|show", required_unless_present = "resume")]
    what: Option<String>,

    /// Which experiment to show
    #[arg(value_name = "NAME")]
    shown: Option<String>,

    /// Run at full length, as in its source: hours
    #[arg(long, conflicts_with = "resume")]
    full: bool,

    /// Number of rounds, instead of the file's; each round runs a block of every condition
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    rounds: Option<u32>,

    /// Seed for the order of the conditions
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "resume")]
    seed: u64,

    /// Continue the run in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["what", "out"])]
    resume: Option<PathBuf>,

    /// The folder for its results [default: experiments/NAME-N]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Run it in a guest with counted time: no noise, and the same result every time
    #[arg(long, conflicts_with = "resume")]
    vm: bool,

    /// Also write the figures to this file as a table, a row per condition and thread
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    output: Output,

    #[command(flatten, next_help_heading = "The guest, with --vm")]
    guest: GuestFlags,
}

impl ExperimentVerb {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let host = session::probe_host();
        let runner = match (&self.resume, self.what.as_deref()) {
            (Some(folder), _) => Runner::resume(folder, &host)?,
            (None, Some("list")) => return list(),
            (None, Some("show")) => return self.show(),
            (None, Some(what)) if self.vm => return self.in_guest(what),
            (None, Some(what)) => self.begin(what, &host)?,
            (None, None) => {
                return Err(Failure::usage(
                    "name an experiment; tardy experiment list \
                shows them",
                ));
            }
        };
        self.run(runner, &host)
    }

    fn show(&self) -> Result<Outcome, Failure> {
        let name = self.shown.as_deref();
        let known = Experiment::known().find(|(known, _)| Some(*known) == name);
        let Some((_, text)) = known else {
            Experiment::named(name.unwrap_or_default())?;
            return Ok(Outcome::Fine);
        };
        crate::output::raw().write_all(text.as_bytes())?;
        Ok(Outcome::Fine)
    }

    /// The one that is meant, as long as asked for.
    fn experiment(&self, what: &str) -> Result<Experiment, Failure> {
        let is_file = Path::new(what).is_file();
        let experiment =
            if is_file { Experiment::read(Path::new(what))? } else { Experiment::named(what)? };
        match self.rounds {
            Some(rounds) => Ok(experiment.with_rounds(rounds)?),
            None => Ok(experiment),
        }
    }

    fn begin(&self, what: &str, host: &Host) -> Result<Runner, Failure> {
        if let Some(extra) = &self.shown {
            return Err(Failure::usage(format!("unexpected argument {extra:?}")));
        }
        output::must_be_writable([self.csv.as_deref()])?;
        let experiment = self.experiment(what)?;
        let folder = output::new_folder(self.out.as_deref(), "experiments", &experiment.name)?;
        Ok(Runner::begin(&folder, &experiment, self.full, self.seed, host)?)
    }

    fn run(&self, mut runner: Runner, host: &Host) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        let folder = runner.folder().path().to_owned();
        let run = runner.folder().run();
        for (name, why) in &run.left_out {
            self.output.remark(&format!("{name} is left out: {why}"));
        }
        let left = runner.left();
        let title = &runner.folder().experiment().title;
        self.output.remark(&format!(
            "{title}: {}, {} to go; in {}",
            run.length,
            units::duration(left.as_nanos() as u64),
            folder.display()
        ));
        let progress = Progress::new(Some(left), self.output.hides_progress());
        let recorder = Recorder(host);
        let is_over = || interrupt.is_asked();
        let ended = runner.run(Some(&recorder), &is_over, |now| {
            progress.show(now.elapsed, in_words(now));
        });
        drop(progress);
        let ended = ended?;
        drop(runner);
        if ended == Ended::Early {
            self.output.remark(&format!(
                "Ended early; finished blocks are kept. Continue with: tardy experiment --resume \
                    {}",
                folder.display()
            ));
        }
        self.tell(&folder)
    }

    /// Shows what is in a folder, as a page, as a table, and here.
    fn tell(&self, folder: &Path) -> Result<Outcome, Failure> {
        let shown = Shown::read(folder)?;
        let page = session::page_path(folder);
        let mut kept = output::write_page(&page, &shown.page());
        if let Some(file) = &self.csv {
            kept = kept.and(output::write_file(file, &shown.figures().to_csv()));
        }
        shown.tell(self.output.json, None)?;
        kept?;
        if !self.output.json {
            self.output.remark(&format!("page: {}", page.display()));
        }
        Ok(Outcome::Fine)
    }
}

fn list() -> Result<Outcome, Failure> {
    let mut entries = Vec::new();
    for (name, _) in Experiment::known() {
        let experiment = Experiment::named(name)?;
        entries.push((name, vec![experiment.question, experiment.source]));
    }
    listing::print(entries)?;
    Ok(Outcome::Fine)
}

fn in_words(now: &experiment::Progress) -> String {
    let worst = if now.worst_in.is_empty() {
        String::new()
    } else {
        format!(", worst {} in {}", units::duration(now.worst_ns), now.worst_in)
    };
    format!("{} of {} blocks, {}{worst}", now.done, now.planned, now.condition)
}
