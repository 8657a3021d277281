//! The power is cut while lasting changes are made, kept and undone: what a disk held before is there again, or the journal
//! says what is not.
//!
//! A guest has a disk that outlives it, with the folders on it that outlive a boot, and is killed at any moment: what its
//! kernel had not written by then is lost. The file system is the plainest that there is, which keeps no order that nobody
//! asks for. The next guest undoes, tells what it finds, and goes on.

use super::guests::{alone, fetched, tardy};
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tardy_remedy::{Journal, Place, Setting};

/// Tells this program that it works in a guest.
const WORKS: &str = "TARDY_TEST_WORKS_UNTIL_THE_POWER_IS_CUT";

/// How often the power is cut.
const CUTS: u32 = 6;

/// How long a guest works at most before that, of this machine's time.
const WORKS_MS_MAX: u64 = 2_500;

/// How long a guest may take to boot, on a machine that is busy.
const BOOTS_MAX: Duration = Duration::from_secs(600);
const BOOTS_MAX_FLAG: &str = "600s";

/// One that somebody else has written, and one that is not there.
const THEIRS: &str = "/etc/tmpfiles.d/theirs.conf";
const OWN: &str = "/etc/sysctl.d/90-tardy-power.conf";

/// What the first one holds.
const HELD: &str = "w /sys/kernel/theirs - - - - 1\n";

const SCRIPT: &str = "
    mkdir -p /disk /etc /var/lib
    mount -t ext2 /dev/vda /disk
    mkdir -p /disk/etc /disk/lib
    mount --bind /disk/etc /etc
    mount --bind /disk/lib /var/lib
    tardy undo || echo failed
    for file in $(find /etc /var/lib -type f | sort); do echo \"has $file: $(head -n 1 $file)\"; done
    tardy fix --list
    echo works";

/// Changes, keeps and undoes for ever, where it was started for that.
#[test]
fn works_until_the_power_is_cut() {
    if std::env::var_os(WORKS).is_none() {
        return;
    }
    let journal = Journal::system();
    let text =
        |path: &str, to: String| Setting { place: Place::Text { path: path.to_owned() }, to };
    for round in 0_u32.. {
        println!("\nround {round}");
        let settings = |of: &str| {
            [text(OWN, format!("a = {of} {round}\n")), text(THEIRS, format!("{of} {round}\n"))]
        };
        let changed = journal.change(&settings("first"), "a test").expect("nobody else is at work");
        if round % 3 > 0 {
            changed.keep().expect("it can be written");
            if round % 3 > 1 {
                let above = journal.change(&settings("second"), "a test");
                above.expect("nobody else is at work").keep().expect("it can be written");
            }
            journal.undo_all();
            assert!(journal.unreadable().is_empty(), "it can be read");
        } else {
            changed.undo();
        }
    }
}

/// A guest that runs. The power is cut when it is dropped.
struct Guest {
    child: Child,
    said: PathBuf,
}

impl Guest {
    fn start(kernel: &str, disk: &Path, folder: &Path, works: bool) -> Self {
        let own = std::env::current_exe().expect("this program");
        let own = own.to_str().expect("a path of ours");
        let work = format!(
            "export {WORKS}=1; exec {own} --nocapture --exact power::works_until_the_power_is_cut"
        );
        let script = if works { format!("{SCRIPT}; {work}") } else { SCRIPT.to_owned() };
        let said = folder.join("said");
        let file = std::fs::File::create(&said).expect("the folder is ours");
        let mut run = tardy(&["vm", "run", "--no-record", "--quiet", "--kernel", kernel]);
        run.args(["--boot-limit", BOOTS_MAX_FLAG, "--silence-limit", BOOTS_MAX_FLAG]);
        run.args(["--with", "busybox", "--with", own, "--disk"]).arg(disk);
        run.arg("-o").arg(folder.join("out")).args(["--", "sh", "-ec", &script]);
        let child = run.stdin(Stdio::null()).stdout(file).spawn().expect("the command starts");
        Self { child, said }
    }

    /// What it tells before this line.
    fn told(&mut self, line: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = std::fs::read_to_string(&self.said).expect("it is text");
            if let Some((told, _)) = said.split_once(&format!("\n{line}\n")) {
                return told.to_owned();
            }
            let ended = self.child.try_wait().expect("it is our child");
            assert!(ended.is_none() && begun.elapsed() < BOOTS_MAX, "{ended:?}: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // QEMU ends with it, as if the power were cut.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kernel() -> Option<String> {
    if std::env::var_os("TARDY_TEST_VM").is_none() {
        eprintln!("skipped: guests are booted with TARDY_TEST_VM=1 only");
        return None;
    }
    if !geteuid().is_root() && Command::new("mkfs.ext2").arg("-V").output().is_err() {
        eprintln!("skipped: there is no mkfs.ext2: apt-get install e2fsprogs");
        return None;
    }
    let there = |name: &str| {
        let listed = tardy(&["vm", "list", "--json"]).output().expect("the command starts");
        let list: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
        let kernels = list["kernels"].as_array().expect("a list").clone();
        kernels.iter().any(|kernel| kernel["name"] == name && kernel["state"] == "there")
    };
    if there("small") {
        return Some("small".to_owned());
    }
    match fetched("tools-x86_64").and_then(|()| fetched("debian-rt")) {
        Ok(()) => Some("debian-rt".to_owned()),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

#[test]
fn a_power_cut_leaves_what_was_there_or_says_what_is_not() {
    let _alone = alone();
    let Some(kernel) = kernel() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    let file = std::fs::File::create(&disk).expect("the folder is ours");
    file.set_len(16 << 20).expect("there is room");
    // With what somebody else has written there.
    let below = folder.path().join("below");
    let theirs = below.join(THEIRS.trim_start_matches('/'));
    std::fs::create_dir_all(theirs.parent().expect("it has one")).expect("the folder is ours");
    std::fs::write(&theirs, HELD).expect("the folder is ours");
    let mut mkfs = Command::new("mkfs.ext2");
    let made = mkfs.args(["-q", "-F", "-d"]).arg(&below).arg(&disk).output();
    assert!(made.expect("it starts").status.success());
    let mut random = fastrand::Rng::with_seed(21);
    let mut undone = 0;
    for cut in 0..=CUTS {
        // As the system does at the next boot.
        let checked = Command::new("e2fsck").args(["-fy"]).arg(&disk).output().expect("it starts");
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.code().is_some_and(|code| code < 4), "{cut}: {said}");
        let place = folder.path().join(format!("guest-{cut}"));
        std::fs::create_dir(&place).expect("the folder is ours");
        let mut guest = Guest::start(&kernel, &disk, &place, cut < CUTS);
        let told = guest.told("works");
        println!("{cut}: {told}");
        assert!(told.contains(&format!("has {THEIRS}: {}", HELD.trim_end())), "{cut}: {told}");
        // A line of the journal that is marked as taken back may have been cut from being removed.
        let is_taken_back = |line: &str| line.starts_with("has /var/lib") && line.contains(": -{");
        let names_own = told.lines().any(|line| line.contains(OWN) && !is_taken_back(line));
        // The power may have been cut between a line of the journal and the file of which it tells: then none was there.
        let is_gone = ["is not there again", "needs no change"].map(|end| format!("{OWN} {end}"));
        let says_so = is_gone.iter().any(|said| told.contains(said));
        assert!(!names_own || says_so, "{cut}: {told}");
        let files: Vec<&str> = told.lines().filter(|line| line.starts_with("has /etc")).collect();
        assert_eq!(files.len(), 1, "{cut}: {told}");
        assert!(told.ends_with("nothing is changed") && !told.contains("failed"), "{cut}: {told}");
        undone += u32::from(told.contains("again"));
        if cut == CUTS {
            break;
        }
        // Now while it makes its folders, now when it has them.
        guest.told(if cut % 2 == 0 { "round 0" } else { "round 2" });
        std::thread::sleep(Duration::from_millis(random.u64(0..WORKS_MS_MAX)));
        let said = std::fs::read_to_string(&guest.said).expect("it is text");
        println!("cut in {}", said.lines().last().unwrap_or_default());
    }
    println!("cut {CUTS} times, {undone} of them while something was changed");
}
