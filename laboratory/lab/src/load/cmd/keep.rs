//! What the keeper of a command does.

use crate::load::worker::{Keeper, wait_for_all};
use rustix::process::WaitStatus;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, Command, Stdio};
use std::thread::spawn;
use std::time::Instant;

/// How much of the end of what it writes to its standard error is kept, for the note where it ends
/// early.
const SAID_BYTES_MAX: usize = 400;

/// Starts the command and waits until it and all that it started are gone.
pub(super) fn run(words: &[String], keeper: &Keeper) -> Result<(), String> {
    let program = &words[0];
    let mut command = Command::new(program);
    // A group of its own: a tool that signals its group should not hit its keeper.
    command.args(&words[1..]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = keeper.spawn(&mut command).map_err(|error| could_not(program, &error))?;
    let said = child.stderr.take().map(|stderr| spawn(|| last_of(stderr)));
    keeper.say_running();
    let mut own_end = None;
    wait_for_all(|pid, status| {
        if pid.as_raw_nonzero().get() as u32 == child.id() {
            own_end = Some(status);
        }
    });
    let took = begun.elapsed();
    let said = said.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let said = if said.is_empty() { said } else { format!("; it said: {said}") };
    let end = own_end.map_or_else(|| "in an unknown way".to_owned(), in_words);
    let seconds = took.as_secs_f64();
    keeper.say_note(&format!("`{program}` ended by itself after {seconds:.1} s, {end}{said}"));
    keeper.say_over(took);
    Ok(())
}

fn could_not(program: &str, error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and in PATH?",
        io::ErrorKind::PermissionDenied => "; is it a program that you may run?",
        _ => "",
    };
    format!("`{program}` could not be started ({error}){hint}")
}

fn in_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("with exit status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// Reads to the end; what is kept is what was said last.
fn last_of(mut stderr: ChildStderr) -> String {
    let mut said = vec![];
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut bytes) {
        said.extend_from_slice(&bytes[..count]);
        said.drain(..said.len().saturating_sub(SAID_BYTES_MAX));
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}
