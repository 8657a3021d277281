//! `tardy fix`: from a late thread to a change that is proven on this machine, kept where it helped.

mod decide;
mod plan;
mod shown;
mod victim;

use crate::explanation::{self, Wanted};
use crate::failure::{Failure, Outcome};
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::output::{self, Output, out};
use crate::prediction;
use crate::recordings;
use crate::verb::compare::gate;
use crate::verb::trial::{Arm, Trial, TrialFlags, Tried, VictimFlags, WITHOUT};
use crate::verb::{undo, verify};
use clap::Args;
use decide::{Decision, decide};
use plan::{AtBest, Candidate, Forecast, Whose};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;
use tardy_explain::{Advice, Explanation, Options};
use tardy_lab::load::Spec;
use tardy_recording::{Manifest, Recording};
use tardy_remedy::{Journal, Setting, System, lasting, shell_word};
use tardy_report::Gate;
use tardy_report::units::duration;
use tardy_stats::ab::Question;
use tardy_whatif::WhatIf;

/// How long to record the program first.
const DURATION: Duration = Duration::from_secs(5);

/// Flags of `tardy fix`.
#[allow(clippy::struct_excessive_bools)] // they are flags
#[derive(Debug, Args)]
#[command(after_help = "\
    tardy fix -p 1234                     a running process: record, explain, try, keep what helps\n\
    tardy fix run-1 --dry-run             only the plan, with the commands\n\
    tardy fix -- ./my-program             a command that is started for it\n\
    tardy fix -p 1234 --only slack --yes --at-least 20us@p99.9\n\
    tardy shows each change before it makes it. tardy undo takes back what stays.")]
pub(crate) struct Fix {
    /// A recording of this machine [default: the latest in recordings/]
    #[arg(value_name = "REC", conflicts_with_all = ["pid", "comm", "command"])]
    recording: Option<PathBuf>,

    #[command(flatten)]
    victim: VictimFlags,

    /// How long to record the program first; a bare number is seconds [default: 5s]
    #[arg(short = 'D', long, value_parser = crate::arguments::duration)]
    duration: Option<Duration>,

    /// Only these changes: a name (slack), or all of one ('slack(victim)=1ns') (repeatable)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// Keep a change only if it is shown to gain more than this: 20us@p99.9, 10%@mean [default: any gain that
    /// is shown]
    #[arg(long, value_name = "BOUND@FIGURE", value_parser = gate::parse_gain)]
    at_least: Option<Gate>,

    /// Make changes without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// Only show the plan with its commands
    #[arg(long)]
    dry_run: bool,

    /// Make what helped permanent: sysctl.d, tmpfiles.d, a drop-in of the service
    #[arg(long)]
    keep: bool,

    /// List what tardy has changed and not taken back
    #[arg(long, conflicts_with_all = [
        "recording", "pid", "comm", "command", "duration", "only", "at_least", "yes", "dry_run", "keep",
    ])]
    list: bool,

    #[command(flatten)]
    trial: TrialFlags,

    #[command(flatten)]
    output: Output,
}

/// What became of the changes that were tried.
#[derive(Default)]
struct Results {
    rows: Vec<String>,
    documents: Vec<serde_json::Value>,
    /// One was shown to help, whether it could be kept or not.
    has_helped: bool,
    /// One is kept.
    is_fixed: bool,
}

/// What becomes of a change that helped.
enum Kept {
    /// It stays: how long.
    Yes(String),
    /// It does not: why.
    No(String),
}

impl Fix {
    pub(crate) fn execute(self) -> Result<Outcome, Failure> {
        if self.list {
            return undo::list(&self.output);
        }
        self.only.iter().try_for_each(|name| plan::must_be_known(name))?;
        let interrupt = Interrupt::catch()?;
        let found = self.find(&interrupt)?;
        let culprits = found.culprits();
        let whose = Whose {
            threads: &found.threads,
            culprits: &culprits,
            is_started: found.victim.is_command() || found.has_ended,
        };
        let forecast: &dyn Forecast = match &found.whatif {
            Ok(whatif) => whatif,
            Err(_) => &AtBest,
        };
        let mut candidates = plan::candidates(&found.explanation, &whose, forecast, &self.only);
        if let Some(kept_for) = &found.kept_for {
            plan::put_first(&mut candidates, &kept_for.cause);
            self.output.remark(&format!(
                "this recording was kept for {}, which ran {} late because of {}: changes against that cause come \
                 first. Gains are of all wakeups in it.",
                kept_for.name,
                duration(kept_for.lateness_ns),
                kept_for.cause
            ));
        }
        if let Err(why) = &found.whatif {
            self.output.remark(&format!(
                "each gain is an upper bound: nothing can be predicted from this recording, because \
                    {why}"
            ));
        }
        if found.has_ended {
            self.output.remark(
                "the late threads of this recording have ended: replace PID in the commands by the number that the \
                 process has when it runs again (pgrep NAME)",
            );
        }
        self.show(&found.explanation, &candidates)?;
        if found.load != "none" && !candidates.is_empty() {
            self.output
                .remark(&format!("tardy runs the load {} while it tries a change", found.load));
        }
        let able: Vec<&Candidate> = candidates.iter().filter(|it| it.settings.is_ok()).collect();
        if able.is_empty() || self.dry_run {
            if !able.is_empty() {
                self.output.remark(
                    "nothing was changed: without --dry-run tardy asks before it tries each change",
                );
            }
            return self.tell(&Results::default(), &found.explanation, &candidates);
        }
        if !rustix::process::geteuid().is_root() {
            self.output.remark(
                "tardy changes nothing without root: run the commands above, or this command, as root",
            );
            return self.tell(&Results::default(), &found.explanation, &candidates);
        }
        if self.output.json && !self.yes {
            self.output.remark(
                "nothing was changed: with --json tardy cannot ask, and shows the plan; --yes tries it",
            );
            return self.tell(&Results::default(), &found.explanation, &candidates);
        }
        let mut results = Results::default();
        for candidate in &able {
            if !self.yes && !asked(&format!("Try {}?", candidate.change))? {
                results.rows.push(format!("{} was not tried", candidate.change));
                continue;
            }
            let tried = self.try_one(candidate, &found, able.len(), &interrupt, &mut results);
            if let Err(failure) = tried {
                // What was measured before it is told all the same.
                self.tell(&results, &found.explanation, &candidates)?;
                return Err(failure);
            }
            if results.has_helped {
                break;
            }
        }
        self.tell(&results, &found.explanation, &candidates)
    }

    fn try_one(
        &self,
        candidate: &Candidate,
        found: &victim::Found,
        plans: usize,
        interrupt: &Interrupt,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let change = &candidate.change;
        self.output.remark(&format!(
            "tardy tries {change}: some blocks with it and some without, in random order"
        ));
        let culprits = found.culprits();
        let trial = Trial {
            flags: &self.trial,
            victim: &found.victim,
            names: [WITHOUT.to_owned(), change.to_string()],
            arms: [Arm::AsItIs, Arm::Changed(vec![change.clone()])],
            // Of all that are tried the chance of one false alarm.
            alpha: Question::default().alpha / plans.max(1) as f64,
            load: &found.load,
            // Those of the plan, where they are known by number: no other is changed than was shown.
            late: (!found.victim.is_command()).then_some(found.threads.as_slice()),
            among: (!candidate.is_asked).then_some(&culprits),
        };
        let tried = match trial.run(interrupt, &self.output) {
            Ok(tried) => tried,
            // Nothing more can be tried then.
            Err(failure) if interrupt.is_asked() || found.victim.ended().is_some() => {
                return Err(failure);
            }
            Err(failure) => {
                self.output.remark(&failure.to_string());
                results.rows.push(format!("{change} was not tried: {failure}"));
                results.documents.push(serde_json::json!({
                    "change": change.to_string(), "verdict": "not tried", "kept": false,
                    "told": failure.to_string(), "seconds": 0.0, "wakeups": [0, 0],
                    "figures": [],
                }));
                return Ok(());
            }
        };
        if !self.output.json {
            let mut out = output::writer(None);
            out.write_all(&verify::screen(&tried.compared, false)?)?;
            out.finish()?;
        }
        let decision = decide(&tried.compared, self.at_least.as_ref());
        let (word, row) = match &decision {
            Decision::Helped(told) => {
                results.has_helped = true;
                let row = match self.keep_it(candidate, found) {
                    Ok(Kept::Yes(how)) => {
                        results.is_fixed = true;
                        format!("{change} helped {how}: {told}")
                    }
                    Ok(Kept::No(why)) => {
                        format!("{change} helped and is not kept, because {why}: {told}")
                    }
                    Err(why) => {
                        format!(
                            "{change} helped and is not kept, because that failed ({why}): {told}"
                        )
                    }
                };
                ("helped", row)
            }
            Decision::Harmed(told) => {
                ("harmed", format!("{change} made the threads later and is undone: {told}"))
            }
            Decision::NotShown(told) => {
                ("not shown", format!("{change} is undone, because no such gain is shown: {told}"))
            }
        };
        results.rows.push(format!("{row}; {}", took(&tried)));
        results.documents.push(serde_json::json!({
            "change": change.to_string(), "verdict": word, "kept": results.is_fixed, "told": row,
            "seconds": tried.took.as_secs_f64(),
            "wakeups": decide::wakeups(&tried.compared), "figures": decide::figures(&tried.compared),
        }));
        Ok(())
    }

    /// Makes it stay, and says how long.
    fn keep_it(&self, candidate: &Candidate, found: &victim::Found) -> Result<Kept, Failure> {
        if found.victim.is_command()
            && candidate.change.whom() == Some(&tardy_changes::Whom::Victim)
        {
            let why =
                "the command that tardy started for the trial has ended: start it with this change";
            return Ok(Kept::No(why.to_owned()));
        }
        let system = System::new(found.threads.clone());
        let system = if candidate.is_asked { system } else { system.among(found.culprits()) };
        let mut settings = crate::verb::trial::settings_of(&candidate.change, &system)?;
        let mut notes = Vec::new();
        if self.keep {
            let why = format!(
                "against {}, {:.0} % of the worst wakeups",
                candidate.against(),
                candidate.gain.worst * 100.0
            );
            let lasting = lasting(&candidate.change, &settings, &why);
            notes.extend(lasting.texts.iter().map(written));
            notes.extend(lasting.not);
            settings.extend(lasting.texts);
        }
        Journal::system().change_and_keep(&settings, &candidate.change.to_string())?;
        let is_of_threads = settings.iter().all(|setting| setting.place.thread().is_some());
        let until = match (self.keep, is_of_threads) {
            (true, _) => "and stays",
            (false, true) => "and stays as long as these threads run",
            (false, false) => "and stays until the next boot",
        };
        notes.insert(0, format!("{until} (tardy undo takes it back)"));
        Ok(Kept::Yes(notes.join("; ")))
    }

    /// The plan, before anything is changed.
    fn show(&self, explanation: &Explanation, candidates: &[Candidate]) -> Result<(), Failure> {
        if self.output.json {
            return Ok(());
        }
        out!("{}", shown::plan(explanation, candidates, shown::width()))
    }

    fn tell(
        &self,
        results: &Results,
        explanation: &Explanation,
        candidates: &[Candidate],
    ) -> Result<Outcome, Failure> {
        if self.output.json {
            let plan = candidates.iter().map(|candidate| {
                serde_json::json!({
                    "change": candidate.change.to_string(),
                    "cause": candidate.causes.first().map_or("nothing", |cause| cause.0),
                    "causes": candidate.causes.iter().map(|cause| cause.0).collect::<Vec<_>>(),
                    "gain": candidate.gain.all,
                    "worst_gain": candidate.gain.worst,
                    "how": candidate.gain.how,
                    "range": candidate.gain.range,
                    "price": candidate.remedy.price_of(&candidate.change),
                    "needs": candidate.remedy.needs(),
                    "commands": candidate.commands(),
                    "not_here": candidate.settings.as_ref().err(),
                    "next_boot": candidate.next_boot(),
                })
            });
            let by_hand = advice_alone(explanation)
                .map(|advice| serde_json::json!({ "cause": advice.cause.0, "text": advice.text }));
            let document = serde_json::json!({
                "schema": "tardy.fix/1",
                "advice": by_hand.collect::<Vec<_>>(),
                "plan": plan.collect::<Vec<_>>(),
                "tried": results.documents,
                "fixed": results.is_fixed,
            });
            output::write_json(&document, None)?;
            return Ok(Outcome::Fine);
        }
        for row in &results.rows {
            out!("{}", shown::paragraph("", row, shown::width()))?;
        }
        Ok(Outcome::Fine)
    }

    /// Whose lateness it is, and what it is made of.
    fn find(&self, interrupt: &Interrupt) -> Result<victim::Found, Failure> {
        let folder = if self.victim.is_chosen() {
            let duration = self.duration.unwrap_or(DURATION);
            victim::record(&self.victim, self.load(None), duration, interrupt, &self.output)?
        } else {
            recordings::or_latest(self.recording.clone(), &self.output)?
        };
        let read = || -> Result<Input, Failure> { Ok(Input::of(Recording::open(&folder)?)) };
        if !self.victim.is_chosen() {
            let manifest =
                Manifest::read(&folder).map_err(|error| Failure::new(error.to_string()))?;
            victim::see_where_from(&folder, &manifest, self.dry_run)?;
        }
        let mut input = read()?;
        let manifest = input.manifest();
        let watch = if self.victim.is_chosen() {
            self.victim.victim()?.watch()
        } else {
            tardy_explain::Watch::default()
        };
        self.output.remark("simulating what was recorded");
        let (_, observed) = prediction::observe(&mut read()?, watch.clone())?;
        let whatif = WhatIf::new(&observed, &prediction::kernel(&manifest));
        let options = Options { watch, ..Options::default() };
        let explained = explanation::explain(&mut input, options, Wanted::default())?;
        recordings::remember(&folder, &explained.explanation)?;
        if explained.explanation.latencies.count() == 0 {
            return Err(Failure::new(format!(
                "{} has no wakeup of these threads, so it is not known how late they are: record \
                 for longer (-D 30s), or name threads that sleep and wake up (--comm NAME)",
                folder.display()
            )));
        }
        let recorded = manifest.settings.get(crate::session::settings::LOAD);
        let load = self.load(recorded.filter(|load| self.is_harmless(load))).to_owned();
        let whatif = whatif.map_err(|why| why.to_string());
        victim::found(
            &self.victim,
            &manifest,
            explained.explanation,
            whatif,
            load,
            &folder,
            self.dry_run,
        )
    }

    /// Whether a load that a recording tells of may be started because it does: whoever made the recording would
    /// otherwise choose programs to be run, and folders to be written to.
    fn is_harmless(&self, load: &str) -> bool {
        let spec = load.parse::<Spec>();
        let is_harmless = spec.as_ref().is_ok_and(|spec| !spec.is_of_its_authors_choice());
        if !is_harmless && self.trial.load.is_none() {
            let why = match spec {
                Ok(_) => format!(
                    "a recording may not choose programs or folders: --load {} starts it, if you trust it",
                    shell_word(load)
                ),
                Err(_) => "it is none that tardy has".to_owned(),
            };
            self.output.remark(&format!(
                "The load of the recording, {load}, is not started, because {why}."
            ));
        }
        is_harmless
    }

    fn load<'a>(&'a self, recorded: Option<&'a String>) -> &'a str {
        self.trial.load.as_ref().or(recorded).map_or("none", String::as_str)
    }
}

/// What is said of a file that lasts. systemd reads those of services only when it is told to, or at a boot.
fn written(text: &Setting) -> String {
    let path = text.place.words();
    let how = if path.starts_with("/etc/systemd/user/") {
        " (systemctl --user daemon-reload lets the service begin with it)"
    } else if path.starts_with("/etc/systemd/") {
        " (systemctl daemon-reload lets the service begin with it)"
    } else {
        ""
    };
    format!("written to {path}{how}")
}

/// What only the program itself, or a person, can do.
fn advice_alone(explanation: &Explanation) -> impl Iterator<Item = &Advice> {
    explanation.advice.iter().filter(|advice| advice.changes.is_empty())
}

fn took(tried: &Tried) -> String {
    format!("{:.0} s", tried.took.as_secs_f64())
}

/// Asks at the terminal; where nobody is there, the answer is no.
fn asked(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        output::say!(
            "{} There is no terminal to answer on: use --yes.",
            output::one_line(question)
        );
        return Ok(false);
    }
    write!(output::raw_error(), "{} [y/N] ", output::one_line(question))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
