//! A current folder and an environment that somebody else made.

use super::recording;
use crate::program::{Said, tardy};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

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
