//! `tardy`: finds out why a Linux thread woke up late.
//!
//! Each verb is a file under `verb/`, with its flags beside its code. This file only chooses the
//! verb and turns what comes back into an exit status: 0 fine, 1 failed, 2 wrong usage, 3 a bound
//! was exceeded, 4 whether it was cannot be told.
#![forbid(unsafe_code)]
// They panic where nobody reads any more, or the disk is full: see `output::out`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod confine;
mod document;
mod explanation;
mod failure;
mod guest;
mod input;
mod interrupt;
mod letters;
mod listing;
mod manners;
mod memory;
mod nobody;
mod output;
mod pager;
mod prediction;
mod program;
mod progress;
mod recordings;
mod session;
mod share;
mod shell;
mod verb;
mod zone;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser};
use failure::Outcome;
use std::process::ExitCode;
use verb::Verb;

/// Finds out why a Linux thread woke up late: which cause, whose fault, and what would help.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Where to begin: tardy run -p PID (why is this program late?), tardy top (who is late now?), \
    tardy watch --over 1ms --comm NAME (what makes it late once a night?), tardy fix -p PID (what would help? It asks \
    before it changes anything).\n\n\
    Durations are written 1h30m, 10s, 1ms, 237us, 50ns. A bare number is seconds where it says \
    how long something runs, and µs where it is a latency, an interval or a bound. \
    Exit status: 0 fine, 1 failed, 2 wrong usage, 3 a bound was exceeded, 4 undecided."
)]
struct Tardy {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    manners: manners::Manners,
}

/// Ends on wrong usage, with what may have been meant.
fn end(error: &clap::Error, hint: Option<&str>) -> ! {
    let _ = error.print();
    if let Some(hint) = hint {
        output::say!("\n  {}", output::printable(hint));
    }
    std::process::exit(error.exit_code());
}

fn main() -> ExitCode {
    // This program is also the first process of guests, and what starts them; and loads that are
    // processes run it again.
    let other = tardy_programs::enter()
        .or_else(tardy_vm::enter_guest)
        .or_else(tardy_vm::enter_keeper)
        .or_else(tardy_lab::load::worker::enter);
    if let Some(code) = other {
        return code;
    }
    interrupt::write_errors_instead_of_xfsz();
    tardy_remedy::tell_while_changing(interrupt::hold);
    // What a tardy that was killed had changed.
    for undone in tardy_remedy::Journal::system().undo_left_over() {
        output::say!(
            "a previous tardy that was killed had set {}: {}",
            output::one_line(&undone.entry.why),
            output::one_line(&undone.words())
        );
    }
    if interrupt::was_asked_meanwhile() {
        return ExitCode::from(130);
    }
    // clap itself ends with 2 on wrong usage.
    let tardy = Tardy::try_parse().unwrap_or_else(|mut error| {
        if error.kind() == ErrorKind::InvalidSubcommand {
            let hint = letters::hint_of_verb(crate::shell::arguments(), &Tardy::command());
            if hint.is_some() {
                // Its tip is the verb that is spelt most like it, whatever that does.
                error.remove(ContextKind::SuggestedSubcommand);
            }
            end(&error, hint.as_deref());
        }
        if matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict) {
            // Its tip is to pass a flag that does not exist as the name of a file.
            error.remove(ContextKind::Suggested);
            let unexpected = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(unexpected)) => unexpected.clone(),
                _ => String::new(),
            };
            let hint = letters::hint(crate::shell::arguments()).map(str::to_owned);
            let hint =
                hint.or_else(|| letters::hint_of_command(crate::shell::arguments(), &unexpected));
            if hint.is_some() {
                error.remove(ContextKind::SuggestedArg);
            }
            end(&error, hint.as_deref());
        }
        error.exit()
    });
    tardy.manners.take_effect();
    match tardy.verb.execute::<Tardy>() {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::BoundExceeded) => ExitCode::from(3),
        Ok(Outcome::Undecided) => ExitCode::from(4),
        Err(failure) => {
            if !failure.is_closed_pipe() {
                output::say!("tardy: {}", output::indented(&failure.to_string()));
            }
            ExitCode::from(failure.status())
        }
    }
}
