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

/// The pager's command. An empty one, and `cat`, mean none.
fn chosen(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = ["TARDY_PAGER", "PAGER"].into_iter().find_map(variable);
    let pager = named.unwrap_or_else(|| "less".to_owned());
    let pager = pager.trim();
    (!pager.is_empty() && pager != "cat").then(|| pager.to_owned())
}

/// Whether the pager started. What it says in the end is its own.
fn through(pager: &str, text: &[u8]) -> io::Result<bool> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager).stdin(Stdio::piped());
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

    fn with(variables: &[(&str, &str)]) -> Option<String> {
        chosen(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn who_asks_for_a_pager_gets_it() {
        assert_eq!(with(&[]).as_deref(), Some("less"));
        assert_eq!(with(&[("PAGER", "more")]).as_deref(), Some("more"));
        assert_eq!(
            with(&[("PAGER", "more"), ("TARDY_PAGER", "less -S")]).as_deref(),
            Some("less -S")
        );
        for none in ["", " ", "cat"] {
            assert_eq!(with(&[("PAGER", none)]), None, "{none:?}");
        }
        assert_eq!(with(&[("PAGER", "more"), ("TARDY_PAGER", "")]), None);
    }

    #[test]
    fn a_pager_that_is_not_there_is_told_from_one_that_ends_early() {
        assert!(!through("no-such-pager-anywhere 2>/dev/null", b"text").unwrap());
        let long = vec![b'x'; 1 << 20];
        assert!(through("true", &long).unwrap());
    }
}
