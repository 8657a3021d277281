//! Does a recording survive the death of its recorder, and does nothing survive in the kernel?

use crate::explained::explain_all;
use crate::machine::{Machine, eventually};
use crate::program::{Running, Said, manifest, tardy};
use libbpf_rs::query::{LinkInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const KILLS: u32 = 20;

/// The ids of the programs and links that a process holds.
#[derive(Debug, Default)]
struct Held {
    programs: BTreeSet<u32>,
    links: BTreeSet<u32>,
}

impl Held {
    fn by(pid: u32) -> Self {
        let mut held = Self::default();
        for entry in std::fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let id = |name: &str| {
                let value = text.lines().find_map(|line| line.strip_prefix(name))?;
                value.trim().parse::<u32>().ok()
            };
            held.programs.extend(id("prog_id:"));
            held.links.extend(id("link_id:"));
        }
        held
    }

    /// Those that the kernel still has.
    fn still_there(&self) -> Self {
        let programs = ProgInfoIter::with_query_opts(ProgInfoQueryOptions::default());
        let programs = programs.map(|program| program.id).collect();
        let links = LinkInfoIter::default().map(|link| link.id).collect();
        Self { programs: &self.programs & &programs, links: &self.links & &links }
    }

    fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.links.is_empty()
    }
}

fn has_events(recording: &Path) -> bool {
    let segments = std::fs::read_dir(recording.join("events")).into_iter().flatten().flatten();
    segments.into_iter().any(|segment| segment.metadata().is_ok_and(|about| about.len() > 1024))
}

/// Starts a recorder, kills it at a random moment, and opens what it left. Returns what it held.
fn kill_one(recording: &Path, source: &str) -> Held {
    let mut command = tardy(["record", "-q", "--source", source, "-o"]);
    let mut recorder = Running::start(command.arg(recording));
    eventually("no event comes to disk", || {
        assert!(recorder.has_ended().is_none(), "it ended by itself");
        has_events(recording)
    });
    // The moment is random and the assertions hold at each.
    std::thread::sleep(Duration::from_millis(fastrand::u64(200..1000)));
    let held = Held::by(recorder.pid());
    recorder.kill();

    assert_eq!(manifest(recording)["sealed"], false);
    let explained = explain_all(recording, &["--all"]);
    assert!(explained.events > 0 && explained.span_ns > 0);
    assert!(explained.victims.iter().any(|victim| victim.name.starts_with("storm-")));
    held
}

#[test]
fn a_killed_recording_opens_and_the_kernel_keeps_nothing_of_it() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let load = Running::start(&mut tardy(["load", "storm:10", "--quiet"]));
    for number in 0..KILLS {
        let held = kill_one(&folder.path().join(number.to_string()), "ebpf");
        assert!(!held.is_empty(), "it records by programs");
        // The kernel takes what was attached apart after a grace period.
        eventually("programs are left in the kernel", || held.still_there().is_empty());
    }
    load.interrupt().expect(0);
}

#[test]
fn one_through_tracefs_opens_too_and_the_next_tidies_up() {
    let Some(_machine) = Machine::that_records() else { return };
    let folder = tempfile::tempdir().unwrap();
    let load = Running::start(&mut tardy(["load", "storm:10", "--quiet"]));
    for number in 0..2 {
        let held = kill_one(&folder.path().join(number.to_string()), "tracefs");
        assert!(held.is_empty(), "it needs no programs: {held:?}");
    }
    load.interrupt().expect(0);
    // An empty instance of the dead stays in tracefs until the next recorder comes.
    let mut next = tardy(["record", "-q", "--source", "tracefs", "-D", "100ms", "-o"]);
    Said::by(next.arg(folder.path().join("next"))).expect(0);
}
