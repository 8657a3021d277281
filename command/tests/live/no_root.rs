//! What does somebody get who may do nothing special?

use crate::machine::{Machine, is_root};
use crate::program::{self, Said, tardy};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A copy of the program that everybody may start, and a folder where only [`Stranger::USER`] may write.
pub(crate) struct Stranger {
    folder: TempDir,
}

impl Stranger {
    /// `nobody`, on most systems.
    pub(crate) const USER: u32 = 65_534;

    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        open_to_all(folder.path());
        std::fs::copy(program::PATH, folder.path().join("tardy")).unwrap();
        open_to_all(&folder.path().join("tardy"));
        std::fs::create_dir(folder.path().join("own")).unwrap();
        if is_root() {
            chown(folder.path().join("own"), Some(Self::USER), Some(Self::USER)).unwrap();
        }
        Self { folder }
    }

    fn own(&self) -> PathBuf {
        self.folder.path().join("own")
    }

    /// A call by that user, or by whoever runs the tests if that is not root. It stands where it may
    /// not write.
    pub(crate) fn tardy(&self, arguments: &[&str]) -> Command {
        let mut command = tardy(arguments);
        if is_root() {
            let mut theirs = Command::new(self.folder.path().join("tardy"));
            theirs.args(arguments).uid(Self::USER).gid(Self::USER);
            command = theirs;
        }
        command.current_dir("/").env("TMPDIR", self.own());
        command
    }
}

fn open_to_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_run_measures_says_what_it_cannot_see_and_leaves_a_page() {
    let _machine = Machine::alone();
    let stranger = Stranger::new();
    let said = Said::by(&mut stranger.tardy(&["run", "--json", "-D", "1"])).expect(0);
    let document = said.json();
    let threads = document["measure"]["threads"].as_array().unwrap();
    assert!(!threads.is_empty());
    for thread in threads {
        assert!(thread["samples"].as_u64().unwrap() > 0, "{thread}");
    }
    assert!(document["explain"].is_null() && document["recording"].is_null());
    let page = PathBuf::from(document["report"].as_str().unwrap());
    assert!(page.starts_with(stranger.own()), "{}", page.display());
    let page = std::fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("measured without recording").count(), 1);
    // Whoever may use real-time priorities has it not at all.
    assert!(page.matches("SCHED_FIFO was refused").count() <= 1);
    for needed in ["measured without recording", "CAP_BPF", "eBPF", "tracefs"] {
        assert!(said.err.contains(needed), "{needed}: {}", said.err);
    }
}

#[test]
fn a_recording_is_refused_in_one_message_that_says_what_would_bring_it() {
    let _machine = Machine::alone();
    let stranger = Stranger::new();
    let said = Said::by(&mut stranger.tardy(&["record", "-D", "1"])).expect(1);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("cannot record") && said.err.contains("CAP_BPF"), "{}", said.err);
    assert!(said.out.is_empty());
}

#[test]
fn the_doctor_looks_at_what_there_is() {
    let _machine = Machine::alone();
    let stranger = Stranger::new();
    let document = Said::by(&mut stranger.tardy(&["doctor", "--json"])).expect(0).json();
    assert_eq!(document["schema"], "tardy.doctor/1");
    let text = Said::by(&mut stranger.tardy(&["doctor"])).expect(0).out;
    assert!(text.lines().count() > 5, "{text}");
}
