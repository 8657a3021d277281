//! What a control group may use of the CPU: is it told, and what would happen without it?

use crate::machine::Machine;
use crate::program::{Said, tardy};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Less than who is in it would use.
const QUOTA_US: u32 = 10_000;
const PERIOD_US: u32 = 40_000;

/// A control group with little CPU time, and who is in it; both are gone with it.
struct Group {
    folder: PathBuf,
    processes: Vec<Child>,
}

impl Group {
    fn new() -> Result<Self, std::io::Error> {
        let hierarchies = Path::new("/sys/fs/cgroup");
        let is_v2 = hierarchies.join("cgroup.controllers").exists();
        let parent = if is_v2 { hierarchies.to_owned() } else { hierarchies.join("cpu") };
        let folder = parent.join(format!("tardy-test-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Self { folder, processes: Vec::new() };
        if is_v2 {
            group.write("cpu.max", &format!("{QUOTA_US} {PERIOD_US}"))?;
        } else {
            group.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            group.write("cpu.cfs_quota_us", &QUOTA_US.to_string())?;
        }
        Ok(group)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), std::io::Error> {
        fs::write(self.folder.join(name), text)
    }

    /// Starts a program on one CPU in it.
    fn start(&mut self, program: &[&str]) -> u32 {
        let processes = self.folder.join("cgroup.procs");
        let enters = format!("echo $$ > {} && exec taskset -c 0 \"$@\"", processes.display());
        let child = Command::new("sh").args(["-c", &enters, "sh"]).args(program).spawn().unwrap();
        let id = child.id();
        self.processes.push(child);
        id
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
        // The kernel may need a moment to notice.
        let gone = || fs::remove_dir(&self.folder).is_ok();
        for _ in 0..100 {
            if gone() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn what_a_group_may_use_is_recorded_and_predicted_without() {
    let Some(_machine) = Machine::that_records() else { return };
    let mut group = match Group::new() {
        Ok(group) => group,
        Err(error) => return eprintln!("skipped: no control group with a CPU quota: {error}"),
    };
    group.start(&["sh", "-c", "while :; do :; done"]);
    let sleeper = group.start(&["perl", "-e", "select(undef, undef, undef, 0.002) while 1"]);
    std::thread::sleep(Duration::from_millis(300));

    let folder = tempfile::tempdir().unwrap();
    let name = group.folder.file_name().unwrap().to_string_lossy().into_owned();
    let told =
        format!("group_bandwidth quota_ns={QUOTA_US}000 period_ns={PERIOD_US}000 path=/{name}");
    // What else the machine does may keep one recording from being told again, or leave the group too few wakeups for a
    // prediction: not each longer one.
    let mut refusals = Vec::new();
    let predicted = [3, 6, 12, 24].iter().find_map(|seconds| {
        let recording = folder.path().join(seconds.to_string());
        let mut command = tardy(["record", "-q", "-p", &sleeper.to_string(), "-o"]);
        Said::by(command.arg(&recording).args(["-D", &format!("{seconds}s")])).expect(0);
        let mut command = tardy(["export", "-q", "--format", "text", "-o", "-"]);
        let text = Said::by(command.arg(&recording)).expect(0).out;
        assert!(text.contains(&told), "not told: {told}");
        let mut command = tardy(["whatif", "-q", "--json", "--change", "cpu-max(victim)=off"]);
        let said = Said::by(command.arg(&recording));
        if said
            .err
            .contains("wakeups of the late threads by a timer, a thread or an interrupt are needed")
        {
            refusals.push(said.expect(1).err);
            return None;
        }
        let predicted = said.expect(0).json();
        let refused = &predicted["changes"][0]["refused"];
        refusals.extend((!refused.is_null()).then(|| refused.to_string()));
        refused.is_null().then_some(predicted)
    });
    let predicted = predicted.unwrap_or_else(|| panic!("refused: {refusals:#?}"));
    // Since Linux 6.18 who is woken runs in the kernel whatever its group has left, and is not late by that.
    let causes = predicted["baseline"]["causes"].as_array().unwrap();
    let share = |of: &str| {
        let throttled = causes.iter().find(|it| it["cause"] == "throttled");
        throttled.map_or(0.0, |it| it[of].as_f64().unwrap())
    };
    let (was, is) = (share("recorded_share"), share("simulated_share"));
    assert!((was - is).abs() < 0.5, "{causes:#?}");
}
