//! The process that keeps a load: everything the load starts is beneath it, and it ends all of that
//! once the one who wanted the load lets go of it, or is gone.
//!
//! It learns so by its socket, which the kernel closes also for a process that was killed. A signal
//! at the parent's death (`PR_SET_PDEATHSIG`) would not do: it comes when the thread that made the
//! process ends, and that may be one of a measurement long before the end.

use super::beneath::end_all;
use super::passing;
use crate::load::board::Board;
use crate::load::spec::Spec;
use crate::sched::set_other;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a load has at hand in its own process.
#[derive(Debug)]
pub struct Keeper {
    channel: UnixStream,
    /// Closed for good when everything ends, so that nothing is started after that.
    gate: Arc<Mutex<()>>,
    pub(in crate::load) board: Arc<Board>,
}

/// The life of such a process. It ends in [`Keeper::watch`], or here where it was not started by us.
pub(super) fn serve(load: &str) -> ExitCode {
    let keeper = match Keeper::begin() {
        Ok(keeper) => keeper,
        Err(error) => {
            eprintln!("this is started by tardy itself, not by hand: {error}");
            return ExitCode::from(2);
        }
    };
    let run = load.parse::<Spec>().map_err(|error| error.to_string()).and_then(|spec| {
        keeper.watch(spec.ends_politely()).map_err(|error| error.to_string())?;
        spec.run_in(&keeper)
    });
    if let Err(why) = run {
        keeper.say("failed", &why);
    }
    // The signal that children get at their parent's death comes when this thread ends.
    loop {
        std::thread::park();
    }
}

impl Keeper {
    fn begin() -> io::Result<Self> {
        // Whoever starts a load, it runs as ordinary work does.
        set_other()?;
        let _ = rustix::thread::set_name(c"tardy-load");
        // If memory runs out, it is the load's fault. Without /proc there is nothing to do about it.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        set_child_subreaper(Some(getpid()))?;
        let channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let board = passing::receive(&channel, 1)?.remove(0);
        Ok(Self { channel, gate: Arc::default(), board: Arc::new(Board::received(board)) })
    }

    /// From now on a thread waits until nobody holds the other end of the channel, and ends
    /// everything, this process last.
    fn watch(&self, politely: bool) -> io::Result<()> {
        let mut channel = self.channel.try_clone()?;
        let gate = Arc::clone(&self.gate);
        let wait_and_end = move || {
            let mut ignored = [0; 16];
            while channel.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
            let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
            end_all(politely);
            std::process::exit(0);
        };
        std::thread::Builder::new().name("tardy-keeper".to_owned()).spawn(wait_and_end)?;
        Ok(())
    }

    /// Starts a process beneath this one.
    pub(in crate::load) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let _open = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        command.spawn()
    }

    /// The threads or processes that do the work.
    pub(in crate::load) fn say_tids(&self, tids: &[u32]) {
        let words: Vec<_> = tids.iter().map(ToString::to_string).collect();
        self.say("tids", &words.join(" "));
    }

    /// All of it runs.
    pub(in crate::load) fn say_running(&self) {
        self.say("running", "");
    }

    /// What the user should know of it.
    pub(in crate::load) fn say_note(&self, note: &str) {
        self.say("note", note);
    }

    /// It has come to its end by itself, this long after it began.
    pub(in crate::load) fn say_over(&self, took: Duration) {
        self.say("over", &took.as_nanos().to_string());
    }

    fn say(&self, word: &str, rest: &str) {
        let line = format!("{word} {}\n", rest.replace(['\n', '\r'], " "));
        // Nobody there to hear it: the thread that watches sees that too.
        let _ = (&self.channel).write_all(line.as_bytes());
    }
}

/// Waits until the calling process has no child left; shown is how each ended.
pub(in crate::load) fn wait_for_all(mut ended: impl FnMut(Pid, WaitStatus)) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
