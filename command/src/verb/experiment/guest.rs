//! An experiment in a guest: all of its blocks in one boot, its folder brought back.

use super::ExperimentVerb;
use crate::failure::{Failure, Outcome};
use crate::guest::Extra;
use crate::interrupt::Interrupt;
use crate::output;
use std::path::PathBuf;
use std::time::Duration;
use tardy_experiment::Folder;

/// Where an experiment's file lies in the guest.
const FILE: &str = "/experiment.toml";

/// How long a guest may take for an experiment at full length, of this machine's time.
const FULL_LIMIT: Duration = Duration::from_secs(24 * 3600);

impl ExperimentVerb {
    /// Runs it there, and shows it here.
    pub(super) fn in_guest(&self, what: &str) -> Result<Outcome, Failure> {
        if let Some(extra) = &self.shown {
            return Err(Failure::usage(format!("unexpected argument {extra:?}")));
        }
        // What is wrong with it is said before anything boots.
        let experiment = self.experiment(what)?;
        let is_file = PathBuf::from(what).is_file();
        let mut command: Vec<String> =
            ["tardy", "experiment", if is_file { FILE } else { what }].map(str::to_owned).to_vec();
        command.extend(["--out", ".", "--quiet", "--seed"].map(str::to_owned));
        command.push(self.seed.to_string());
        if self.full {
            command.push("--full".to_owned());
        }
        if let Some(rounds) = self.rounds {
            command.extend(["--rounds".to_owned(), rounds.to_string()]);
        }
        let mut files: Vec<(PathBuf, PathBuf)> = vec![];
        if is_file {
            files.push((PathBuf::from(FILE), PathBuf::from(what)));
        }
        let interrupt = Interrupt::catch()?;
        let mut ready =
            self.guest.ready(&command, Extra { programs: &[], files, disk: None }, self.seed)?;
        if self.full && self.guest.limit.is_none() {
            ready.limits.whole = FULL_LIMIT;
        }
        let folder = output::new_folder(self.out.as_deref(), "experiments", &experiment.name)?;
        self.output.remark(&format!(
            "{}: in a guest ({}), in {}",
            experiment.title,
            ready.kernel,
            folder.display()
        ));
        let quiet = self.output.hides_progress();
        let finished = ready.run(&folder, false, quiet, &interrupt)?;
        finished.keep(&folder)?;
        let outcome = finished.outcome();
        if Folder::open(&folder).is_err() {
            // Nothing came back that could be shown.
            let said = String::from_utf8_lossy(&finished.stderr);
            said.trim_end().lines().for_each(|line| self.output.remark(line));
            return outcome;
        }
        Folder::keep_guest(&folder, &self.guest.words())?;
        self.tell(&folder)?;
        outcome
    }
}
