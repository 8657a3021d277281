//! Does `tardy fix` change what it shows and no more, and is it taken back whatever ends it?
//!
//! The journals are those of each test alone: folders of its own are mounted over theirs, for tardy and what it starts.
//! The victim is this program again, whose threads have a timer slack that nobody else gives.

use crate::machine::{Machine, eventually};
use crate::no_root::Stranger;
use crate::program::{PATH, Running, Said, manifest, tardy};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Tells this program that it is the victim.
const IS_VICTIM: &str = "TARDY_TEST_IS_VICTIM";

/// How long the victim sleeps at a time.
const SLEEP: Duration = Duration::from_millis(2);

/// What its threads have, and what they are given.
const SLACK_NS: &str = "50000";
const WITHOUT: &str = "1";

/// As short as a trial can be.
const SHORT: [&str; 6] = ["-D", "1", "--rounds", "12", "--block", "100ms"];

/// So long that it is not over before it is ended.
const LONG: [&str; 6] = ["-D", "1", "--rounds", "256", "--block", "200ms"];

/// How often it is killed.
const KILLS: u32 = 5;

/// Threads that sleep again and again, until it is dropped.
struct Victim(Child);

/// The victim: sleeps for ever, where it was started as that.
#[test]
fn sleeps_until_it_is_killed() {
    while std::env::var_os(IS_VICTIM).is_some() {
        std::thread::sleep(SLEEP);
    }
}

impl Victim {
    fn new() -> Self {
        let own = std::env::current_exe().expect("this program");
        let mut command = Command::new(own);
        command.args(["--exact", "fix::sleeps_until_it_is_killed"]).env(IS_VICTIM, "1");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
        let victim = Self(child);
        // The thread that runs the tests, and the one of the test.
        eventually("the victim does not begin", || victim.slacks().len() == 2);
        assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
        victim
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// What its threads have, as the kernel tells it.
    fn slacks(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).expect("it runs");
        let of = |tid: &str| std::fs::read_to_string(format!("/proc/{tid}/timerslack_ns"));
        tasks
            .flatten()
            .map(|task| of(&task.file_name().to_string_lossy()).expect("proc(5)").trim().to_owned())
            .collect()
    }

    fn is_as_it_was(&self) -> bool {
        self.slacks().iter().all(|slack| slack == SLACK_NS)
    }

    fn is_changed(&self) -> bool {
        self.slacks().iter().any(|slack| slack == WITHOUT)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Folders that stand in for those of the journals, and for the one where tardy is called.
struct Journals(TempDir);

impl Journals {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/tmp").expect("a folder");
        for name in ["run", "lib", "here"] {
            std::fs::create_dir(folder.path().join(name)).expect("it is ours");
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// The recordings that were made where tardy is called.
    fn recordings(&self) -> Vec<std::path::PathBuf> {
        let folder = std::fs::read_dir(self.path("here").join("recordings"));
        folder.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// A call of tardy that has these journals. The process that is started becomes it.
    fn tardy<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        self.tardy_after(":", arguments)
    }

    /// The same, after this line of shell. `/run/tardy` and `/var/lib` are folders of this test there.
    fn tardy_after<'a>(
        &self,
        first: &str,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Command {
        let line = format!(
            "mount --bind \"$1/run\" /run && mkdir -p /run/tardy && mount --bind \"$1/lib\" /var/lib && {first} \
             && shift && exec \"$@\""
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &line, "sh"]).arg(self.0.path()).arg(PATH);
        command.args(arguments).current_dir(self.path("here")).stdin(Stdio::null());
        command
    }

    /// What tardy says is changed.
    fn changed(&self) -> Vec<Value> {
        let said = Said::by(&mut self.tardy(["fix", "--list", "--json"])).expect(0);
        said.json()["changed"].as_array().expect("a list").clone()
    }
}

/// The machine, where namespaces of mounts can be had.
fn machine() -> Option<Machine> {
    let machine = Machine::that_records()?;
    let can = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no namespace of mounts can be made (unshare)");
        return None;
    }
    Some(machine)
}

/// `fix -p VICTIM` with more. The change is named whole: on a machine that steals time the slack may be too small a
/// part of the lateness to be advised against.
fn fixes<'a>(pid: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["fix", "-p", pid, "--only", "slack(victim)=1ns"], more].concat()
}

#[test]
fn a_plan_names_the_commands_and_changes_nothing() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let said = Said::by(&mut journals.tardy(fixes(&pid, &["-D", "1", "--dry-run"]))).expect(0);
    assert!(said.out.contains("slack(victim)=1ns"), "{}", said.out);
    assert!(said.out.contains("/timerslack_ns"), "{}", said.out);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
    assert!(!journals.path("run/tardy/changes.jsonl").exists(), "nothing was going to be changed");
    // Nobody is there to say yes.
    let said = Said::by(&mut journals.tardy(fixes(&pid, &["-D", "1"]))).expect(0);
    assert!(said.out.contains("not tried"), "{}", said.out);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
}

#[test]
fn without_root_there_is_a_plan_for_whoever_has_it() {
    let Some(_machine) = Machine::that_records() else { return };
    let victim = Victim::new();
    let pid = victim.pid();
    let stranger = Stranger::new();
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let recording = folder.path().join("rec");
    let mut record = tardy(["record", "-q", "-D", "1", "-p", &pid, "-o"]);
    Said::by(record.arg(&recording)).expect(0);
    give(folder.path());
    let recording = recording.to_str().expect("a path of ours");
    let said =
        Said::by(&mut stranger.tardy(&["fix", recording, "--only", "slack(victim)=1ns", "--yes"]));
    let said = said.expect(0);
    assert!(said.out.contains("echo 1 > /proc/"), "{}\n{}", said.out, said.err);
    assert!(said.err.contains("tardy changes nothing without root"), "{}", said.err);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
}

/// Makes all of it the stranger's.
fn give(path: &Path) {
    chown(path, Some(Stranger::USER), Some(Stranger::USER)).expect("root may");
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().flatten().for_each(|entry| give(&entry.path()));
    }
}

#[test]
fn what_helped_stays_is_listed_and_is_taken_back() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let more = [&SHORT[..], &["--yes", "--json"]].concat();
    let document = Said::by(&mut journals.tardy(fixes(&pid, &more))).expect(0).json();
    for plan in document["plan"].as_array().unwrap() {
        assert_eq!(plan["how"] == "predicted", plan["range"].is_array(), "{plan}");
    }
    let tried = document["tried"].as_array().unwrap();
    assert!(tried.iter().any(|one| one["change"] == "slack(victim)=1ns"), "{document}");
    assert_eq!(tried[0]["figures"][0]["figure"], "mean", "{document}");
    // Whether it is shown to help is the machine's; that it stays then, and only then, is ours.
    if document["fixed"] == true {
        assert!(victim.is_changed(), "{:?}", victim.slacks());
        assert!(journals.changed().iter().all(|it| it["stays"] == true && it["new"] == WITHOUT));
        assert!(!journals.changed().is_empty());
        let undone = Said::by(&mut journals.tardy(["undo", "--json"])).expect(0).json();
        assert!(!undone["undone"].as_array().unwrap().is_empty(), "{undone}");
    } else {
        println!("skipped: what stays: this machine does not show the gain: {document}");
    }
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
    assert!(journals.changed().is_empty(), "{:?}", journals.changed());
}

#[test]
fn what_harms_is_undone() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let harm = ["fix", "-p", &pid, "--only", "slack(victim)=5ms", "--yes", "--json"];
    let document = Said::by(&mut journals.tardy([&harm[..], &SHORT].concat())).expect(0).json();
    let tried = &document["tried"].as_array().unwrap()[0];
    assert_eq!(tried["change"], "slack(victim)=5ms", "{document}");
    assert_ne!(tried["verdict"], "helped", "{document}");
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
    assert!(journals.changed().is_empty(), "{:?}", journals.changed());
}

#[test]
fn ctrl_c_takes_it_back() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let fix = fixes(&pid, &[&LONG[..], &["--yes"]].concat());
    let verify = ["verify", "--change", "slack(victim)=1ns", "-p", &pid];
    let verify = [&verify[..], &LONG[2..]].concat();
    for arguments in [fix, verify] {
        let running = Running::start(&mut journals.tardy(arguments));
        eventually("nothing is tried", || victim.is_changed());
        let said = running.interrupt();
        assert!(said.status != 0 && said.err.contains("interrupted"), "{}", said.err);
        assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
        assert!(journals.changed().is_empty(), "{:?}", journals.changed());
    }
}

/// The second one comes while the first is being obeyed.
#[test]
fn a_second_ctrl_c_waits_until_it_is_taken_back() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let verify = ["verify", "--change", "slack(victim)=1ns", "-p", &pid];
    let running = Running::start(&mut journals.tardy([&verify[..], &LONG[2..]].concat()));
    eventually("nothing is tried", || victim.is_changed());
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(2));
    let said = running.interrupt();
    assert!(said.status != 0, "{}", said.err);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
    assert!(journals.changed().is_empty(), "{:?}", journals.changed());
}

/// The plan has the threads that sleep and wake; the one that waits for them all the while is in the same process.
#[test]
fn no_thread_is_changed_that_was_not_shown() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let fix = fixes(&pid, &[&LONG[..], &["--yes"]].concat());
    let running = Running::start(&mut journals.tardy(fix));
    eventually("nothing is tried", || victim.is_changed());
    let first = std::fs::read_to_string(format!("/proc/{pid}/timerslack_ns")).expect("proc(5)");
    let said = running.interrupt();
    assert!(!said.out.contains(&format!("/proc/{pid}/timerslack_ns")), "{}", said.out);
    assert_eq!(first.trim(), SLACK_NS, "{}", said.out);
}

/// Nobody sees what is asked where JSON is wanted, so nobody can have said yes.
#[test]
fn json_alone_is_the_plan() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let said = Said::by(&mut journals.tardy(fixes(&pid, &["-D", "1", "--json"]))).expect(0);
    let document = said.json();
    assert!(!document["plan"].as_array().unwrap().is_empty(), "{document}");
    assert!(document["tried"].as_array().unwrap().is_empty(), "{document}");
    assert!(said.err.contains("--yes tries it"), "{}", said.err);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
}

#[test]
fn what_is_in_force_already_is_no_change() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let verify = ["verify", "-q", "--change", "slack(victim)=50us", "-p", &pid];
    let said = Said::by(&mut journals.tardy([&verify[..], &SHORT[2..]].concat())).expect(2);
    assert!(said.err.contains("slack(victim)=50us is in force already"), "{}", said.err);
    assert!(journals.recordings().is_empty(), "{:?}", journals.recordings());
}

#[test]
fn a_victim_that_ends_ends_the_trial_and_not_what_was_recorded() {
    let Some(_machine) = machine() else { return };
    let (mut victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let verify = ["verify", "-q", "--change", "slack(victim)=1ns", "-p", &pid];
    let running = Running::start(&mut journals.tardy([&verify[..], &LONG[2..]].concat()));
    eventually("nothing is tried", || victim.is_changed());
    eventually("it is not put back", || victim.is_as_it_was());
    victim.0.kill().expect("it is ours");
    let said = running.said();
    assert_eq!(said.status, 1, "{}\n{}", said.out, said.err);
    for part in [&format!("process {pid} has ended"), "what was recorded until then is in"] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    let [recording] = &journals.recordings()[..] else { panic!("{:?}", journals.recordings()) };
    assert_eq!(manifest(recording)["sealed"], true);
    assert!(journals.changed().is_empty(), "{:?}", journals.changed());
}

#[test]
fn after_a_kill_undo_takes_it_back() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let mut left = 0;
    for _ in 0..KILLS {
        let arguments = fixes(&pid, &[&LONG[..], &["--yes", "--keep"]].concat());
        let running = Running::start(&mut journals.tardy(arguments));
        eventually("nothing is tried", || victim.is_changed());
        std::thread::sleep(Duration::from_millis(fastrand::u64(0..900)));
        running.kill();
        left += u32::from(victim.is_changed());
        Said::by(&mut journals.tardy(["undo"])).expect(0);
        assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
        assert!(journals.changed().is_empty(), "{:?}", journals.changed());
    }
    println!("killed {KILLS} times, {left} of them while something was changed");
}

#[test]
fn a_change_is_compared_with_the_same_without_it() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let verify = ["verify", "-q", "--change", "slack(victim)=1ns", "-p", &pid];
    let said = Said::by(&mut journals.tardy([&verify[..], &SHORT[2..]].concat())).expect(0).out;
    assert!(said.contains("What changed, without it → slack(victim)=1ns"), "{said}");
}

#[test]
fn two_at_a_time_do_not_change_the_same() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let change = |to| ["verify", "-q", "--change", to, "-p", &pid, "--rounds"];
    let first = [&change("slack(victim)=1ns")[..], &["256", "--block", "50ms"]].concat();
    let second = [&change("slack(victim)=7us")[..], &["40", "--block", "50ms"]].concat();
    let first = Running::start(&mut journals.tardy(first));
    eventually("nothing is tried", || victim.is_changed());
    let second = Said::by(&mut journals.tardy(second));
    let first = first.interrupt();
    // Whichever came second to a place.
    let is_refused = |said: &Said| said.status != 0 && said.err.contains("another tardy (process");
    assert!(is_refused(&first) || is_refused(&second), "{}\n{}", first.err, second.err);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
    assert!(journals.changed().is_empty(), "{:?}", journals.changed());
}

#[test]
fn where_the_journal_cannot_be_written_nothing_is_changed() {
    let Some(_machine) = machine() else { return };
    let (victim, journals) = (Victim::new(), Journals::new());
    let pid = victim.pid();
    let full = "mount -t tmpfs -o size=4k none /run/tardy && { cat /dev/zero > /run/tardy/zero; true; } 2> /dev/null";
    let verify = ["verify", "-q", "--change", "slack(victim)=1ns", "-p", &pid];
    let said = Said::by(&mut journals.tardy_after(full, [&verify[..], &SHORT[2..]].concat()));
    assert_eq!(said.status, 1, "{}\n{}", said.out, said.err);
    assert!(said.err.contains("/run/tardy/changes"), "{}", said.err);
    assert!(victim.is_as_it_was(), "{:?}", victim.slacks());
}
