//! One sender, one receiver, and the process that is either.

use crate::load::board::Board;
use crate::load::worker::passing;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

/// How many messages a sender sends before it writes its count where others see it: rare enough to
/// cost less than a hundredth of the sending.
const COUNT_EVERY: u64 = 64;

/// What one of them is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Send {
        /// Its counter.
        slot: u64,
        /// Rounds, or no end.
        loops: Option<u64>,
    },
    Receive {
        /// Messages that will come, or no end.
        messages: Option<u64>,
    },
}

/// What all of them share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a> {
    /// Takes a byte from each one that is ready, and another when it has done its work.
    pub(super) ready: BorrowedFd<'a>,
    /// Has a byte from when all may begin; nobody takes it out.
    pub(super) go: BorrowedFd<'a>,
    pub(super) board: &'a Board,
    pub(super) size: usize,
}

impl Role {
    /// Gets ready, waits for the others, and works to the end. `files` are those of the receivers for
    /// a sender, its own for a receiver.
    pub(super) fn run<F: AsFd>(self, shared: Shared, files: &[F]) -> io::Result<()> {
        // Nothing is allocated once time counts.
        let mut message = vec![b'-'; shared.size];
        retry_on_intr(|| write(shared.ready, b"*"))?;
        let mut go = [PollFd::from_borrowed_fd(shared.go, PollFlags::IN)];
        retry_on_intr(|| poll(&mut go, None))?;
        let done = self.work(shared, files, &mut message);
        retry_on_intr(|| write(shared.ready, b"*"))?;
        done
    }

    fn work<F: AsFd>(self, shared: Shared, files: &[F], message: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Send { slot, loops } => send(files, message, loops, |sent| {
                shared.board.set(slot, sent);
            }),
            Self::Receive { messages } => {
                let mut left = messages;
                while left != Some(0) && receive(&files[0], message)? {
                    left = left.map(|left| left - 1);
                }
                Ok(())
            }
        }
    }
}

fn send<F: AsFd>(
    receivers: &[F],
    message: &[u8],
    loops: Option<u64>,
    count: impl Fn(u64),
) -> io::Result<()> {
    let (mut sent, mut counted) = (0, 0);
    let mut left = loops;
    while left != Some(0) {
        for receiver in receivers {
            let mut rest = message;
            while !rest.is_empty() {
                let written = retry_on_intr(|| write(receiver, rest))?;
                rest = &rest[written..];
            }
        }
        sent += receivers.len() as u64;
        if sent - counted >= COUNT_EVERY {
            count(sent);
            counted = sent;
        }
        left = left.map(|left| left - 1);
    }
    count(sent);
    Ok(())
}

/// Takes one whole message; whether there was one.
fn receive(from: impl AsFd, message: &mut [u8]) -> io::Result<bool> {
    let mut done = 0;
    while done < message.len() {
        match read(&from, &mut message[done..]) {
            Ok(0) => return Ok(false),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// What the process is told on its command line; its files come over standard input.
pub(super) struct TaskArgs {
    pub(super) role: Role,
    pub(super) keeper: u32,
    pub(super) size: usize,
    pub(super) files: usize,
}

impl TaskArgs {
    pub(super) fn words(&self) -> Vec<String> {
        let (name, slot, rounds) = match self.role {
            Role::Send { slot, loops } => ("send", slot, loops),
            Role::Receive { messages } => ("receive", 0, messages),
        };
        // No end is 0 rounds, which nobody asks for.
        let numbers = [
            slot,
            rounds.unwrap_or(0),
            u64::from(self.keeper),
            self.size as u64,
            self.files as u64,
        ];
        [name.to_owned()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    }

    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let name = words.next()?;
        let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [slot, rounds, keeper, size, files] = numbers[..] else { return None };
        let rounds = (rounds != 0).then_some(rounds);
        let role = match name.as_str() {
            "send" => Role::Send { slot, loops: rounds },
            "receive" => Role::Receive { messages: rounds },
            _ => return None,
        };
        Some(Self { role, keeper: keeper as u32, size: size as usize, files: files as usize })
    }
}

/// The whole life of a process that sends or receives. What it ends with is the number of the error.
pub(in super::super) fn run_task(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(args) = TaskArgs::parse(words) else {
        eprintln!("this is started by tardy itself, not by hand");
        return ExitCode::from(2);
    };
    match live(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(error.raw_os_error().unwrap_or(1) as u8),
    }
}

fn live(args: &TaskArgs) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before that.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() as u32 != args.keeper) {
        return Err(Errno::SRCH.into());
    }
    // One name for both roles, as the program has that this load is after.
    rustix::thread::set_name(c"hackbench")?;
    let mut given = passing::receive(io::stdin(), 3 + args.files)?;
    let files = given.split_off(3);
    let [ready, go, board] = <[_; 3]>::try_from(given).map_err(|_| Errno::BADF)?;
    let board = Board::received(board);
    let shared = Shared { ready: ready.as_fd(), go: go.as_fd(), board: &board, size: args.size };
    args.role.run(shared, &files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_what_was_meant() {
        for role in [
            Role::Send { slot: 7, loops: Some(3) },
            Role::Send { slot: 0, loops: None },
            Role::Receive { messages: Some(60) },
            Role::Receive { messages: None },
        ] {
            let args = TaskArgs { role, keeper: 4711, size: 100, files: 20 };
            let again = TaskArgs::parse(args.words().into_iter()).unwrap();
            assert_eq!((again.role, again.keeper), (role, 4711));
            assert_eq!((again.size, again.files), (100, 20));
        }
        for words in ["", "send", "send 1 2 3 4", "send 1 2 3 4 x", "steal 1 2 3 4 5"] {
            assert!(TaskArgs::parse(words.split(' ').map(str::to_owned)).is_none(), "{words}");
        }
    }

    #[test]
    fn what_is_sent_is_received_whole() {
        let (ready, ready_writer) = io::pipe().unwrap();
        let (go, go_writer) = io::pipe().unwrap();
        write(&go_writer, b"*").unwrap();
        let board = Board::new(1).unwrap();
        let (from, to) = io::pipe().unwrap();
        // Longer than a pipe holds, so that it goes in pieces.
        let shared =
            Shared { ready: ready_writer.as_fd(), go: go.as_fd(), board: &board, size: 200_000 };
        std::thread::scope(|scope| {
            let sender =
                scope.spawn(move || Role::Send { slot: 0, loops: Some(5) }.run(shared, &[to]));
            Role::Receive { messages: Some(5) }.run(shared, &[&from]).unwrap();
            sender.join().unwrap().unwrap();
        });
        assert_eq!(board.sum(), 5);
        let mut bytes = [0; 8];
        assert_eq!(
            read(&ready, &mut bytes).unwrap(),
            4,
            "both said that they were ready, and done"
        );
        assert!(!receive(&from, &mut bytes).unwrap(), "nothing is left over");
    }
}
