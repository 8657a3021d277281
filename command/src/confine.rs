//! What a verb that reads a stranger's file may still do: read, and write where its results go.
//!
//! It gives up what it has no use for before it opens the file, so that a fault in a reader is worth nothing:
//! privileges beyond those that reading and writing files takes, new ones by setuid programs, other programs, the
//! network, and the calls by which a system is changed (seccomp); and writing anywhere else (Landlock). Where a kernel
//! lacks one of these, the others hold. The table of what each verb keeps is `docs/reference/privileges.md`.

use landlock::{
    ABI, Access as _, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

/// What a verb keeps.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    folders: Vec<PathBuf>,
    starts_programs: bool,
    writes_anywhere: bool,
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

/// How a `perf.data` begins.
const PERF: &[u8; 7] = b"PERFILE";

impl Kept {
    /// For results in a file or folder that the user may have named, else here or in the temporary folder.
    pub(crate) fn for_results(out: Option<&Path>) -> Self {
        let is_open_file = |path: &Path| path.starts_with("/dev") || path.starts_with("/proc");
        let folders = [Some(Path::new(".")), out.and_then(existing)];
        Self {
            folders: folders
                .into_iter()
                .flatten()
                .map(Path::to_owned)
                .chain([std::env::temp_dir()])
                .collect(),
            starts_programs: false,
            writes_anywhere: out.is_some_and(is_open_file),
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
            && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut head).is_ok());
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
        if !self.writes_anywhere {
            let _ = self.write_nowhere_else();
        }
        calls::give_up(self.starts_programs, false);
    }

    fn write_nowhere_else(&self) -> Result<(), landlock::RulesetError> {
        let version = ABI::V5;
        let all = AccessFs::from_all(version);
        let mut read = AccessFs::from_read(version);
        if !self.starts_programs {
            read.remove(AccessFs::Execute);
        }
        let mut rules = Ruleset::default().handle_access(all)?.create()?;
        let mut allow = |path: &Path, access| -> Result<(), landlock::RulesetError> {
            if let Ok(folder) = PathFd::new(path) {
                (&mut rules).add_rule(PathBeneath::new(folder, access))?;
            }
            Ok(())
        };
        allow(Path::new("/"), read)?;
        // Terminals, and what swallows or refuses all.
        allow(Path::new("/dev"), read | AccessFs::WriteFile | AccessFs::IoctlDev)?;
        for folder in &self.folders {
            allow(folder, (all & !AccessFs::Execute) | read)?;
        }
        rules.restrict_self().map(drop)
    }
}

/// Gives up, on a thread that records, what only attaching took, and what recording has no use for.
pub(crate) fn recorder() {
    keep(OF_RECORDERS);
    let _ = set_no_new_privs(true);
    calls::give_up(false, true);
}

/// Gives up the same for who records and keeps a command of another user, which it ends in the end.
pub(crate) fn watcher() {
    keep(OF_RECORDERS.union(CapabilitySet::KILL));
    let _ = set_no_new_privs(true);
    calls::give_up(false, true);
}

/// Gives up what a thread that records anew now and then has no use for.
pub(crate) fn stream() {
    let _ = set_no_new_privs(true);
    calls::give_up(false, true);
}

/// Gives up all, on a thread that only shows what others have recorded.
pub(crate) fn viewer() {
    keep(CapabilitySet::empty());
    let _ = set_no_new_privs(true);
    calls::give_up(false, false);
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

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    /// Calls that reading a file and writing results have no use for.
    const REFUSED: [i64; 36] = [
        libc::SYS_socket,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_open_by_handle_at,
        libc::SYS_mknodat,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_acct,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
    ];

    /// Of those, what recording takes.
    const OF_RECORDERS: [i64; 2] = [libc::SYS_bpf, libc::SYS_perf_event_open];

    const OF_PROGRAMS: [i64; 2] = [libc::SYS_execve, libc::SYS_execveat];

    pub(super) fn give_up(starts_programs: bool, records: bool) {
        let programs = OF_PROGRAMS.iter().filter(|_| !starts_programs);
        let refused = REFUSED.iter().filter(|call| !(records && OF_RECORDERS.contains(call)));
        let rules = refused.chain(programs).map(|call| (*call, Vec::new())).collect();
        let Ok(arch) = std::env::consts::ARCH.try_into() else { return };
        let refuse = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
        if let Ok(Ok(program)) = filter.map(BpfProgram::try_from) {
            let _ = apply_filter(&program);
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls {
    /// There is no filter for this architecture.
    pub(super) fn give_up(_: bool, _: bool) {}
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
    #[expect(clippy::print_stdout, reason = "a test says why it looked at nothing")]
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
        if outside.is_none() {
            println!("skipped: this kernel has no Landlock");
            return;
        }
        assert_eq!(outside, Some(ErrorKind::PermissionDenied));
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
