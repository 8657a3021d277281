//! Runs the program under test.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

/// The program under test.
pub(crate) const PATH: &str = env!("CARGO_BIN_EXE_tardy");

/// A call of the program.
pub(crate) fn tardy<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(PATH);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What a call left: its exit status and both of its outputs.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn by(command: &mut Command) -> Self {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self::of(&output)
    }

    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let status = output.status.code().expect("no signal ended it");
        // How busy the machine is is no part of what was asked.
        let err = text(&output.stderr);
        let lines = err.split_inclusive('\n');
        let err = lines.filter(|line| !line.contains("threads are ready to run on")).collect();
        Self { status, out: text(&output.stdout), err }
    }

    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// A call that is still going on. It does not outlive the test.
pub(crate) struct Running(Option<Child>);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Self(Some(child.unwrap_or_else(|error| panic!("{command:?}: {error}"))))
    }

    fn child(&self) -> &Child {
        self.0.as_ref().expect("it is still going on")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child().id()
    }

    /// The status of one that has ended.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.0.as_mut().and_then(|child| child.try_wait().expect("it is our child"))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(self.child());
        kill_process(pid, signal).expect("it is our child, and nobody has waited for it");
    }

    /// Waits for its end.
    pub(crate) fn said(mut self) -> Said {
        let child = self.0.take().expect("it is still going on");
        Said::of(&child.wait_with_output().expect("its outputs can be read"))
    }

    /// As Ctrl-C ends it.
    pub(crate) fn interrupt(self) -> Said {
        self.signal(Signal::INT);
        self.said()
    }

    /// `kill -9`.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The manifest of a recording.
pub(crate) fn manifest(recording: &Path) -> Value {
    let text = std::fs::read_to_string(recording.join("manifest.json")).expect("a manifest");
    serde_json::from_str(&text).expect("JSON")
}
