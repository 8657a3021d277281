//! `tardy completions`: what a shell offers when Tab is pressed.

use crate::failure::{Failure, Outcome};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write as _;

/// Flags of `tardy completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
    bash:  tardy completions bash > ~/.local/share/bash-completion/completions/tardy\n\
    zsh:   tardy completions zsh > a folder of $fpath, as _tardy\n\
    fish:  tardy completions fish > ~/.config/fish/completions/tardy.fish")]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn execute<Command: CommandFactory>(&self) -> Result<Outcome, Failure> {
        // It panics where a write fails, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Command::command(), "tardy", &mut script);
        crate::output::raw().lock().write_all(&script)?;
        Ok(Outcome::Fine)
    }
}
