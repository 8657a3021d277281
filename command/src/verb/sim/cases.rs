//! Which systems a file and the flags mean: one, or one for each condition.

use crate::failure::Failure;
use clap::Args;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tardy_sim::file::{self, Condition, File, Template, Values};

/// Flags that change what a file says.
#[derive(Clone, Debug, Args)]
pub(super) struct Changes {
    /// Simulated time of each run, instead of the file's; a bare number is seconds
    #[arg(short = 'D', long, value_name = "TIME", value_parser = crate::arguments::duration)]
    duration: Option<Duration>,

    /// Number of runs of each policy, each with its own seed, instead of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(file::RUNS_MAX)))]
    runs: Option<u32>,

    /// Seed of all random numbers, instead of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Timer policies to compare, instead of the file's: hardirq,deferred
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policies: Vec<String>,

    /// Vary something of the file: a name in braces or an entry, as thread.storm.count=1,2,5,10 or
    /// machine.switch=1us,2us (repeatable: every combination)
    #[arg(long, value_name = "WHAT=VALUES", value_parser = variation)]
    over: Vec<(String, Vec<String>)>,

    /// The value of a name in braces, instead of the file's: machine=counted-armv7 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = variation)]
    with: Vec<(String, Vec<String>)>,

    /// Run only these conditions of the file
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
}

/// One system to be simulated.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) condition: Condition,
    pub(super) file: File,
}

/// `thread.storm.count=1,2,5`. Commas in braces or brackets part nothing.
fn variation(text: &str) -> Result<(String, Vec<String>), String> {
    let how = || format!("\"{text}\" varies nothing: write thread.storm.count=1,2,5");
    let (what, values) = text.split_once('=').ok_or_else(how)?;
    let values: Vec<String> = values
        .split(',')
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
        .collect();
    if values.is_empty() || what.trim().is_empty() {
        return Err(how());
    }
    let odd = |value: &&String| {
        value.contains(|it: char| matches!(it, '"' | '\\' | '{' | '}') || it.is_control())
    };
    if let Some(value) = values.iter().find(odd) {
        return Err(format!("{value:?} cannot be used as a value: it has quotes or braces"));
    }
    Ok((what.trim().to_owned(), values))
}

/// A file with its conditions, or one that comes with tardy by its name.
pub(super) fn template(path: &Path) -> Result<Template, Failure> {
    let text = match path.to_str().and_then(file::known_system) {
        Some(known) if !path.exists() => known.text.to_owned(),
        _ => read(path)?,
    };
    Template::parse(&text).map_err(|error| refused(path, &error))
}

fn refused(path: &Path, error: &file::FileError) -> Failure {
    let name = path.display();
    Failure::new(format!("{name}: {error}; tardy sim show storm prints an example"))
}

impl Changes {
    /// The systems that are meant.
    pub(super) fn cases(&self, path: &Path) -> Result<Vec<Case>, Failure> {
        let mut template = template(path)?;
        // Before anything varies, so that lines are those of the file.
        self.of(path, &template, &Values::new())?;
        for (what, values) in &self.over {
            template.vary(what, values).map_err(Failure::usage)?;
        }
        self.of(path, &template, &Values::new())
    }

    /// The same of a template, with values chosen for names.
    pub(super) fn of(
        &self,
        path: &Path,
        template: &Template,
        chosen: &Values,
    ) -> Result<Vec<Case>, Failure> {
        let known = |name: &String| template.conditions.iter().any(|one| one.name == *name);
        if let Some(name) = self.only.iter().find(|name| self.over.is_empty() && !known(name)) {
            let path = path.display();
            return Err(Failure::usage(format!("{path} has no condition {name}")));
        }
        let wanted = |one: &&Condition| self.only.is_empty() || self.only.contains(&one.name);
        if let Some((name, _)) = self.with.iter().find(|(name, _)| !template.has_name(name)) {
            let path = path.display();
            return Err(Failure::usage(format!("{path} has no {{{name}}} that could get a value")));
        }
        let with = self.with.iter().map(|(name, values)| (name.clone(), values.join(",")));
        let chosen: Values = with.chain(chosen.clone()).collect();
        let mut cases = Vec::new();
        for condition in template.conditions.iter().filter(wanted) {
            let file = template.file(condition, &chosen).map_err(|error| {
                let mut error = error;
                if !condition.name.is_empty() {
                    error.why = format!("{} (condition {})", error.why, condition.name);
                }
                refused(path, &error)
            })?;
            cases.push(Case { condition: condition.clone(), file: self.changed(file)? });
        }
        Ok(cases)
    }

    fn changed(&self, mut file: File) -> Result<File, Failure> {
        let asked_ns =
            self.duration.map(|duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        file.span_ns = asked_ns.unwrap_or(file.span_ns);
        if file.span_ns > tardy_sim::SPAN_NS_MAX {
            let most = Duration::from_nanos(tardy_sim::SPAN_NS_MAX).as_secs() / 3_600;
            return Err(Failure::usage(format!("at most {most} hours can be simulated")));
        }
        file.runs = self.runs.unwrap_or(file.runs);
        if !file.runs.is_multiple_of(file.rounds) {
            file.rounds = 1;
        }
        file.system.seed = self.seed.unwrap_or(file.system.seed);
        if !self.policies.is_empty() {
            file.policies.clone_from(&self.policies);
        }
        for policy in &file.policies {
            let system = file.system_of(policy, 0);
            system.check().map_err(|error| Failure::usage(error.to_string()))?;
        }
        Ok(file)
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let refuse = |why: String| Failure::new(format!("could not read {}: {why}", path.display()));
    if matches!(path.try_exists(), Ok(false)) {
        return Err(Failure::usage(format!(
            "there is no system `{}`: tardy sim list shows those that come with tardy; or name a TOML file",
            path.display()
        )));
    }
    let mut text = String::new();
    let file = tardy_files::open_named(path).map_err(|error| refuse(error.to_string()))?;
    let read = file.take(file::TEXT_MAX as u64 + 1).read_to_string(&mut text);
    if read.map_err(|error| refuse(error.to_string()))? > file::TEXT_MAX {
        return Err(refuse(format!("it is longer than {} MiB", file::TEXT_MAX >> 20)));
    }
    Ok(text)
}

/// Which file.
#[derive(Clone, Debug, Args)]
pub(super) struct Given {
    /// A system as a TOML file, or the name of one that comes with tardy (tardy sim list)
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
}
