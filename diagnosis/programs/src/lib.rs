//! Others' programs that tardy starts by itself (`perf`, `duckdb`, `qemu-system-*`, …): where they may be found, and
//! with which environment they are started.
//!
//! tardy mostly runs as root, perhaps in a folder that somebody else can write to, perhaps with an environment that
//! somebody else made. So a program comes only from folders of `PATH` that are absolute, and from a file and folders,
//! all the way from the root, that nobody but root and the user himself can change. Of the environment it gets what
//! [`PASSED_ON`] names, and no more: interpreters take code from theirs (`PYTHONPATH`, `PERL5LIB`, `LD_PRELOAD`).
//!
//! Commands that the user names himself (`tardy run -- CMD`, his pager) are his own affair; [`kept`] ends them with
//! tardy.
#![forbid(unsafe_code)]

mod keeper;

pub use keeper::{KEEPER_NAME, User, enter, kept};

use rustix::process::getuid;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tardy_files::owner::{GROUP_WRITES, OTHERS_WRITE, STICKY, is_closed};

/// What a program is given of tardy's environment, beside a `PATH` of trusted folders alone.
pub const PASSED_ON: &[&str] = &["HOME", "TMPDIR", "TERM", "http_proxy", "https_proxy", "no_proxy"];

/// Where programs are looked for without a `PATH`.
const FOLDERS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Those of the system itself: of `PATH`, what it lacks is looked for here, so that no `PATH` hides a shell.
const SYSTEM: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Where a program is that may be started; `None` where there is none.
pub fn find(program: &str) -> Option<PathBuf> {
    find_in(program, folders())
}

/// As [`find`], for what every system has (`sh`): also where `PATH` has no folder of the system's.
pub fn find_of_system(program: &str) -> Option<PathBuf> {
    find(program).or_else(|| find_in(program, trusted(OsStr::new(SYSTEM))))
}

fn find_in(program: &str, folders: Vec<PathBuf>) -> Option<PathBuf> {
    // A name that is a link to elsewhere (/etc/alternatives) stays the name: programs look at it.
    folders.into_iter().map(|folder| folder.join(program)).find(|file| {
        let leads_to = file.canonicalize();
        leads_to.is_ok_and(|file| is_trusted_all_the_way(&file) && is_program(&file))
    })
}

/// A program about to be started: with no input, messages in English, and a small environment. It ends with tardy.
///
/// # Errors
///
/// [`io::ErrorKind::NotFound`] where there is none that may be started.
pub fn command(program: &str) -> io::Result<Command> {
    let file = find(program).ok_or_else(|| {
        let why =
            format!("{program} is not in any folder of PATH that only root and you can write to");
        io::Error::new(io::ErrorKind::NotFound, why)
    })?;
    let mut command = kept(file.as_os_str(), None);
    let passed_on = PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(passed_on).env("LC_ALL", "C").stdin(Stdio::null());
    if let Ok(path) = std::env::join_paths(folders()) {
        command.env("PATH", path);
    }
    Ok(command)
}

/// The folders of `PATH` in which programs may be found, in its order.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH");
    trusted(path.as_deref().unwrap_or(OsStr::new(FOLDERS)))
}

/// Where they lead to, so that nobody changes a link on the way after it was looked at.
fn trusted(path: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .filter_map(|folder| folder.canonicalize().ok())
        .filter(|folder| is_trusted_all_the_way(folder))
        .collect()
}

/// Whether nobody but root and who runs this can change a file or folder, or put another in its place. `path` has no
/// links. A folder on the way may be everybody's where each can only remove what is his own (`/tmp`).
fn is_trusted_all_the_way(path: &Path) -> bool {
    let mut above = path.ancestors();
    above.next().is_some_and(|it| is_trusted(it, 0)) && above.all(|it| is_trusted(it, STICKY))
}

/// Whether nobody but root and who runs this can change it; `pardoned` is a bit of its mode with which all may.
fn is_trusted(path: &Path, pardoned: u32) -> bool {
    let own = getuid().as_raw();
    is_closed(path, |user| user == own, |_| GROUP_WRITES | OTHERS_WRITE, pardoned)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_is_found_by_its_whole_path() {
        let sh = find("sh").expect("there is a shell");
        assert!(sh.is_absolute() && sh.ends_with("sh"), "{}", sh.display());
        assert_eq!(find("no-such-program-of-tardy"), None);
        let error = command("no-such-program-of-tardy").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no-such-program-of-tardy"), "{error}");
    }

    #[test]
    fn what_others_can_write_to_is_not_trusted() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tool");
        fs::write(&file, "#!/bin/sh\n").expect("a file");
        for (mode, trusted) in [(0o755, true), (0o775, false), (0o757, false), (0o700, true)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("a mode");
            assert_eq!(is_trusted_all_the_way(&file), trusted, "{mode:o}");
        }
        assert!(!is_trusted_all_the_way(Path::new("/tmp")), "everybody writes there");
        assert!(!is_program(folder.path()), "a folder is none");
        // Who can write to a folder on the way puts another in place of those below.
        let below = folder.path().join("open/bin");
        fs::create_dir_all(&below).expect("folders");
        assert!(is_trusted_all_the_way(&below));
        let open = Permissions::from_mode(0o777);
        fs::set_permissions(folder.path().join("open"), open).expect("a mode");
        assert!(!is_trusted_all_the_way(&below), "its parent is everybody's");
    }

    #[test]
    fn a_link_on_the_way_counts_for_what_it_leads_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("bin"), folder.path().join("link"));
        fs::create_dir(&real).expect("a folder");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        let real = real.canonicalize().expect("it is there");
        assert_eq!(trusted(link.as_os_str()), [real], "not the link, which may change");
        fs::set_permissions(&link, Permissions::from_mode(0o777)).expect("a mode");
        assert_eq!(trusted(link.as_os_str()), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_environment_is_not_passed_on() {
        let said = |script: &str| {
            let mut shell = command("sh").expect("a shell");
            let said = shell.args(["-c", script]).output().expect("it runs");
            String::from_utf8_lossy(&said.stdout).into_owned()
        };
        assert_eq!(said("echo \"[$CARGO_MANIFEST_DIR]\""), "[]\n", "cargo set it for this test");
        let path = said("echo $PATH");
        assert!(path.trim().split(':').all(|folder| folder.starts_with('/')), "{path}");
    }
}
