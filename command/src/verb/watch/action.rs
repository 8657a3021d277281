//! The command of `--exec`, beside the watch.

use crate::output::one_line;
use crate::recordings;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tardy_recording::Trigger;

/// How often it is looked whether it has ended, at the end of the watch.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// At the end of the watch it goes on for so long at most, and for so long again once it is asked to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command for each recording that is kept, one at a time: what comes while it runs is not told to it.
pub(super) struct Action {
    command: Option<String>,
    running: Option<Child>,
    patience: Duration,
}

impl Action {
    pub(super) fn new(command: Option<String>) -> Self {
        Self { command, running: None, patience: PATIENCE }
    }

    /// Starts it, where the one before has ended.
    pub(super) fn run(&mut self, recording: &Path, trigger: &Trigger) {
        self.look();
        let Some(command) = &self.command else { return };
        if self.running.is_some() {
            crate::output::say!(
                "tardy: --exec is not run for {}: it still runs",
                one_line(&recording.display().to_string())
            );
            return;
        }
        let recording = std::path::absolute(recording).unwrap_or_else(|_| recording.to_owned());
        // The shell is the system's; what the command names is found in the user's PATH.
        let Some(shell) = tardy_programs::find_of_system("sh") else {
            let error = io::Error::from(io::ErrorKind::NotFound);
            crate::output::say!("tardy: cannot run --exec: sh: {error}");
            return;
        };
        let started = Command::new(shell)
            .args(["-c", command])
            .env("TARDY_RECORDING", recording)
            .env("TARDY_THREAD", one_line(&trigger.name))
            .env("TARDY_TID", trigger.task.to_string())
            .env("TARDY_LATE_NS", trigger.lateness_ns.to_string())
            .env("TARDY_TIME", recordings::when(trigger.ran_unix_ns))
            .env("TARDY_CAUSE", &trigger.cause)
            .env("TARDY_CULPRIT", one_line(&trigger.culprit))
            .stdin(Stdio::null())
            // A group of its own, so that what the shell has started ends with it.
            .process_group(0)
            .spawn();
        match started {
            Ok(child) => self.running = Some(child),
            // No reason to end the night.
            Err(error) => crate::output::say!("tardy: cannot run --exec: {error}"),
        }
    }

    /// Looks whether it has ended.
    pub(super) fn look(&mut self) {
        if let Some(child) = &mut self.running
            && !matches!(child.try_wait(), Ok(None))
        {
            self.running = None;
        }
    }

    /// Waits for the last one, and ends one that does not end.
    pub(super) fn finish(&mut self) {
        let Some(mut child) = self.running.take() else { return };
        let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return };
        if !self.ends_in_time(pid) {
            crate::output::say!(
                "tardy: --exec (process {}) still runs {} s after the end of the watch: it and what it started are \
                 ended",
                child.id(),
                self.patience.as_secs()
            );
            // It is not waited for before all is done, so that its number stays its own.
            let _ = kill_process_group(pid, Signal::TERM);
            self.ends_in_time(pid);
            let _ = kill_process_group(pid, Signal::KILL);
        }
        // Its own end is its own affair.
        let _ = child.wait();
    }

    fn ends_in_time(&self, pid: Pid) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let since = Instant::now();
        while matches!(waitid(WaitId::Pid(pid), look), Ok(None)) {
            if since.elapsed() >= self.patience {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether anything runs in a group of processes.
    fn runs(group: u32) -> bool {
        let stats = std::fs::read_dir("/proc").expect("procfs").flatten();
        let stats = stats.filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
        stats.into_iter().any(|stat| {
            let behind_name = stat.rsplit(')').next().unwrap_or_default();
            let fields: Vec<&str> = behind_name.split_whitespace().collect();
            fields.len() > 2 && fields[0] != "Z" && fields[2] == group.to_string()
        })
    }

    #[test]
    fn a_command_that_never_ends_does_not_hold_up_the_end() {
        for command in [
            "sleep 1000",
            "trap '' TERM; sleep 1000 & wait; sleep 1000",
            "(trap '' TERM; exec sleep 1000) & wait",
        ] {
            let patience = Duration::from_millis(300);
            let command = Some(command.to_owned());
            let mut action = Action { command, running: None, patience };
            action.run(Path::new("late-1"), &Trigger::default());
            let group = action.running.as_ref().expect("it was started").id();
            assert!(runs(group));
            action.finish();
            // Killed, it may take a moment to go.
            let since = Instant::now();
            while runs(group) && since.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(LOOK_EVERY);
            }
            assert!(!runs(group), "something of it runs");
        }
    }

    #[test]
    fn one_that_ends_is_waited_for_and_is_told_names_on_one_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("told");
        let told_to =
            format!("sleep 0.2; echo \"$TARDY_THREAD by $TARDY_CULPRIT\" > {}", told.display());
        let mut action =
            Action { command: Some(told_to), running: None, patience: Duration::from_secs(60) };
        let (name, culprit) = ("a\nb".to_owned(), "c\u{1b}\nd".to_owned());
        action.run(Path::new("late-1"), &Trigger { name, culprit, ..Trigger::default() });
        action.finish();
        let told = std::fs::read_to_string(told).expect("it ended");
        assert_eq!(told, "a\\u{a}b by c\\u{1b}\\u{a}d\n");
    }
}
