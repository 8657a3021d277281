//! What the keeper of the groups does: starts all, lets them go together, waits for the last.

use super::Hackbench;
use super::group::{Joined, Meeting, start_processes, start_threads};
use crate::load::worker::{Keeper, wait_for_all};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, WaitOptions, getrlimit, setrlimit, wait};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How many processes may be starting at once. The files handed to one count against the limit of
/// open files until it has taken them.
const STARTING_MAX: u64 = 8;

/// How often is looked whether one has ended while all are awaited.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

pub(super) fn run(plan: &Hackbench, keeper: &Keeper) -> Result<(), String> {
    raise_file_limit(plan.files());
    let no_pipe = |error: Errno| format!("no pipe ({error})");
    let (ready, ready_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
    let (go, go_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
    let meeting = Arc::new(Meeting { ready: ready_writer, go, board: Arc::clone(&keeper.board) });
    let mut gathering = Gathering { plan, ready, tids: vec![], ready_count: 0, failed_count: 0 };
    let threads = if plan.threads {
        gathering.threads(&meeting)
    } else {
        gathering.processes(&meeting, keeper).map(|()| vec![])
    };
    let threads = threads.map_err(|error| gathering.explained(&error))?;
    keeper.say_tids(&gathering.tids);
    keeper.say_running();

    let begun = Instant::now();
    write(&go_writer, b"*").map_err(|error| format!("they cannot be started ({error})"))?;
    // Where there is no end, nobody is woken to look for one.
    let took = if plan.loops.is_some() { gathering.wait_until_done(begun) } else { None };
    let mut failed = gathering.failed_count;
    for thread in threads {
        failed += u64::from(!matches!(thread.join(), Ok(Ok(()))));
    }
    // For threads there is no child to wait for.
    wait_for_all(|_, status| failed += u64::from(status.exit_status() != Some(0)));
    let took = took.unwrap_or_else(|| begun.elapsed());
    if failed > 0 {
        let all = plan.tasks();
        keeper.say_note(&format!("hackbench: {failed} of {all} senders and receivers failed"));
    }
    keeper.say_over(took);
    Ok(())
}

/// Up to what is needed, within the hard limit; where that is less, opening will say so.
fn raise_file_limit(files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|soft| soft < files) {
        let wanted = maximum.map_or(files, |hard| hard.min(files));
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// Those that have been started.
struct Gathering<'a> {
    plan: &'a Hackbench,
    ready: OwnedFd,
    tids: Vec<u32>,
    /// Bytes of the pipe: one of each that is ready, another of each that is done.
    ready_count: u64,
    /// Processes that ended otherwise than they should, once all were running.
    failed_count: u64,
}

impl Gathering<'_> {
    fn processes(&mut self, meeting: &Meeting, keeper: &Keeper) -> io::Result<()> {
        for group in 0..self.plan.groups {
            start_processes(self.plan, group, meeting, keeper, |pid| {
                self.tids.push(pid);
                self.wait_until_ready((self.tids.len() as u64).saturating_sub(STARTING_MAX))
            })?;
        }
        self.wait_until_ready(self.plan.tasks())
    }

    fn threads(&mut self, meeting: &Arc<Meeting>) -> io::Result<Vec<Joined>> {
        let (sender, tids) = channel();
        let mut threads = vec![];
        for group in 0..self.plan.groups {
            threads.extend(start_threads(self.plan, group, meeting, &sender)?);
        }
        drop(sender);
        self.tids.extend(tids);
        self.wait_until_ready(self.plan.tasks())?;
        Ok(threads)
    }

    /// Waits until so many have said that they are ready.
    fn wait_until_ready(&mut self, count: u64) -> io::Result<()> {
        let mut bytes = [0; 256];
        while self.ready_count < count {
            let mut polled = [PollFd::new(&self.ready, PollFlags::IN)];
            match poll(&mut polled, Some(&LOOK_EVERY)) {
                Ok(0) => see_that_none_has_ended()?,
                Ok(_) => self.ready_count += read(&self.ready, &mut bytes)? as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until all have done their work; how long after `begun` that was. None where one has ended
    /// without saying so. That a process takes its time to be gone after that is not counted: one of a
    /// larger program takes longer, which has nothing to do with messages.
    fn wait_until_done(&mut self, begun: Instant) -> Option<Duration> {
        let mut bytes = [0; 256];
        while self.ready_count < 2 * self.plan.tasks() {
            let mut polled = [PollFd::new(&self.ready, PollFlags::IN)];
            match poll(&mut polled, Some(&LOOK_EVERY)) {
                Ok(0) if self.plan.threads => {}
                Ok(0) => match wait(WaitOptions::NOHANG) {
                    Ok(Some((_, status))) => {
                        self.failed_count += u64::from(status.exit_status() != Some(0));
                    }
                    Err(Errno::CHILD) => return None,
                    Ok(None) | Err(_) => {}
                },
                Ok(_) => self.ready_count += read(&self.ready, &mut bytes).ok()? as u64,
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(begun.elapsed())
    }

    /// What went wrong, where, and what to do.
    fn explained(&self, error: &io::Error) -> String {
        let (at, all) = (self.tids.len(), self.plan.tasks());
        let hint = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::AGAIN) => {
                "; `ulimit -u`, /proc/sys/kernel/threads-max and the cgroup's pids.max bound how \
                 many there may be"
            }
            Some(Errno::MFILE | Errno::NFILE | Errno::TOOMANYREFS) => {
                "; `ulimit -n` and /proc/sys/fs/file-max bound how many files may be open"
            }
            Some(Errno::NOMEM | Errno::NOBUFS) => "; memory is short: use fewer groups",
            _ => "",
        };
        format!("{at} of {all} senders and receivers were started, then: {error}{hint}")
    }
}

/// A process tells its error by the number that it ends with.
fn see_that_none_has_ended() -> io::Result<()> {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((_, status))) => Err(match status.exit_status() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::other("one of them was killed"),
        }),
        // No child: they are threads.
        _ => Ok(()),
    }
}
