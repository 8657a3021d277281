//! QEMU must not outlive tardy, however tardy ends.
//!
//! It is started by way of this program: a process that asks the kernel to be ended with its parent,
//! and then becomes QEMU.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The first argument of a process that is to become another; the second is its parent's id.
const WORD: &str = "tardy-vm-keeper";

/// Where the program was started to become another one: becomes it. Otherwise returns none at once.
/// To be called first in `main`.
pub fn enter() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let parent = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    let Some(program) = words.next() else { return Some(ExitCode::FAILURE) };
    // A parent that was gone before this was asked sends no signal.
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err()
        || getppid().map(Pid::as_raw_pid) != parent
    {
        return Some(ExitCode::FAILURE);
    }
    // QEMU's threads take strict turns, a few µs each: on one CPU that takes two thirds of the time that
    // it takes on two. Where it is not allowed, it takes longer.
    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    let _ = sched_setaffinity(None, &here);
    let error = Command::new(&program).args(words).exec();
    eprintln!("cannot start {}: {error}", program.display());
    Some(ExitCode::FAILURE)
}

/// A command for `program` that ends with the thread that starts it.
pub(crate) fn command(program: &Path, arguments: Vec<OsString>) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(WORD).arg(std::process::id().to_string()).arg(program).args(arguments);
    Ok(command)
}
