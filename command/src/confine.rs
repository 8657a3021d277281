//! What a verb that reads a stranger's file may still do: read, and write where its results go.
//!
//! It gives up what it has no use for before it opens the file, so that a fault in a reader is worth nothing:
//! privileges beyond those that reading and writing files takes, new ones by setuid programs, other programs, the
//! network, other processes, and the calls by which a system is changed (seccomp); and writing anywhere else, and
//! signals to who was there before (Landlock). Where a kernel lacks one of these, the others hold. The table of what
//! each verb keeps is `docs/reference/privileges.md`.

mod calls;

use calls::Role;
use landlock::{
    ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

/// What a verb keeps.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    folders: Vec<PathBuf>,
    /// What is there already and is written to as it is: a device, a descriptor that is open.
    files: Vec<PathBuf>,
    starts_programs: bool,
}

/// Files of others may be read, results put into folders of who called sudo, and given to him.
const OF_READERS: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER);

/// What moving events to disk takes once programs are attached and buffers mapped: maps are still written to, and
/// files that tell who threads are read.
const OF_RECORDERS: CapabilitySet = OF_READERS
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_NICE)
    // All memory is locked where something measures, and a limit on that would refuse a thread its stack.
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYSLOG);

/// The terminal, what swallows or refuses all, and what is open already.
const DEVICES: [&str; 5] = ["/dev/tty", "/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr"];

/// Folders of the system that no results go to.
const NEVER: [&str; 4] = ["/", "/dev", "/proc", "/sys"];

/// How a `perf.data` begins.
const PERF: &[u8; 7] = b"PERFILE";

impl Kept {
    /// For results in a file or folder that the user may have named, else here or in the temporary folder.
    pub(crate) fn for_results(out: Option<&Path>) -> Self {
        let is_there = |path: &Path| path.metadata().is_ok_and(|found| !found.is_dir());
        let is_open_file =
            |path: &Path| (path.starts_with("/dev") || path.starts_with("/proc")) && is_there(path);
        let file = out.filter(|path| is_open_file(path));
        let folders = [Some(Path::new(".")), out.filter(|_| file.is_none()).and_then(existing)];
        let temporary = std::env::temp_dir();
        let folders = folders.into_iter().flatten().chain([&*temporary]);
        Self {
            folders: folders.map(Path::to_owned).collect(),
            files: file.map(Path::to_owned).into_iter().collect(),
            starts_programs: false,
        }
    }

    /// And for what lies in, or is read by a program for, a file or folder that is read.
    pub(crate) fn reading(mut self, path: &Path) -> Self {
        if path.is_dir() {
            self.folders.push(path.to_owned());
        }
        let mut head = [0; PERF.len()];
        // Of a pipe nothing is taken; perf wants a file too.
        let is_perf = path.is_file()
            && tardy_files::open_named(path)
                .is_ok_and(|mut file| file.read_exact(&mut head).is_ok());
        self.starts_programs |= is_perf && head == *PERF;
        self
    }

    /// And for another program, as a database or a pager.
    pub(crate) fn with_programs(mut self, wanted: bool) -> Self {
        self.starts_programs |= wanted;
        self
    }

    /// And for a pager, where text goes to a terminal.
    pub(crate) fn with_pager(self, is_text: bool) -> Self {
        self.with_programs(is_text && crate::output::raw().is_terminal())
    }

    /// Gives up all else, for this thread and those that it starts. To be called before there are others.
    pub(crate) fn alone(self) {
        keep(OF_READERS);
        // What a kernel does not have does not keep the file from being read.
        let _ = set_no_new_privs(true);
        let _ = self.write_nowhere_else();
        calls::give_up(Role::Reads { starts_programs: self.starts_programs });
    }

    /// And sends no signal to who was not started by it (where a program may be started, signals are not refused as
    /// calls): from Linux 6.12 on.
    fn write_nowhere_else(&self) -> Result<RulesetStatus, landlock::RulesetError> {
        let version = ABI::V6;
        let all = AccessFs::from_all(version);
        let mut read = AccessFs::from_read(version);
        if !self.starts_programs {
            read.remove(AccessFs::Execute);
        }
        let scope = Scope::from_all(version);
        let mut rules = Ruleset::default().handle_access(all)?.scope(scope)?.create()?;
        // What cannot be allowed (a pipe, which needs no leave) is no reason to allow all.
        let mut allow = |path: &Path, access| {
            if let Ok(folder) = PathFd::new(path) {
                let _ = (&mut rules).add_rule(PathBeneath::new(folder, access));
            }
        };
        allow(Path::new("/"), read);
        // Not all devices: a disk is one too, and root's to write to.
        let file = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let named = self.files.iter().map(PathBuf::as_path);
        for device in DEVICES.iter().map(Path::new).chain(named) {
            allow(device, file);
        }
        // Who starts it in one of these, or reads there, means none of what is in it.
        let is_all = |path: &Path| {
            path.canonicalize().is_ok_and(|path| NEVER.iter().any(|it| path == Path::new(it)))
        };
        for folder in self.folders.iter().filter(|folder| !is_all(folder)) {
            allow(folder, (all & !AccessFs::Execute) | read);
        }
        Ok(rules.restrict_self()?.ruleset)
    }
}

/// Gives up, on a thread that records, what only attaching took, and what recording has no use for.
pub(crate) fn recorder() {
    keep(OF_RECORDERS);
    let _ = set_no_new_privs(true);
    calls::give_up(Role::Records);
}

/// Gives up the same for who records and keeps a command of another user, which it ends in the end.
pub(crate) fn watcher() {
    keep(OF_RECORDERS.union(CapabilitySet::KILL));
    let _ = set_no_new_privs(true);
    calls::give_up(Role::Watches);
}

/// Gives up what a thread that records anew now and then has no use for.
pub(crate) fn stream() {
    let _ = set_no_new_privs(true);
    calls::give_up(Role::Records);
}

/// Gives up all, on a thread that only shows what others have recorded.
pub(crate) fn viewer() {
    keep(CapabilitySet::empty());
    let _ = set_no_new_privs(true);
    calls::give_up(Role::Shows);
}

fn keep(wanted: CapabilitySet) {
    // Who has fewer keeps those; who may not even give up is watched by something stricter.
    let _ = capabilities(None).and_then(|mut sets| {
        sets.effective &= wanted;
        sets.permitted &= wanted;
        sets.inheritable = CapabilitySet::empty();
        set_capabilities(None, sets)
    });
}

/// The folder that is there on the way to what is to be made.
fn existing(path: &Path) -> Option<&Path> {
    let mut at = path.parent()?;
    while !at.as_os_str().is_empty() && !at.is_dir() {
        at = at.parent()?;
    }
    Some(if at.as_os_str().is_empty() { Path::new(".") } else { at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::TcpListener;
    use std::process::Command;

    /// On a thread of its own, which takes what it gave up with it.
    fn confined<T: Send>(kept: Kept, act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let run = || {
                kept.alone();
                act()
            };
            scope.spawn(run).join().expect("it does not panic")
        })
    }

    /// Whether this kernel has Landlock. That a set of rules is refused is no reason to skip anything.
    #[expect(clippy::print_stdout, reason = "a test says why it looked at nothing")]
    fn has_landlock(kept: &Kept) -> bool {
        let of_thread = || {
            let _ = set_no_new_privs(true);
            kept.write_nowhere_else()
        };
        let status = std::thread::scope(|scope| scope.spawn(of_thread).join());
        let status = status.expect("it does not panic").expect("the rules are taken");
        let has = status != RulesetStatus::NotEnforced;
        if !has {
            println!("skipped: this kernel has no Landlock");
        }
        has
    }

    #[test]
    fn who_reads_a_strangers_file_starts_nothing_and_talks_to_nobody() {
        let refused = |found: Option<ErrorKind>| found == Some(ErrorKind::PermissionDenied);
        let (program, socket) = confined(Kept::for_results(None), || {
            let program = Command::new("true").status().err();
            let socket = TcpListener::bind("127.0.0.1:0").err();
            (program.map(|error| error.kind()), socket.map(|error| error.kind()))
        });
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert!(refused(program) && refused(socket), "{program:?} {socket:?}");
        }
        let kept = Kept::for_results(None).with_programs(true);
        let status = confined(kept, || Command::new("true").status());
        assert!(status.expect("it starts").success());
    }

    #[test]
    fn no_results_go_to_all_of_the_system() {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let file = folder.path().join("file");
        let kept = || Kept::for_results(Some(Path::new("/new.json"))).reading(Path::new("/"));
        let written = confined(kept(), || std::fs::write(&file, "x").err());
        if has_landlock(&kept()) {
            assert_eq!(written.map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
        }
    }

    #[test]
    fn results_go_where_they_are_to_go_and_nowhere_else() {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let (out, other) = (folder.path().join("out"), folder.path().join("other"));
        std::fs::create_dir(&out).expect("a folder");
        std::fs::create_dir(&other).expect("a folder");
        let kept = Kept::for_results(Some(&out.join("new/page.html")));
        let (inside, outside) = confined(kept, || {
            let write = |folder: &Path| std::fs::write(folder.join("file"), "x").err();
            (write(&out).map(|error| error.kind()), write(&other).map(|error| error.kind()))
        });
        assert_eq!(inside, None);
        if has_landlock(&Kept::for_results(None)) {
            assert_eq!(outside, Some(ErrorKind::PermissionDenied));
        }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "a test says why it looked at nothing")]
    fn who_reads_a_strangers_file_reaches_no_other_process() {
        use rustix::process::{Pid, Resource, kill_process, prlimit, test_kill_process};
        let mut other = Command::new("sleep").arg("60").spawn().expect("it starts");
        let pid = Pid::from_child(&other);
        let old = rustix::process::getrlimit(Resource::Core);
        for starts_programs in [false, true] {
            let kept = Kept::for_results(None).with_programs(starts_programs);
            let (signal, limit) = confined(kept, || {
                let signal = test_kill_process(pid);
                (signal, prlimit(Some(pid), Resource::Core, old).err())
            });
            if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
                assert_eq!(limit, Some(rustix::io::Errno::PERM));
            }
            match signal {
                Err(error) => assert_eq!(error, rustix::io::Errno::PERM),
                // Where programs may be started it is Landlock that refuses.
                Ok(()) if starts_programs => println!("skipped: this kernel is older than 6.12"),
                Ok(()) => panic!("a signal was sent"),
            }
        }
        assert!(other.try_wait().expect("it is a child").is_none());
        kill_process(pid, rustix::process::Signal::KILL).expect("it is a child");
        other.wait().expect("it is a child");
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "a test says why it looked at nothing")]
    fn no_device_is_written_to_but_what_swallows_all() {
        // As a disk would be: made in a folder of devices, and everybody's to write to.
        let Ok(disk) = tempfile::tempdir_in("/dev/shm") else {
            println!("skipped: there is no /dev/shm");
            return;
        };
        let file = disk.path().join("disk");
        std::fs::write(&file, "").expect("a file");
        let write = |path: &Path| {
            std::fs::OpenOptions::new().write(true).open(path).err().map(|error| error.kind())
        };
        let kept = Kept::for_results(Some(Path::new("/dev/full")));
        let (full, null, found) = confined(kept, || {
            (write(Path::new("/dev/full")), write(Path::new("/dev/null")), write(&file))
        });
        assert_eq!((full, null), (None, None));
        if has_landlock(&Kept::for_results(Some(Path::new("/dev/full")))) {
            assert_eq!(found, Some(ErrorKind::PermissionDenied));
        }
    }

    #[test]
    fn a_reader_keeps_the_rights_of_files_and_a_recorder_those_of_its_maps() {
        let left = confined(Kept::for_results(None), || capabilities(None).expect("its own"));
        assert!(OF_READERS.contains(left.permitted) && left.inheritable.is_empty(), "{left:?}");
        let left = std::thread::spawn(|| {
            recorder();
            capabilities(None).expect("its own")
        });
        let left = left.join().expect("it does not panic").permitted;
        assert!(
            OF_RECORDERS.contains(left) && !left.contains(CapabilitySet::SYS_ADMIN),
            "{left:?}"
        );
    }

    #[test]
    fn who_records_or_shows_starts_nothing_and_talks_to_nobody() {
        for give_up in [recorder, watcher, stream, viewer] {
            let tried = std::thread::spawn(move || {
                give_up();
                let program = Command::new("true").status().err();
                let socket = TcpListener::bind("127.0.0.1:0").err();
                [program, socket].map(|error| error.map(|error| error.kind()))
            });
            let tried = tried.join().expect("it does not panic");
            if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
                assert_eq!(tried, [Some(ErrorKind::PermissionDenied); 2]);
            }
        }
        let left = std::thread::spawn(|| {
            viewer();
            capabilities(None).expect("its own")
        });
        assert!(left.join().expect("it does not panic").permitted.is_empty());
    }
}
