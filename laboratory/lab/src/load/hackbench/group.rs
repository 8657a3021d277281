//! Starting a group: its channels, its receivers, its senders.

use super::Hackbench;
use super::task::{Role, Shared, TaskArgs};
use crate::load::board::Board;
use crate::load::worker::{Keeper, TASK, passing};
use crate::sched::tid;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// They call nothing deep, and there may be thousands.
const STACK_BYTES: usize = 64 << 10;

/// Where all get ready, wait and count.
pub(super) struct Meeting {
    pub(super) ready: OwnedFd,
    pub(super) go: OwnedFd,
    pub(super) board: Arc<Board>,
}

/// A way for messages: what the receiver reads from, and what the senders write to.
fn channel(plan: &Hackbench) -> io::Result<(OwnedFd, OwnedFd)> {
    if plan.pipe {
        return Ok(pipe_with(PipeFlags::CLOEXEC)?);
    }
    let flags = SocketFlags::CLOEXEC;
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// The receivers of a group, then its senders, with the files of each.
fn roles(plan: &Hackbench, group: u64) -> impl Iterator<Item = Role> {
    let messages = plan.loops.map(|loops| loops * plan.fds);
    let receivers = (0..plan.fds).map(move |_| Role::Receive { messages });
    let (first, loops) = (group * plan.fds, plan.loops);
    receivers.chain((0..plan.fds).map(move |at| Role::Send { slot: first + at, loops }))
}

fn channels(plan: &Hackbench) -> io::Result<(Vec<OwnedFd>, Vec<OwnedFd>)> {
    (0..plan.fds).map(|_| channel(plan)).collect()
}

/// As processes. `started` is called after each with its number.
pub(super) fn start_processes(
    plan: &Hackbench,
    group: u64,
    meeting: &Meeting,
    keeper: &Keeper,
    mut started: impl FnMut(u32) -> io::Result<()>,
) -> io::Result<()> {
    let (from, to) = channels(plan)?;
    let mut own = from.iter();
    for role in roles(plan, group) {
        let shared = [meeting.ready.as_fd(), meeting.go.as_fd(), meeting.board.as_fd()];
        let mut files = shared.to_vec();
        match role {
            Role::Receive { .. } => files.extend(own.next().map(AsFd::as_fd)),
            Role::Send { .. } => files.extend(to.iter().map(AsFd::as_fd)),
        }
        let args = TaskArgs {
            role,
            keeper: std::process::id(),
            size: plan.size as usize,
            files: files.len() - shared.len(),
        };
        let (here, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("hackbench").arg(TASK).args(args.words()).stdin(OwnedFd::from(theirs));
        let child = keeper.spawn(command.stdout(Stdio::null()))?;
        passing::send(&here, &files)?;
        started(child.id())?;
    }
    Ok(())
}

/// A thread of a group; what it returns is how it ended.
pub(super) type Joined = JoinHandle<io::Result<()>>;

/// As threads of this process, each of which tells its number to `tids`.
pub(super) fn start_threads(
    plan: &Hackbench,
    group: u64,
    meeting: &Arc<Meeting>,
    tids: &Sender<u32>,
) -> io::Result<Vec<Joined>> {
    let (from, to) = channels(plan)?;
    // Closed with its receiver or with the last sender.
    let to = Arc::new(to);
    let own = Mutex::new(from.into_iter());
    let size = plan.size as usize;
    let threads = roles(plan, group).map(|role| {
        let (meeting, tids) = (Arc::clone(meeting), tids.clone());
        let (name, files) = match role {
            Role::Send { .. } => ("hackbench-send", Arc::clone(&to)),
            Role::Receive { .. } => {
                let own = own.lock().ok().and_then(|mut own| own.next());
                ("hackbench-recv", Arc::new(own.into_iter().collect()))
            }
        };
        let run = move || {
            let _ = tids.send(tid());
            drop(tids);
            let shared = Shared {
                ready: meeting.ready.as_fd(),
                go: meeting.go.as_fd(),
                board: &meeting.board,
                size,
            };
            role.run(shared, &files)
        };
        std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(run)
    });
    threads.collect()
}
