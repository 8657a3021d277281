//! What cannot be had is refused with what to do about it.

use crate::program::{Program, path, wait_until};
use std::process::{Command, Stdio};
use tardy_lab::load::{LoadError, Spec};

/// What the program says that cannot start this load, if need be under limits of `prlimit`.
fn refusal(load: &str, limits: &[&str]) -> Option<String> {
    let mut command = Command::new("prlimit");
    command.args(limits).arg(path()?).arg(load).stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            assert!(!output.status.success(), "{load} was not refused");
            Some(String::from_utf8(output.stderr).unwrap())
        }
        Err(error) => {
            println!("skipped: prlimit does not run here: {error}");
            None
        }
    }
}

#[test]
fn too_few_open_files() {
    let limits = ["--nofile=50:50"];
    for (load, says) in [
        ("hackbench:2,threads", "hackbench:2,threads: needs 112 open files, and 50 are allowed"),
        ("hackbench:90", "needs 72 open files"),
    ] {
        let Some(said) = refusal(load, &limits) else { return };
        assert!(said.contains(says) && said.contains("ulimit -Hn"), "{said}");
    }
    // A soft limit is raised, that of the load alone.
    let Some(path) = path() else { return };
    let mut command = Command::new("prlimit");
    command.args(["--nofile=50:4096"]).arg(path).arg("hackbench:2,fds=20,threads");
    let mut program = Program::start_by(&mut command);
    wait_until("messages", || program.count() > 0);
    program.stop();
}

#[test]
fn a_command_that_is_not_there() {
    for (load, says) in [
        ("cmd:no-such-tool -x", "`no-such-tool` could not be started"),
        ("cmd:/dev", "is it a program that you may run?"),
        ("cmd:sleep 86400+cmd:no-such-tool", "is it installed, and in PATH?"),
    ] {
        let Some(said) = refusal(load, &[]) else { return };
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn no_room_for_a_file() {
    for (load, limits, says) in [
        ("disk:1,size=1024g", &[] as &[&str], "GiB free"),
        ("disk:1,dir=/no/such/folder", &[], "no file can be made in /no/such/folder"),
        ("disk:1,size=1m", &["--fsize=65536:65536"], "`ulimit -f`"),
    ] {
        let says = says.replace("GiB", "MiB");
        let Some(said) = refusal(load, limits) else { return };
        assert!(said.contains(&says) && said.contains("disk:1,"), "{said}");
    }
    let Some(said) = refusal("mem:1000,size=1024g", &[]) else { return };
    assert!(said.contains("a smaller size="), "{said}");
}

#[test]
fn a_program_that_does_not_take_part_in_making_processes() {
    for load in ["hackbench:1", "mem:1,size=64k", "cmd:true"] {
        let refused = load.parse::<Spec>().unwrap().start();
        assert!(matches!(refused, Err(LoadError::NoWorker { .. })));
        assert!(refused.err().unwrap().to_string().contains("worker::enter()"));
    }
}
