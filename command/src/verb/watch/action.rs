//! The command of `--exec`, beside the watch.

use crate::output::printable;
use crate::recordings;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tardy_recording::Trigger;

/// Runs a command for each recording that is kept, one at a time: what comes while it runs is not told to it.
pub(super) struct Action {
    command: Option<String>,
    running: Option<Child>,
}

impl Action {
    pub(super) fn new(command: Option<String>) -> Self {
        Self { command, running: None }
    }

    /// Starts it, where the one before has ended.
    pub(super) fn run(&mut self, recording: &Path, trigger: &Trigger) {
        self.look();
        let Some(command) = &self.command else { return };
        if self.running.is_some() {
            crate::output::say!(
                "tardy: --exec is not run for {}: it still runs",
                recording.display()
            );
            return;
        }
        let recording = std::path::absolute(recording).unwrap_or_else(|_| recording.to_owned());
        let started = Command::new("sh")
            .args(["-c", command])
            .env("TARDY_RECORDING", recording)
            .env("TARDY_THREAD", printable(&trigger.name))
            .env("TARDY_TID", trigger.task.to_string())
            .env("TARDY_LATE_NS", trigger.lateness_ns.to_string())
            .env("TARDY_TIME", recordings::when(trigger.ran_unix_ns))
            .env("TARDY_CAUSE", &trigger.cause)
            .env("TARDY_CULPRIT", printable(&trigger.culprit))
            .stdin(Stdio::null())
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

    /// Waits for the last one.
    pub(super) fn finish(&mut self) {
        if let Some(mut child) = self.running.take() {
            // Its own end is its own affair.
            let _ = child.wait();
        }
    }
}
