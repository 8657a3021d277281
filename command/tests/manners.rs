//! Completions, manual pages, and outputs that nobody reads or that are full.
#![allow(missing_docs)]

#[path = "live/program.rs"]
#[allow(dead_code)] // this file uses a part of it
mod program;

use program::{Said, tardy};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// The verbs that `--help` lists.
fn verbs() -> BTreeSet<String> {
    let said = Said::by(&mut tardy(["--help"])).expect(0);
    let listed = said.out.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let first = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    first.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    Said::by(tardy(["man", "-o"]).arg(folder.path())).expect(0);
    let verbs = verbs();
    assert!(verbs.len() > 10, "{verbs:?}");
    for verb in &verbs {
        let page = fs::read_to_string(folder.path().join(format!("tardy-{verb}.1"))).expect(verb);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH DESCRIPTION"), "{verb}");
    }
    let one = Said::by(&mut tardy(["man"])).expect(0).out;
    assert!(one.contains(".SH NAME") && one.contains("tardy\\-explain(1)"), "{one}");
}

#[test]
fn shells_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Said::by(&mut tardy(["completions", shell])).expect(0).out;
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
    Said::by(&mut tardy(["completions", "cmd"])).expect(2);
}

#[test]
fn bash_takes_its_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tardy.bash");
    fs::write(&file, Said::by(&mut tardy(["completions", "bash"])).expect(0).out).expect("written");
    let ask = "source \"$0\"; COMP_WORDS=(tardy exp); COMP_CWORD=1; _tardy tardy exp tardy; \
               echo ${COMPREPLY[@]}";
    let offered = Command::new("bash").args(["-c", ask]).arg(&file).output().expect("bash");
    let offered = String::from_utf8_lossy(&offered.stdout).into_owned();
    assert_eq!(offered.trim(), "experiment explain export");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let said = Said::by(&mut tardy(["man", "-o", "/proc/nowhere"])).expect(1);
    assert!(said.err.contains("could not write /proc/nowhere"), "{}", said.err);
}

/// Before anything is booted: what a guest sends replaces nothing.
#[test]
fn a_guest_gets_no_folder_that_holds_something() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mine"), "mine").expect("a file");
    let mut command = tardy(["vm", "run", "-o"]);
    let said = Said::by(command.arg(folder.path()).args(["--", "true"])).expect(1);
    assert!(said.err.contains("is not empty"), "{}", said.err);
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
}

/// What prints something without root or a recording.
const PRINTING: [&[&str]; 10] = [
    &["--help"],
    &["list"],
    &["import", "--formats"],
    &["export", "--formats"],
    &["export", "--formats", "--json"],
    &["sim", "list"],
    &["sim", "show", "storm"],
    &["load", "list"],
    &["man"],
    &["completions", "bash"],
];

#[test]
fn an_output_that_nobody_reads_ends_nothing_badly() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in PRINTING {
        for closed in ["stdout", "stderr", "both"] {
            let mut command = tardy(arguments);
            command.current_dir(folder.path());
            let end = || {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                writer
            };
            if closed != "stderr" {
                command.stdout(end());
            }
            if closed != "stdout" {
                command.stderr(end());
            }
            let status = command.status().expect("it runs");
            assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}, {closed}: {status}");
        }
    }
}

#[test]
fn a_full_output_is_one_error() {
    let folder = tempfile::tempdir().expect("a folder");
    // A line of clap's own is not ours to check.
    for arguments in PRINTING.iter().filter(|arguments| arguments[0] != "--help") {
        let full = fs::File::options().write(true).open("/dev/full").expect("a full device");
        let mut command = tardy(*arguments);
        let said = command.current_dir(folder.path()).stdout(full).output().expect("it runs");
        let err = String::from_utf8_lossy(&said.stderr).into_owned();
        let nothing_to_print = said.status.success() && arguments[0] == "list";
        assert!(nothing_to_print || said.status.code() == Some(1), "{arguments:?}: {err}");
        assert!(nothing_to_print || err.lines().count() == 1, "{arguments:?}: {err}");
        assert!(!err.contains("panicked"), "{arguments:?}: {err}");
    }
}

/// Runs a script as root on a machine whose journals are its own; `None` where that cannot be.
fn with_journals(script: &str) -> Option<Said> {
    let begin = "mount -t tmpfs none /run && mount -t tmpfs none /var/lib || exit 99
        mkdir -p /run/tardy /var/lib/tardy\n";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{begin}{script}"), program::PATH]);
    let said = Said::by(&mut command);
    if said.status == 99 || said.err.contains("unshare") {
        eprintln!("skipped: {}", said.err);
        return None;
    }
    Some(said)
}

#[test]
fn what_cannot_be_read_of_a_journal_is_in_documents_too() {
    for damage in [
        "printf '+{\"later\":1}\\n' > /run/tardy/changes.jsonl",
        "mkfifo /run/tardy/changes.jsonl",
        "ln -s /dev/zero /var/lib/tardy/changes.jsonl",
        "printf '+{}\\n' > /run/tardy/changes.jsonl; mkfifo /run/tardy/changes.lock",
    ] {
        for verb in ["undo --json", "undo --list --json", "fix --list --json"] {
            let Some(said) = with_journals(&format!("{damage}\n\"$0\" {verb}")) else { return };
            let said = said.expect(1);
            let document = said.json();
            let told = document["unreadable"].as_array().expect("it is in the document");
            assert_eq!(told.len(), 1, "{damage}: {document:#}");
            assert!(said.err.contains("cannot be read"), "{damage}: {}", said.err);
        }
    }
    let sound = with_journals("\"$0\" undo --json && \"$0\" undo --list --json");
    if let Some(said) = sound {
        assert_eq!(said.expect(0).out.matches("\"unreadable\": []").count(), 2);
    }
}
