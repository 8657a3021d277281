//! Others' programs, each with a bound in time.

use crate::VmError;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long an asked program has to end before it is made to.
const GRACE: Duration = Duration::from_secs(5);
/// A folder that is not there.
const NOWHERE: &str = "/nonexistent";

/// As much as is read of what a program printed: more than any of those here says.
const PRINTED_BYTES_MAX: u64 = 64 << 20;

/// A program about to be run.
pub(crate) struct Job {
    command: Command,
    program: String,
    what: String,
    limit: Duration,
}

impl Job {
    /// `what` completes "cannot …".
    pub(crate) fn new(program: &str, what: impl Into<String>, limit: Duration) -> Self {
        // Where none may be started, this says that it is not there.
        let found = tardy_programs::find(program);
        let mut command = Command::new(found.unwrap_or_else(|| Path::new(NOWHERE).join(program)));
        command.stdin(Stdio::null()).env("LC_ALL", "C");
        Self { command, program: program.to_owned(), what: what.into(), limit }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<I: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = I>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// What it prints, once it has ended well.
    pub(crate) fn output(mut self) -> Result<String, VmError> {
        let (printed, said) = (anonymous()?, anonymous()?);
        self.command.stdout(clone(&printed)?).stderr(clone(&said)?);
        let ended = self.end()?;
        if ended.success() {
            return Ok(text(printed));
        }
        let last = text(said);
        // apt says what is wrong first and what that means for it afterwards.
        let said = last.lines().find(|line| line.starts_with("E: ")).or(last.lines().last());
        let said = said.map(|line| format!(": {line}")).unwrap_or_default();
        Err(self.failed(ended, said))
    }

    /// Runs it, all that it says going to the end of `log`.
    pub(crate) fn logged(mut self, log: &Path) -> Result<(), VmError> {
        let open = || File::options().append(true).create(true).open(log);
        let file = open().map_err(VmError::file("write", log))?;
        let other = clone(&file)?;
        self.command.stdout(file).stderr(other);
        let ended = self.end()?;
        if ended.success() {
            return Ok(());
        }
        Err(self.failed(ended, format!("; see {}", log.display())))
    }

    fn failed(self, ended: ExitStatus, said: String) -> VmError {
        VmError::Failed { what: self.what, program: self.program, ended: ended.to_string(), said }
    }

    fn end(&mut self) -> Result<ExitStatus, VmError> {
        let missing = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                let advice = format!("install a package with {}", self.program);
                let missing = self.program.clone();
                VmError::Needs { what: self.what.clone(), missing, advice }
            } else {
                VmError::file("run", &self.program)(error)
            }
        };
        let mut child = self.command.spawn().map_err(missing)?;
        match wait(&mut child, self.limit) {
            Ok(Some(ended)) => Ok(ended),
            Ok(None) => {
                // Asked first: make takes its own children with it.
                let _ = kill_process(Pid::from_child(&child), Signal::TERM);
                if !matches!(wait(&mut child, GRACE), Ok(Some(_))) {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                let (what, program) = (self.what.clone(), self.program.clone());
                Err(VmError::TooLong { what, program, limit: self.limit })
            }
            Err(error) => Err(VmError::file("wait for", &self.program)(error)),
        }
    }
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended));
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file instead of a pipe: nobody has to read it while the program runs.
fn anonymous() -> Result<File, VmError> {
    tempfile::tempfile().map_err(VmError::file("make a file in", std::env::temp_dir()))
}

fn clone(file: &File) -> Result<File, VmError> {
    file.try_clone().map_err(VmError::file("open", "a file again"))
}

fn text(mut file: File) -> String {
    let mut bytes = vec![];
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(PRINTED_BYTES_MAX).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: Duration) -> Job {
        Job::new("sh", "try", limit).arg("-c").arg(script)
    }

    #[test]
    fn what_is_printed_comes_back() {
        assert_eq!(shell("echo one; echo two >&2", LONG).output().unwrap(), "one\n");
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let error = shell("echo E: no such thing >&2; echo more >&2; exit 3", LONG).output();
        let words = error.unwrap_err().to_string();
        assert_eq!(words, "cannot try: sh ended with exit status: 3: E: no such thing");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let words = Job::new("no-such-program", "try", LONG).output().unwrap_err().to_string();
        assert_eq!(
            words,
            "cannot try without no-such-program; install a package with no-such-program"
        );
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let error = shell("exec sleep 1000", Duration::from_millis(1)).output().unwrap_err();
        assert!(matches!(error, VmError::TooLong { .. }), "{error}");
    }

    #[test]
    fn a_log_holds_what_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        shell("echo one; echo two >&2", LONG).logged(&log).unwrap();
        let error = shell("exit 1", LONG).logged(&log).unwrap_err().to_string();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\n");
        assert!(error.ends_with(&format!("see {}", log.display())), "{error}");
    }
}
