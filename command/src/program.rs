//! A program that is started to be watched, and the wait until a recording of it is to end.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::session::Session;
use crate::session::settings::Looks;
use crate::share::Share;
use rustix::process::Signal;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tardy_host::Threads;
use tardy_programs::User;

/// How often it is looked whether the recording is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A program that was asked to end is killed after this.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The program, where there is a command. Where standard output is for a document, it prints to standard error.
/// It ends with tardy, however that ends.
pub(crate) fn start(
    command: &[String],
    user: Option<&User>,
    to_stderr: bool,
) -> Result<Option<Started>, Failure> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let cannot = |error| cannot_start(program, &error);
    let file = find(program).map_err(cannot)?;
    let mut command = tardy_programs::kept(file.as_os_str(), user);
    command.args(arguments);
    if to_stderr {
        let stderr = crate::output::raw_error().as_fd().try_clone_to_owned().map_err(cannot)?;
        command.stdout(Stdio::from(stderr));
    }
    command.spawn().map(|child| Some(Started(child))).map_err(cannot)
}

fn cannot_start(program: &str, error: &io::Error) -> Failure {
    Failure::new(format!("cannot start {program}: {error}"))
}

/// Finds out that a command cannot be started before anything is recorded for it.
pub(crate) fn must_be_there(command: &[String]) -> Result<(), Failure> {
    let Some(program) = command.first() else { return Ok(()) };
    find(program).map(drop).map_err(|error| cannot_start(program, &error))
}

/// A program that was started. Dropped, it has ended.
pub(crate) struct Started(Child);

impl Started {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Has no effect on one that has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program's file, as a shell finds it.
fn find(program: &str) -> io::Result<PathBuf> {
    let is_program = |file: &Path| {
        let found = file.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        let file = PathBuf::from(program);
        return match file.metadata() {
            Ok(_) if is_program(&file) => Ok(file),
            Ok(_) => Err(io::ErrorKind::PermissionDenied.into()),
            Err(error) => Err(error),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let files = std::env::split_paths(&path).map(|folder| folder.join(program));
    let not_found = || io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
    files.into_iter().find(|file| is_program(file)).ok_or_else(not_found)
}

/// The threads of a program that was started, or of those processes, of which only these names are wanted.
pub(crate) fn threads(child: Option<&Started>, processes: &[u32], names: &[String]) -> Threads {
    Threads {
        processes: processes.iter().copied().chain(child.map(Started::id)).collect(),
        with_children: child.is_some(),
        names: if child.is_some() { Vec::new() } else { names.to_vec() },
    }
}

/// Waits until the time is over, the program ends, somebody asks for it, or the recording ends by itself.
pub(crate) fn attend(
    session: &Session,
    interrupt: &Interrupt,
    mut child: Option<&mut Started>,
    duration: Option<Duration>,
    quiet: bool,
    threads: Threads,
    words: impl Fn() -> String,
) -> Result<(), Failure> {
    // The program runs already, and inherits nothing of it.
    let _share = Share::claim();
    let begun = Instant::now();
    let progress = Progress::new(duration, quiet);
    let mut looks = Looks::new(Some(session), threads);
    loop {
        let elapsed = begun.elapsed();
        let over = duration.is_some_and(|duration| elapsed >= duration);
        let ended = match &mut child {
            None => false,
            Some(child) => child.has_ended().map_err(|error| lost(&error))?,
        };
        if over || ended || interrupt.is_asked() || session.has_ended() {
            return Ok(());
        }
        looks.after(elapsed);
        progress.show(elapsed, words());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A program that outlives its recording is asked to end, by the signal that asked tardy or as Ctrl-C asks it, and
/// is killed where it does not. Yields its status where it ended by itself.
pub(crate) fn end(
    Started(child): &mut Started,
    signal: Signal,
) -> Result<Option<ExitStatus>, Failure> {
    if let Some(status) = child.try_wait().map_err(|error| lost(&error))? {
        return Ok(Some(status));
    }
    if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
        // It may have ended this very moment.
        let _ = rustix::process::kill_process(pid, signal);
    }
    let asked = Instant::now();
    while asked.elapsed() < ENDS_WITHIN {
        if child.try_wait().map_err(|error| lost(&error))?.is_some() {
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let _ = child.kill();
    child.wait().map_err(|error| lost(&error))?;
    Ok(None)
}

/// The user of this name.
pub(crate) fn user(name: &str) -> Result<User, Failure> {
    User::named(name).map_err(|error| Failure::usage(format!("--user {name}: {error}")))
}

/// Whether there is a process of this number.
pub(crate) fn must_exist(pid: u32) -> Result<(), Failure> {
    if std::path::Path::new(&format!("/proc/{pid}")).exists() {
        // Threads are there by their numbers too, and shown as if they were processes.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process = process.and_then(|process| process.trim().parse::<u32>().ok());
        return match process.filter(|process| *process != pid) {
            Some(process) => Err(Failure::usage(format!(
                "{pid} is a thread of process {process}: -p takes a process (-p {process}), --comm the name of a thread"
            ))),
            None => Ok(()),
        };
    }
    Err(Failure::usage(format!("there is no process {pid}; -p takes a PID, as ps shows it")))
}

/// Whether all threads of a process are gone. Its number stays until its parent has asked how it ended, and its first thread
/// may end before the others.
pub(crate) fn has_ended(pid: u32) -> bool {
    let is_gone = |path: &std::path::Path| match std::fs::read_to_string(path.join("status")) {
        Ok(status) => {
            let mut lines = status.lines().filter_map(|line| line.strip_prefix("State:"));
            lines.any(|state| state.trim_start().starts_with(['Z', 'X']))
        }
        Err(error) => {
            error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
        }
    };
    match std::fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads.flatten().all(|thread| is_gone(&thread.path())),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn lost(error: &std::io::Error) -> Failure {
    Failure::new(format!("lost track of the command: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{has_ended, must_exist};
    use std::process::Command;

    #[test]
    fn who_is_not_waited_for_has_ended_all_the_same() {
        assert!(!has_ended(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let begun = std::time::Instant::now();
        while !has_ended(child.id()) && begun.elapsed().as_secs() < 30 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(has_ended(child.id()), "it is a zombie");
        child.wait().unwrap();
        assert!(has_ended(child.id()));
    }

    #[test]
    fn a_thread_is_no_process() {
        let own = std::process::id();
        must_exist(own).unwrap();
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        // The thread of a test is not the first, unless there is one alone.
        if tid != own {
            let error = must_exist(tid).unwrap_err().to_string();
            assert!(error.contains(&format!("thread of process {own}")), "{error}");
        }
    }
}
