//! A current folder and an environment that somebody else made.

use super::recording;
use crate::program::{Said, tardy};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

/// No code is taken from the current folder, nor from where the environment says.
#[test]
fn no_code_comes_from_the_current_folder() {
    let (folder, recording) = recording();
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let ran = folder.path().join("ran");
    let module = format!("open({:?}, 'w').write('a module')\n", ran.to_str().unwrap());
    for name in ["duckdb.py", "sitecustomize.py", "sys.py", "site.py"] {
        fs::write(here.join(name), &module).unwrap();
    }
    for name in ["duckdb", "python3", "perf"] {
        let program = here.join(name);
        fs::write(&program, format!("#!/bin/sh\necho a program > {}\n", ran.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    for path in [format!(".:{path}"), format!(":{path}"), path] {
        let out = folder.path().join("out.duckdb");
        let mut command = tardy(["export", "-o"]);
        command.arg(&out).arg(&recording).current_dir(&here);
        command.env("PATH", &path).env("PYTHONPATH", &here).env("PYTHONHOME", &here);
        let said = Said::by(&mut command);
        assert!(matches!(said.status, 0 | 1), "{}", said.err);
        assert!(!ran.exists(), "{} ran with PATH {path}", fs::read_to_string(&ran).unwrap());
        // And the interpreter of perf.data.
        let data = here.join("perf.data");
        fs::write(&data, b"PERFILE2 and nothing more").unwrap();
        let mut command = tardy(["explain", "--all"]);
        command.arg(&data).current_dir(&here).env("PATH", &path);
        Said::by(&mut command).expect(1);
        assert!(!ran.exists(), "{} ran with PATH {path}", fs::read_to_string(&ran).unwrap());
    }
}

/// A database or a folder takes no device's place, nor a link's.
#[test]
fn what_is_no_file_is_not_replaced() {
    let (folder, recording) = recording();
    for format in ["duckdb", "parquet"] {
        let mut command = tardy(["export", "--format", format, "-o", "-"]);
        let said = Said::by(command.arg(&recording).current_dir(folder.path())).expect(1);
        assert!(said.err.contains("cannot go to standard output"), "{}", said.err);
    }
    let link = folder.path().join("link.duckdb");
    symlink("/dev/null", &link).unwrap();
    let said = Said::by(tardy(["export", "-o"]).arg(&link).arg(&recording)).expect(1);
    assert!(said.err.contains("something else: name a file"), "{}", said.err);
    assert!(link.is_symlink(), "it was left alone");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "something was left");
}

/// A recording that came out of an archive, with links and pipes where tardy writes and reads.
#[test]
fn a_prepared_recording_leads_nowhere() {
    let (folder, recording) = recording();
    let precious = folder.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in [
        "report.html",
        "report-all.html",
        "summary.json",
        "summary.json.tmp",
        "wakeups.parquet",
        "wakeups.parquet.tmp",
        "segments.parquet.tmp",
        "manifest.json.tmp",
    ] {
        symlink(&precious, recording.join(name)).unwrap();
    }
    Said::by(tardy(["explain", "--tables"]).arg(&recording)).expect(0);
    Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(0);
    Said::by(tardy(["report"]).arg(&recording)).expect(0);
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    let page = recording.join("report.html");
    assert!(page.symlink_metadata().unwrap().is_file(), "the link is gone, the page is there");

    let segment = recording.join("events/000000.seg");
    let aside = folder.path().join("aside");
    fs::rename(&segment, &aside).unwrap();
    for prepare in ["mkfifo", "ln -s /dev/zero", "ln -s ../../aside"] {
        let script = format!("{prepare} \"$0\"");
        let made = Command::new("sh").args(["-c", &script]).arg(&segment).status();
        assert!(made.unwrap().success());
        let said = Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(1);
        assert!(said.err.contains("000000.seg: it is a "), "{prepare}: {}", said.err);
        fs::remove_file(&segment).unwrap();
    }
    fs::rename(&aside, &segment).unwrap();
    fs::rename(recording.join("events"), folder.path().join("events")).unwrap();
    symlink("../events", recording.join("events")).unwrap();
    let said = Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(1);
    assert!(said.err.contains("it is a link"), "{}", said.err);
}

fn is_root(why: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: {why}");
    }
    is_root
}

/// Some user that is neither root nor who runs the test.
const OTHER: u32 = 65_533;

fn give(path: &Path) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

/// Another user's recording is read and not written; what is found goes to the reader's own place.
#[test]
fn another_users_recording_is_read_and_never_written() {
    if !is_root("only root can read what is another user's alone") {
        return;
    }
    let (folder, recording) = recording();
    give(&recording);
    let before = fs::read_dir(&recording).unwrap().count();
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let mut command = tardy(["explain", "--tables"]);
    let said = Said::by(command.arg(&recording).current_dir(&here)).expect(0);
    assert!(said.err.contains("is another user's"), "{}", said.err);
    assert_eq!(fs::read_dir(&recording).unwrap().count(), before, "nothing was written");
    for name in ["report.html", "wakeups.parquet", "segments.parquet"] {
        assert!(here.join("reports/rec-1").join(name).exists(), "{name}");
    }
    let page = Said::by(tardy(["report"]).arg(&recording).current_dir(&here)).expect(0).out;
    assert_eq!(page.trim(), "reports/rec-2/report.html");
    assert_eq!(fs::read_dir(&recording).unwrap().count(), before, "nothing was written");
}

/// A folder that somebody else put where recordings go is not used, nor a link there.
#[test]
fn a_prepared_folder_of_recordings_is_not_used() {
    if !is_root("only root can make what is another user's") {
        return;
    }
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/futex-pi-spike.txt");
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let prepared = folder.path().join("recordings");
    for is_link in [false, true] {
        if is_link {
            symlink(elsewhere.path(), &prepared).unwrap();
            std::os::unix::fs::lchown(&prepared, Some(OTHER), Some(OTHER)).unwrap();
        } else {
            fs::create_dir(&prepared).unwrap();
            give(&prepared);
        }
        let temporary = tempfile::tempdir().unwrap();
        let mut command = tardy(["import"]);
        command.arg(&trace).current_dir(folder.path()).env("TMPDIR", temporary.path());
        let said = Said::by(&mut command).expect(0);
        let user = rustix::process::geteuid().as_raw();
        let own = temporary.path().join(format!("tardy-recordings-{user}/import-1"));
        assert!(said.out.contains(own.to_str().unwrap()) && own.exists(), "{}", said.out);
        assert!(is_link || fs::remove_dir(&prepared).is_ok(), "something is in it");
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// A file or folder and what is below: path, permissions, owner.
fn all(path: &Path, look: &mut dyn FnMut(&Path, u32, u32)) {
    let found = path.metadata().unwrap();
    look(path, found.mode() & 0o777, found.uid());
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all(&entry.unwrap().path(), look);
        }
    }
}

/// What is recorded is for its owner alone; under sudo that is who called it, where his folder is.
#[test]
fn a_recording_is_private_and_its_callers() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/futex-pi-spike.txt");
    let folder = tempfile::tempdir().unwrap();
    let import = |sudo: bool| {
        let mut command = tardy(["import"]);
        command.arg(&trace).current_dir(folder.path());
        if sudo {
            command.env("SUDO_UID", OTHER.to_string()).env("SUDO_GID", OTHER.to_string());
        }
        Said::by(&mut command).expect(0);
    };
    let recordings = folder.path().join("recordings");
    import(false);
    all(&recordings, &mut |path, mode, _| {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    });
    if is_root("only root is called by sudo") {
        fs::remove_dir_all(&recordings).unwrap();
        give(folder.path());
        import(true);
        all(&recordings, &mut |path, _, uid| assert_eq!(uid, OTHER, "{}", path.display()));
    }
}

/// A file that cannot be written costs nothing that was measured, and is told before where that is known.
#[test]
fn what_cannot_be_written_is_told_before_and_kept_after() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for file in ["/proc/nowhere", "no/such/folder/file", "."] {
        let verbs: [&[&str]; 4] = [
            &["measure", "cyclic", "-D", "1h", "--histfile", file],
            &["measure", "sleep", "-o", file],
            &["measure", "staircase", "-D", "1h", "-o", file],
            &["measure", "pi", "-o", file],
        ];
        for verb in verbs {
            let said = Said::by(tardy(verb).current_dir(here)).expect(1);
            assert!(said.err.contains(&format!("could not write {file}")), "{}", said.err);
        }
    }
    // A file that is there but whose disk is full is known at the end alone.
    let (_folder, recording) = recording();
    let mut command = tardy(["explain", "--all", "--no-write", "-o", "/dev/full"]);
    let said = Said::by(command.arg(&recording).current_dir(here)).expect(1);
    assert!(said.out.contains("Lateness"), "{}", said.out);
    let kept = fs::read_to_string(here.join("results/kept-1/full")).unwrap();
    assert_eq!(kept, said.out);
    assert!(said.err.contains("results/kept-1/full instead"), "{}", said.err);
    // The same where files may not grow: no signal ends it.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]).arg(crate::program::PATH);
    limited.args(["explain", "--all", "--no-write", "-o", "out.txt"]).arg(&recording);
    let said = Said::by(limited.current_dir(here)).expect(1);
    assert!(said.out.contains("Lateness") && said.err.contains("File too large"), "{}", said.err);
}
