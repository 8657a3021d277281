//! `tardy verify`: does a change help? Blocks with it and without, in random order.

use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{self, Output};
use crate::pager::{self, TextFlags};
use crate::verb::trial::{Arm, Trial, TrialFlags, Victim, VictimFlags, WITHOUT};
use clap::Args;
use tardy_changes::Change;
use tardy_report::json::CompareDocument;
use tardy_report::{Compared, Terminal};
use tardy_stats::ab::Question;

/// Flags of `tardy verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy verify --change 'slack(victim)=1ns' -- ./my-program   a change, on and off\n\
    tardy verify --change 'prio(victim)=fifo:50' -p 1234        of a running process\n\
    tardy verify './a --old' './a --new'                        two commands\n\
    Changes are written as tardy fix writes them. However tardy ends, it leaves nothing changed.")]
pub(crate) struct Verify {
    /// Two commands to compare, each quoted as one word
    #[arg(value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["change", "pid", "comm", "command"])]
    commands: Vec<String>,

    /// The change, made in one half of the blocks (repeatable: all of them at once)
    #[arg(long, value_name = "CHANGE")]
    change: Vec<Change>,

    #[command(flatten)]
    victim: VictimFlags,

    #[command(flatten)]
    trial: TrialFlags,

    #[command(flatten)]
    text: TextFlags,

    #[command(flatten)]
    output: Output,
}

impl Verify {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        let interrupt = Interrupt::catch()?;
        let (victim, names, arms) = if let [a, b] = &self.commands[..] {
            let arms = [Arm::Command(words(a)?), Arm::Command(words(b)?)];
            (Victim::command(words(a)?), [a.clone(), b.clone()], arms)
        } else {
            if self.change.is_empty() {
                return Err(Failure::usage(
                    "name what to compare: a change (tardy verify --change 'slack(victim)=1ns' -- CMD, or -p PID; \
                     tardy whatif --list shows changes), or two commands (tardy verify './a --old' './a --new')",
                ));
            }
            if let Some(why) = tardy_changes::clash(&self.change) {
                return Err(Failure::usage(why));
            }
            if !self.victim.is_chosen() {
                return Err(Failure::usage("name the threads: -p PID, --comm NAME, or -- CMD"));
            }
            let name: Vec<String> = self.change.iter().map(ToString::to_string).collect();
            let names = [WITHOUT.to_owned(), name.join(" ")];
            (self.victim.victim()?, names, [Arm::AsItIs, Arm::Changed(self.change.clone())])
        };
        let trial = Trial {
            flags: &self.trial,
            victim: &victim,
            names,
            arms,
            alpha: Question::default().alpha,
            load: self.trial.load.as_deref().unwrap_or("none"),
            late: None,
            among: None,
        };
        let tried = trial.run(&interrupt, &self.output)?;
        if self.output.json {
            output::write_json(&CompareDocument::from(&tried.compared), None)?;
        } else {
            pager::write(&screen(&tried.compared, self.text.full)?, None, self.text)?;
        }
        Ok(if tried.compared.has_comparison() { Outcome::Fine } else { Outcome::Undecided })
    }
}

/// As `tardy compare` shows it.
pub(super) fn screen(compared: &Compared, is_full: bool) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    if is_full {
        tardy_report::compare_text(compared, Terminal::of_stdout(), &mut text)?;
    } else {
        tardy_report::compare_screen(compared, Terminal::of_stdout(), &mut text)?;
    }
    Ok(text)
}

fn words(command: &str) -> Result<Vec<String>, Failure> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(Failure::usage(format!("{command:?} is not a command"))),
    }
}
