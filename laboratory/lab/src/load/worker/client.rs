//! The side of the one who wants a load in a process of its own.

use super::{KEEPER, is_offered, passing};
use crate::load::LoadError;
use crate::load::board::Board;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a load may take until all of it runs: thousands of processes on a slow board.
const START_MAX: Duration = Duration::from_secs(120);

/// How long it may take to end; longer only where a process cannot be killed, because the kernel
/// waits for a device for it. The keeper then goes on ending it by itself.
const END_MAX_S: i64 = 20;

/// A load in a process of its own. Dropped, everything beneath that process is ended, and it too.
pub(in super::super) struct Worker {
    child: Child,
    channel: UnixStream,
    begun: Instant,
    progress: RefCell<Progress>,
}

/// What the process has said.
#[derive(Default)]
struct Progress {
    unread: Vec<u8>,
    tids: Vec<u32>,
    is_running: bool,
    failed: Option<String>,
    notes: Vec<String>,
    over: Option<Duration>,
}

impl Worker {
    /// Returns when all of it runs.
    pub(in super::super) fn start(load: &dyn Display, board: &Board) -> Result<Self, LoadError> {
        let load = load.to_string();
        if !is_offered() {
            return Err(LoadError::NoWorker { load });
        }
        let failed = |said: String| LoadError::Worker { load: load.clone(), said };
        let no_process = |error: io::Error| failed(format!("no process for it ({error})"));
        let (channel, theirs) = UnixStream::pair().map_err(no_process)?;
        let child = Command::new("/proc/self/exe")
            .arg0("tardy-load")
            .args([KEEPER, &load])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            // Ctrl-C at a terminal goes to a whole group: this one is ended by us, in our order.
            .process_group(0)
            .spawn()
            .map_err(no_process)?;
        let worker = Self {
            child,
            channel,
            begun: Instant::now(),
            progress: RefCell::new(Progress::default()),
        };
        worker.begin(board).map_err(failed)?;
        Ok(worker)
    }

    fn begin(&self, board: &Board) -> Result<(), String> {
        let broken = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                format!("not all of it ran after {} s", START_MAX.as_secs())
            }
            _ => format!("its process cannot be reached ({error})"),
        };
        passing::send(&self.channel, &[board.as_fd()]).map_err(broken)?;
        let give_up = Instant::now() + START_MAX;
        let mut progress = self.progress.borrow_mut();
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            self.channel
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))
                .map_err(broken)?;
            let is_open = progress.read(&self.channel).map_err(broken)?;
            if let Some(why) = progress.failed.take() {
                return Err(why);
            }
            if progress.is_running {
                return self.channel.set_nonblocking(true).map_err(broken);
            }
            if !is_open {
                return Err("its process ended before it ran".to_owned());
            }
        }
    }

    /// The number of the process that keeps it.
    pub(in super::super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The threads or processes that it said to have.
    pub(in super::super) fn tids(&self) -> Vec<u32> {
        self.progress.borrow().tids.clone()
    }

    /// What the user should know of it so far.
    pub(in super::super) fn notes(&self) -> Vec<String> {
        self.hear();
        self.progress.borrow().notes.clone()
    }

    /// How long it ran, where it has come to its end by itself.
    pub(in super::super) fn over_after(&self) -> Option<Duration> {
        self.hear();
        self.progress.borrow().over
    }

    /// Takes what it has said since, without waiting.
    fn hear(&self) {
        let mut progress = self.progress.borrow_mut();
        let is_open = loop {
            match progress.read(&self.channel) {
                Ok(true) => {}
                Ok(false) => break false,
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        if let Some(why) = progress.failed.take() {
            progress.over.get_or_insert(self.begun.elapsed());
            progress.notes.push(why);
        }
        if !is_open && progress.over.is_none() {
            progress.over = Some(self.begun.elapsed());
            progress.notes.push(
                "something else ended its process, perhaps because memory ran out (see `dmesg`)"
                    .to_owned(),
            );
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.channel.shutdown(Shutdown::Both);
        let handle = Pid::from_raw(self.child.id() as i32)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        if let Some(handle) = handle {
            let longest = Timespec { tv_sec: END_MAX_S, tv_nsec: 0 };
            let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&longest));
            if ended == Ok(0) {
                return;
            }
        }
        let _ = self.child.wait();
    }
}

impl Progress {
    /// Reads once and takes in every whole line; whether there may come more.
    fn read(&mut self, mut channel: &UnixStream) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let count = match channel.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            // One that ended with something of ours unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other?,
        };
        self.unread.extend_from_slice(&bytes[..count]);
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            self.take(String::from_utf8_lossy(&line).trim());
        }
        Ok(count > 0)
    }

    fn take(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "tids" => self.tids.extend(rest.split(' ').filter_map(|tid| tid.parse::<u32>().ok())),
            "running" => self.is_running = true,
            "failed" => self.failed = Some(rest.to_owned()),
            "note" => self.notes.push(rest.to_owned()),
            "over" => self.over = rest.parse().ok().map(Duration::from_nanos),
            _ => {}
        }
    }
}
