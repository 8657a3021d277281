//! In a container (process ids, mounts and network of its own, as `docker run` makes them), and around one.

use crate::explained::explain_all;
use crate::machine::Machine;
use crate::program::{PATH, Said, tardy};
use std::process::Command;

/// The command in a container.
fn contained(arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--fork", "--pid", "--mount-proc", "--net", "--uts", "--ipc", "--", PATH]);
    command.args(arguments);
    command
}

/// The machine, where containers can be made.
fn ready() -> Option<Machine> {
    let machine = Machine::that_records()?;
    let made = Command::new("unshare").args(["--fork", "--pid", "--mount-proc", "true"]).status();
    if made.is_ok_and(|status| status.success()) {
        return Some(machine);
    }
    eprintln!("skipped: unshare makes no namespaces here");
    None
}

#[test]
fn recording_in_a_container_is_refused_with_the_way_out() {
    let Some(_machine) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    for words in [
        &["record", "-D", "1s", "-o", out][..],
        &["record", "-D", "1s", "-o", out, "--source", "ebpf"],
        &["record", "-D", "1s", "-o", out, "--source", "tracefs"],
        &["run", "-D", "1s", "-o", out, "--source", "ebpf"],
        &["watch", "--over", "100us", "-D", "1s", "-o", out],
        &["top", "--json", "--iterations", "1"],
    ] {
        let said = Said::by(&mut contained(words)).expect(1);
        for part in ["PID namespace", "on the host", "--pid=host"] {
            assert!(said.err.contains(part), "{words:?}: {}", said.err);
        }
    }
}

#[test]
fn a_container_is_measured_from_inside_and_told_why_not_explained() {
    let Some(_machine) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut run = contained(&["run", "-D", "1s", "-t1", "--load", "none", "--json", "-o"]);
    let document = Said::by(run.arg(&out)).expect(0).json();
    assert!(document["recording"].is_null() && document["explain"].is_null(), "{document}");
    assert!(document["measure"]["threads"][0]["samples"].as_u64() > Some(500), "{document}");
    let doctor = Said::by(&mut contained(&["doctor", "--json"])).expect(0).json();
    let abilities = doctor["capabilities"].as_array().expect("a list");
    for ability in abilities.iter().filter(|it| it["name"] == "live" || it["name"] == "tracefs") {
        assert_eq!(ability["ok"], false, "{ability}");
        assert!(
            ability["change"].as_str().is_some_and(|it| it.contains("--pid=host")),
            "{ability}"
        );
    }
}

#[test]
fn a_program_in_a_container_is_recorded_from_outside() {
    let Some(_machine) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for source in ["ebpf", "tracefs"] {
        let recording = folder.path().join(source);
        let mut record = tardy(["record", "--quiet", "--source", source, "-o"]);
        record.arg(&recording).args(["--", "unshare", "--fork", "--pid", "--mount-proc", "--net"]);
        record.args([PATH, "measure", "cyclic", "-t1", "-i1ms", "-l", "500", "--quiet"]);
        Said::by(&mut record).expect(0);
        let explained = explain_all(&recording, &["--comm", "cyclic-0"]);
        let timed = explained.wakeups.iter().filter(|wakeup| wakeup.kind == "timer").count();
        assert!(timed >= 450, "{source}: {timed} of 500");
    }
}
