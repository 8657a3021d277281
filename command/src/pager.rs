//! Text that may be longer than the terminal: through a pager, as git does it.
//!
//! Doc comments on flags are what `--help` prints, so there is no markup in them.
#![allow(clippy::doc_markdown)]

use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// How much is written, and how.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TextFlags {
    /// Print everything, not only what fits on a screen
    #[arg(long)]
    pub(crate) full: bool,

    /// Do not use a pager ($TARDY_PAGER, $PAGER, or less)
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// Writes text to a file, or to standard output: where that is a terminal, through the pager.
pub(crate) fn write(text: &[u8], file: Option<&Path>, flags: TextFlags) -> Result<(), Failure> {
    let is_terminal = file.is_none() && crate::output::raw().is_terminal();
    if is_terminal
        && !flags.no_pager
        && let Some(pager) = chosen(|name| std::env::var(name).ok())
    {
        // One that does not start is no reason to show nothing.
        if through(&pager, output::coloured(text).as_bytes())? {
            return Ok(());
        }
    }
    let mut out = output::writer(file);
    out.write_all(text)?;
    out.finish()
}

/// What text is piped through.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pager {
    /// A command of the user's, for a shell: what it names is found in the user's own `PATH`.
    Named(String),
    /// What tardy looks for by itself, where no other user can have put it.
    Less,
}

/// The pager. An empty one, and `cat`, mean none.
fn chosen(variable: impl Fn(&str) -> Option<String>) -> Option<Pager> {
    let Some(named) = ["TARDY_PAGER", "PAGER"].into_iter().find_map(variable) else {
        return Some(Pager::Less);
    };
    let pager = named.trim();
    (!pager.is_empty() && pager != "cat").then(|| Pager::Named(pager.to_owned()))
}

/// The program that is started; `None` where there is none that may be.
fn command(pager: &Pager) -> Option<Command> {
    match pager {
        Pager::Less => tardy_programs::find("less").map(Command::new),
        Pager::Named(pager) => {
            let mut command = Command::new(tardy_programs::find_of_system("sh")?);
            command.arg("-c").arg(pager);
            Some(command)
        }
    }
}

/// Whether the pager started. What it says in the end is its own.
fn through(pager: &Pager, text: &[u8]) -> io::Result<bool> {
    let Some(mut command) = command(pager) else { return Ok(false) };
    command.stdin(Stdio::piped());
    // Ends at once where all fits, shows colours, and leaves the text on the screen.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    let Ok(mut child) = command.spawn() else { return Ok(false) };
    let written = match child.stdin.take() {
        Some(mut input) => input.write_all(text),
        None => Ok(()),
    };
    let ended = child.wait()?;
    match written {
        // The reader had seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        // A shell's statuses for a command that is not there, or cannot be run.
        _ => Ok(!matches!(ended.code(), Some(126 | 127))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<Pager> {
        chosen(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn named(command: &str) -> Pager {
        Pager::Named(command.to_owned())
    }

    #[test]
    fn who_asks_for_a_pager_gets_it() {
        assert_eq!(with(&[]), Some(Pager::Less));
        assert_eq!(with(&[("PAGER", "more")]), Some(named("more")));
        let both = [("PAGER", "more"), ("TARDY_PAGER", "less -S")];
        assert_eq!(with(&both), Some(named("less -S")));
        for none in ["", " ", "cat"] {
            assert_eq!(with(&[("PAGER", none)]), None, "{none:?}");
        }
        assert_eq!(with(&[("PAGER", "more"), ("TARDY_PAGER", "")]), None);
    }

    #[test]
    fn a_pager_that_is_not_there_is_told_from_one_that_ends_early() {
        assert!(!through(&named("no-such-pager-anywhere 2>/dev/null"), b"text").unwrap());
        let long = vec![b'x'; 1 << 20];
        assert!(through(&named("true"), &long).unwrap());
    }

    #[test]
    fn neither_a_shell_nor_less_is_looked_for_by_name_alone() {
        for pager in [Pager::Less, named("less")] {
            let Some(command) = command(&pager) else { continue };
            let program = std::path::Path::new(command.get_program());
            assert!(program.is_absolute(), "{}", program.display());
        }
    }
}
