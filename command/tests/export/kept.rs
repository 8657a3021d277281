//! The recordings that are kept: listed, and taken where none is named.

use super::synthetic;
use crate::program::{Said, tardy};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use tardy_recording::{Manifest, ManifestEnd, Writer};

/// A recording of so many wakeups in `recordings/NAME`, made at a time.
fn keep(folder: &Path, name: &str, created_unix_s: u64, wakeups: u64) {
    let command_line = ["tardy", "run", "-o", "x", "-D", "1s"].map(str::to_owned).to_vec();
    let manifest = Manifest { created_unix_s, command_line, ..Manifest::default() };
    let path = folder.join("recordings").join(name);
    let mut writer = Writer::create(&path, manifest).unwrap();
    for batch in synthetic::stream(wakeups) {
        writer.append_waiting(batch).unwrap();
    }
    writer.seal(ManifestEnd::default()).unwrap();
}

/// A call from this folder, which is also the temporary one.
fn at(folder: &Path, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Command {
    let mut command = tardy(arguments);
    command.current_dir(folder).env("TMPDIR", folder).env("TZ", "UTC");
    command
}

#[test]
fn the_newest_is_first_and_how_late_is_known_once_it_was_explained() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    assert!(Said::by(&mut at(here, ["list"])).expect(0).err.contains("no recordings in /"));
    keep(here, "run-1", 1_000_000_000, 10);
    keep(here, "run-2", 1_000_000_060, 20);
    fs::create_dir(here.join("recordings/other")).unwrap();
    let said = Said::by(&mut at(here, ["list"])).expect(0).out;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[1].starts_with("recordings/run-2  2001-09-09 01:47"), "{said}");
    assert!(lines[1].contains("not explained yet") && lines[1].ends_with("run -D 1s"), "{said}");
    Said::by(&mut at(here, ["explain", "-q", "recordings/run-1"])).expect(0);
    let listed = Said::by(&mut at(here, ["list", "--json"])).expect(0).json();
    // The last of ten is later than the first by 9 µs.
    assert_eq!(listed["recordings"][1]["max_ns"], 11_500);
    assert_eq!(listed["recordings"][1]["wakeups"], 10);
    assert_eq!(listed["recordings"][0]["max_ns"], json!(null));
}

#[test]
fn without_a_name_the_latest_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for verb in [&["explain"][..], &["report"], &["compare"], &["export", "-o", "x.csv"]] {
        let said = Said::by(tardy(verb).current_dir(here).env("TMPDIR", here)).expect(2);
        let looked = format!("there is none in {}/recordings and ", here.display());
        assert!(said.err.contains(&looked), "{verb:?}: {}", said.err);
    }
    keep(here, "run-1", 1_000_000_000, 30);
    let said = Said::by(&mut at(here, ["compare"])).expect(2);
    assert!(said.err.contains("there is 1"), "{}", said.err);
    keep(here, "run-2", 1_000_000_060, 40);
    let said = Said::by(&mut at(here, ["explain"])).expect(0);
    let latest = format!("recordings/run-2, the latest in {}/recordings", here.display());
    assert!(said.err.contains(&latest), "{}", said.err);
    assert!(said.out.contains("40 wakeups"), "{}", said.out);
    assert_eq!(
        Said::by(&mut at(here, ["report"])).expect(0).out.trim(),
        "recordings/run-2/report.html"
    );
    Said::by(&mut at(here, ["export", "-q", "-o", "out.txt"])).expect(0);
    let compared = Said::by(&mut at(here, ["compare", "--json"])).expect(0).json();
    let sides: Vec<_> =
        compared["sides"].as_array().unwrap().iter().map(|side| &side["given"]).collect();
    assert_eq!(sides, ["recordings/run-1", "recordings/run-2"], "the older one first");
}

#[test]
fn others_than_the_recording_was_made_for_have_a_page_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    keep(here, "run-1", 1_000_000_000, 10);
    Said::by(&mut at(here, ["explain", "-q"])).expect(0);
    let own = fs::read(here.join("recordings/run-1/report.html")).unwrap();
    let chosen = ["explain", "-q", "--comm", "a/b c", "--comm", synthetic::WATCHED_NAME];
    Said::by(&mut at(here, chosen)).expect(0);
    assert_eq!(fs::read(here.join("recordings/run-1/report.html")).unwrap(), own);
    let plain = synthetic::WATCHED_NAME.replace(|c: char| !c.is_alphanumeric() && c != '-', "_");
    let page = format!("recordings/run-1/report-a_b_c-{plain}.html");
    assert!(here.join(&page).exists(), "{page}");
}

#[test]
fn what_is_broken_is_listed_as_that_and_nothing_waits_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for name in ["broken", "pipe", "huge"] {
        keep(here, name, 1_000_000_000, 10);
    }
    let of = |name: &str, file: &str| here.join("recordings").join(name).join(file);
    fs::write(of("broken", "manifest.json"), "{").unwrap();
    fs::remove_file(of("pipe", "manifest.json")).unwrap();
    let mkfifo = |path| Command::new("mkfifo").arg(path).status().unwrap().success();
    assert!(mkfifo(of("pipe", "manifest.json")) && mkfifo(of("huge", "summary.json")));
    let listed = Said::by(&mut at(here, ["list", "--json"])).expect(0).json();
    let why = |name: &str| {
        let all = listed["recordings"].as_array().unwrap();
        let one = all.iter().find(|one| one["recording"].as_str().unwrap().ends_with(name));
        one.unwrap()["unreadable"].as_str().unwrap_or_default().to_owned()
    };
    assert!(
        why("broken").contains("manifest.json") && why("pipe").contains("it is a pipe"),
        "{listed}"
    );
    assert_eq!(why("huge"), "");
    let latest = Said::by(&mut at(here, ["explain", "--no-write"])).expect(0).err;
    assert!(latest.contains("recordings/huge, the latest"), "{latest}");
}

#[test]
fn a_gate_over_nobody_is_undecided_and_events_that_are_gone_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    keep(here, "run-1", 1_000_000_000, 10);
    let gate = ["explain", "-q", "--fail-over", "1s", "--comm"];
    let mut command = at(here, gate);
    let said = Said::by(command.arg("nobody")).expect(4);
    assert!(said.err.contains("no wakeup of a thread called nobody"), "{}", said.err);
    let page = here.join("recordings/run-1/report-nobody.html");
    assert!(!page.exists(), "a page of nobody");
    Said::by(at(here, gate).arg(synthetic::WATCHED_NAME)).expect(0);
    fs::remove_dir_all(here.join("recordings/run-1/events")).unwrap();
    let said = Said::by(&mut at(here, ["explain", "recordings/run-1"])).expect(1);
    assert!(said.err.contains("none of them can be read"), "{}", said.err);
}

#[test]
fn who_is_not_in_a_recording_is_named_beside_who_is() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    keep(here, "run-1", 1_000_000_000, 10);
    let asked: [(&[&str], &str); 3] = [
        (&["--comm", "nosuch"], "no wakeup of a thread called nosuch; it has wakeups of"),
        (&["--pid", "99"], "no wakeup of a thread or process 99; it has wakeups of"),
        (
            &["--pid", "99", "--comm", "nosuch"],
            "a thread or process 99, or of a thread called nosuch;",
        ),
    ];
    let verbs: [&[&str]; 6] = [
        &["explain"],
        &["explain", "--json"],
        &["explain", "--why", "1"],
        &["whatif"],
        &["report", "-o", "page.html"],
        &["export", "-o", "out.folded"],
    ];
    for verb in verbs {
        for (whom, what) in &asked {
            let said = Said::by(at(here, verb).args(*whom).arg("recordings/run-1")).expect(2);
            let is_there =
                format!("{} (4101: 10 wakeups, the latest by 11.5 µs)", synthetic::WATCHED_NAME);
            for part in [what, is_there.as_str(), "choose with --comm NAME, --pid PID or --all"] {
                assert!(said.err.contains(part), "{verb:?} {whom:?}: no {part}: {}", said.err);
            }
            assert_eq!(said.out, "", "{verb:?} {whom:?}");
        }
    }
    assert!(!here.join("page.html").exists() && !here.join("out.folded").exists());
    // One of two is there.
    let both = ["explain", "--comm", synthetic::WATCHED_NAME, "--comm", "nosuch"];
    let said = Said::by(&mut at(here, both)).expect(0);
    assert!(
        said.err.contains("recordings/run-1 has no wakeup of a thread called nosuch"),
        "{}",
        said.err
    );
    assert!(said.out.contains("10 wakeups"), "{}", said.out);
}

#[test]
fn a_terminal_obeys_no_name() {
    let said = Said::by(&mut tardy(["compare", "a\u{1b}[31mb", "c"])).expect(1);
    assert!(!said.err.contains('\u{1b}') && said.err.contains("\\u{1b}[31m"), "{}", said.err);
}
