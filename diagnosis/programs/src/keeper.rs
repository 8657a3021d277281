//! A program that tardy starts must not outlive it, however tardy ends.
//!
//! It is started by way of tardy itself: a process that asks the kernel to be killed with its parent, becomes another
//! user where that is wanted, and then becomes the program. What the program starts in turn is its own affair.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument of a process that is to become another; then its parent's id, and the user's.
const WORD: &str = "tardy-keeper";

/// In place of a user: as it is.
const NOBODY_ELSE: &str = "-";

/// As shells have it, where a program cannot be started.
const CANNOT_START: u8 = 127;

/// Whether this program becomes others by [`enter`].
static ENTERS: AtomicBool = AtomicBool::new(false);

/// This program, also where its file has been replaced meanwhile.
const SELF: &str = "/proc/self/exe";

/// What the kernel calls a process that has been started from [`SELF`], until it becomes the program.
pub const KEEPER_NAME: &str = "exe";

/// Where the program was started to become another one: becomes it. Otherwise returns none at once, and from then on
/// what is started ends with this process. To be called first in `main`.
pub fn enter() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|word| word != WORD) {
        ENTERS.store(Path::new(SELF).exists(), Ordering::Relaxed);
        return None;
    }
    let error = become_another(words);
    eprintln!("tardy: {error}");
    Some(ExitCode::from(CANNOT_START))
}

fn become_another(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let parent = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    let user = words.next().and_then(|word| word.into_string().ok());
    let (Some(parent), Some(user), Some(program)) = (parent, user, words.next()) else {
        return io::Error::other("this is for tardy's own use");
    };
    let changed = match User::from_word(&user) {
        // In a session of its own: who has root's terminal for his can push keys into it (TIOCSTI), which root's shell
        // then takes for root's.
        Some(user) => setsid()
            .map_err(io::Error::from)
            .and_then(|_| close_all_but_standard())
            .and_then(|()| user.become_him()),
        None => Ok(()),
    };
    // After the user, which takes it back. A parent that was gone before this was asked sends no signal.
    let asked = changed.and_then(|()| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    if let Err(error) = asked {
        return error;
    }
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        return io::Error::other("the starting process has ended");
    }
    let error = Command::new(&program).args(words).exec();
    io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
}

/// Closes what this process was started with: what root has open is not for another user.
fn close_all_but_standard() -> io::Result<()> {
    let number = |entry: io::Result<fs::DirEntry>| -> io::Result<Option<i32>> {
        Ok(entry?.file_name().to_str().and_then(|name| name.parse().ok()))
    };
    // An entry holds the folder open: numbers alone are kept.
    let numbers: Vec<_> = fs::read_dir("/proc/self/fd")?.map(number).collect::<io::Result<_>>()?;
    for number in numbers.into_iter().flatten().filter(|number| *number > 2) {
        match nix::unistd::close(number) {
            // It was the folder's own.
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A command for a program that ends with the thread that starts it, as another user where one is given.
pub fn kept(program: &OsStr, user: Option<&User>) -> Command {
    if user.is_none() && !ENTERS.load(Ordering::Relaxed) {
        return Command::new(program);
    }
    let mut command = Command::new(SELF);
    command.arg(WORD).arg(std::process::id().to_string());
    match user {
        None => command.arg(NOBODY_ELSE),
        Some(user) => {
            command.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name);
            command.arg(user.to_string())
        }
    };
    command.arg(program);
    command
}

/// A user as whom a program can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    home: String,
    uid: u32,
    /// The first is his own.
    groups: Vec<u32>,
}

impl User {
    /// The user of this name in `/etc/passwd`, with his groups in `/etc/group`.
    ///
    /// # Errors
    /// Where there is none, or the files cannot be read.
    pub fn named(name: &str) -> io::Result<Self> {
        let (users, groups) =
            (fs::read_to_string("/etc/passwd")?, fs::read_to_string("/etc/group")?);
        Self::of(name, &users, &groups).ok_or_else(|| {
            let why = format!("there is no user {name} in /etc/passwd");
            io::Error::new(io::ErrorKind::NotFound, why)
        })
    }

    fn of(name: &str, users: &str, groups: &str) -> Option<Self> {
        let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
        let user = users.lines().map(fields).find(|user| user[0] == name && user.len() >= 6)?;
        let own = user[3].parse().ok()?;
        let mut all = vec![own];
        for group in groups.lines().map(fields).filter(|group| group.len() >= 4) {
            let is_in = group[3].split(',').any(|member| member == name);
            all.extend(group[2].parse::<u32>().ok().filter(|id| is_in && *id != own));
        }
        let uid = user[2].parse().ok()?;
        Some(Self { name: name.to_owned(), home: user[5].clone(), uid, groups: all })
    }

    fn from_word(word: &str) -> Option<Self> {
        let mut numbers = word.split(',').map(|number| number.parse::<u32>().ok());
        let uid = numbers.next()??;
        let groups = numbers.collect::<Option<Vec<_>>>()?;
        Some(Self { name: String::new(), home: String::new(), uid, groups })
    }

    fn become_him(&self) -> io::Result<()> {
        let groups: Vec<_> = self.groups.iter().map(|id| rustix::fs::Gid::from_raw(*id)).collect();
        let own = *groups.first().ok_or(io::ErrorKind::InvalidInput)?;
        set_thread_groups(&groups)?;
        set_thread_gid(own)?;
        Ok(set_thread_uid(rustix::fs::Uid::from_raw(self.uid))?)
    }
}

/// Numbers, for the process that becomes him.
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uid)?;
        self.groups.iter().try_for_each(|group| write!(f, ",{group}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_his_groups_and_comes_through_a_word() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\nann:x:1000:100:Ann,,,:/home/ann:/bin/sh\n\nbad\n";
        let groups = "users:x:100:\naudio:x:29:bob,ann\nann2:x:30:ann2\nown:x:100:ann\n";
        let ann = User::of("ann", users, groups).unwrap();
        assert_eq!(
            (ann.uid, &ann.groups[..], ann.home.as_str()),
            (1000, &[100, 29][..], "/home/ann")
        );
        assert_eq!(ann.to_string(), "1000,100,29");
        let came = User::from_word("1000,100,29").unwrap();
        assert_eq!((came.uid, came.groups), (ann.uid, ann.groups));
        for word in ["-", "", "x", "1,x"] {
            assert_eq!(User::from_word(word), None, "{word}");
        }
        assert_eq!(User::of("bad", users, groups), None);
        assert_eq!(User::of("an", users, groups), None);
    }
}
