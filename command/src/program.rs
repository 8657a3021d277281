//! A program that is started to be watched, and the wait until a recording of it is to end.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::session::Session;
use crate::session::settings::Looks;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tardy_host::Threads;

/// How often it is looked whether the recording is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The program, where there is a command. Where standard output is for a document, it prints to standard error.
pub(crate) fn start(command: &[String], to_stderr: bool) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let cannot = |error| Failure::new(format!("cannot start {program}: {error}"));
    let mut command = Command::new(program);
    command.args(arguments);
    if to_stderr {
        let stderr = std::io::stderr().as_fd().try_clone_to_owned().map_err(cannot)?;
        command.stdout(Stdio::from(stderr));
    }
    command.spawn().map(Some).map_err(cannot)
}

/// The threads of a program that was started, or of those processes, of which only these names are wanted.
pub(crate) fn threads(child: Option<&Child>, processes: &[u32], names: &[String]) -> Threads {
    Threads {
        processes: processes.iter().copied().chain(child.map(Child::id)).collect(),
        with_children: child.is_some(),
        names: if child.is_some() { Vec::new() } else { names.to_vec() },
    }
}

/// Waits until the time is over, the program ends, somebody asks for it, or the recording ends by itself.
pub(crate) fn attend(
    session: &Session,
    interrupt: &Interrupt,
    mut child: Option<&mut Child>,
    duration: Option<Duration>,
    quiet: bool,
    threads: Threads,
    words: impl Fn() -> String,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let progress = Progress::new(duration, quiet);
    let mut looks = Looks::new(Some(session), threads);
    loop {
        let elapsed = begun.elapsed();
        let over = duration.is_some_and(|duration| elapsed >= duration);
        let ended = match &mut child {
            None => false,
            Some(child) => child.try_wait().map_err(|error| lost(&error))?.is_some(),
        };
        if over || ended || interrupt.is_asked() || session.has_ended() {
            return Ok(());
        }
        looks.after(elapsed);
        progress.show(elapsed, words());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A program that outlives its recording is asked to end, as Ctrl-C asks it. Yields its status where it ended by
/// itself.
pub(crate) fn end(child: &mut Child) -> Result<Option<ExitStatus>, Failure> {
    if let Some(status) = child.try_wait().map_err(|error| lost(&error))? {
        return Ok(Some(status));
    }
    if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
        // It may have ended this very moment.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
    child.wait().map_err(|error| lost(&error))?;
    Ok(None)
}

/// Whether there is a process of this number.
pub(crate) fn must_exist(pid: u32) -> Result<(), Failure> {
    if std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return Ok(());
    }
    Err(Failure::usage(format!("there is no process {pid}")))
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::new(format!("lost the command: {error}"))
}
