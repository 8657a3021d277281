//! Guests that are really booted: what comes out of a good one, and what is said of a broken one.
//!
//! Needs `TARDY_TEST_VM`, QEMU, and a kernel: the small one where it was built, else Debian's, which is
//! downloaded. What is missing is said, and the tests are skipped.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How much of all lateness may be nobody's.
const UNEXPLAINED_MAX: f64 = 0.005;

/// The storm, all of whose timers expire in hard interrupt context.
const MEASURE: &[&str] = &[
    "tardy",
    "measure",
    "cyclic",
    "-t1",
    "-P98",
    "-i1ms",
    "-D",
    "2s",
    "--json",
    "--load",
    "storm:10,fifo=1",
    "--buffer",
    "65536",
];

/// One guest at a time: there may be two CPUs here.
static ALONE: Mutex<()> = Mutex::new(());

/// Keeps other tests of this process from booting a guest.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel that can be booted here.
struct Guests {
    kernel: &'static str,
    _alone: MutexGuard<'static, ()>,
}

impl Guests {
    /// None, with the reason said, where there are none.
    fn ready() -> Option<Self> {
        static KERNEL: OnceLock<Result<&'static str, String>> = OnceLock::new();
        let alone = alone();
        match KERNEL.get_or_init(kernel) {
            Ok(kernel) => Some(Self { kernel, _alone: alone }),
            Err(why) => {
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    /// Runs a command in a guest.
    fn run(&self, flags: &[&str], command: &[&str]) -> Output {
        let mut run = tardy(&["vm", "run", "--kernel", self.kernel]);
        run.args(flags).arg("--").args(command);
        run.output().expect("the command starts")
    }

    /// What is said of a guest that broke, which must be within the time given.
    #[track_caller]
    fn broken(&self, within: Duration, flags: &[&str], command: &[&str]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let begun = Instant::now();
        let out = ["--no-record", "--quiet", "-o", out.to_str().expect("UTF-8")];
        let output = self.run(&[flags, &out].concat(), command);
        assert!(begun.elapsed() < within, "{:?}", begun.elapsed());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(guests_with(folder.path()).is_empty(), "QEMU is left behind");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

pub(super) fn tardy(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(arguments);
    command
}

fn kernel() -> Result<&'static str, String> {
    if std::env::var_os("TARDY_TEST_VM").is_none() {
        return Err("guests are booted with TARDY_TEST_VM=1 only".to_owned());
    }
    let listed = tardy(&["vm", "list", "--json"]).output().map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&listed.stdout).map_err(|error| error.to_string())?;
    let state = |list: &str, name: &str, all: &Value| {
        let entries = all[list].as_array().into_iter().flatten().cloned();
        let found = entries.into_iter().find(|entry| entry["name"] == name);
        found.map(|entry| entry["state"].as_str().unwrap_or_default().to_owned())
    };
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        return Err("qemu-system-x86_64 is not here: apt-get install qemu-system-x86".to_owned());
    }
    // Programs that some of them run, which need not be here either.
    fetched("tools-x86_64")?;
    if state("kernels", "small", &list).as_deref() == Some("there") {
        return Ok("small");
    }
    fetched("debian-rt").map(|()| "debian-rt")
}

/// Has something fetched, if it is not here.
pub(super) fn fetched(what: &str) -> Result<(), String> {
    let output = tardy(&["vm", "fetch", what, "--quiet"]).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{what} cannot be had: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Processes of QEMU that have something to do with a folder.
fn guests_with(folder: &Path) -> Vec<i32> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    let has = |line: &[u8], part: &[u8]| line.windows(part.len()).any(|found| found == part);
    entries
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
            has(program, b"qemu-system") && has(&line, folder)
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Waits, within reason.
#[track_caller]
fn wait_until(is_so: &dyn Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < patience, "it takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Whether each wakeup's segments sum to its lateness: then all lateness together, and how much of it is nobody's.
#[track_caller]
pub(super) fn balanced(explained: &Value) -> (u64, f64) {
    let (mut all, mut unexplained) = (0, 0);
    for wakeup in explained["wakeups"].as_array().expect("a list") {
        let segments = wakeup["segments"].as_array().expect("a list");
        let sum: u64 = segments.iter().map(|segment| number(&segment["ns"])).sum();
        assert_eq!(sum, number(&wakeup["lateness_ns"]), "{wakeup}");
        all += sum;
        let nobodys = segments.iter().filter(|segment| segment["cause"] == "unexplained");
        unexplained += nobodys.map(|segment| number(&segment["ns"])).sum::<u64>();
    }
    (all, unexplained as f64 / all.max(1) as f64)
}

#[test]
fn equal_guests_say_the_same_and_every_balance_sums() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let flags = ["--repeat", "3", "--json", "-o", out.to_str().expect("UTF-8")];
    let output = guests.run(&flags, MEASURE);
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "tardy.vm-run/1");
    assert_eq!(document["alike"], true, "{}", document["difference"]);
    let measured = &document["runs"][0]["result"]["threads"][0];
    let samples = measured["samples"].as_u64().expect("a number");
    assert!(samples >= 1900, "{measured}");

    let recording = out.join("run-1");
    let text = std::fs::read_to_string(recording.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&manifest["source"], &manifest["vm"]["instruction_ns"]), (&"vm".into(), &2.into()));

    let recording = recording.to_str().expect("UTF-8");
    let explained = tardy(&["explain", recording, "--worst", "all", "--json"]).output();
    let explained = explained.expect("the command starts");
    let explained: Value = serde_json::from_slice(&explained.stdout).expect("JSON");
    assert_eq!(explained["lost"], 0);
    let wakeups = explained["wakeups"].as_array().expect("a list");
    let timers: Vec<&Value> = wakeups.iter().filter(|wakeup| wakeup["kind"] == "timer").collect();
    assert_eq!(timers.len() as u64, samples, "every sample is a wakeup");
    let (_, share) = balanced(&explained);
    assert!(share <= UNEXPLAINED_MAX, "{share}");
    // Whatever the host does, time in the guest stands still meanwhile.
    let is_taken = |cause: &Value| cause["cause"] == "hypervisor";
    assert!(!explained["causes"].as_array().expect("a list").iter().any(is_taken), "{explained}");
    assert!(explained["stolen"].is_null() || explained["stolen"]["ns"] == 0, "{explained}");

    // What made the latest late: timers of other threads, each with its owner.
    let worst = timers.iter().max_by_key(|wakeup| number(&wakeup["lateness_ns"])).expect("one");
    let segments = worst["segments"].as_array().into_iter().flatten();
    let culprits: Vec<&str> = segments
        .flat_map(|segment| segment["culprits"].as_array().into_iter().flatten())
        .filter(|culprit| culprit["kind"] == "timer")
        .filter_map(|culprit| culprit["name"].as_str())
        .collect();
    assert!(culprits.iter().any(|name| name.starts_with("storm-")), "{worst}");
    assert!(guests_with(folder.path()).is_empty(), "QEMU is left behind");
}

#[test]
fn a_guest_without_a_first_program() {
    let Some(guests) = Guests::ready() else { return };
    let said = guests.broken(
        Duration::from_secs(120),
        &["--append", "rdinit=/none"],
        &["tardy", "doctor"],
    );
    assert!(said.starts_with("tardy: the guest's kernel found no init program"), "{said}");
    assert!(
        said.contains("The last lines of its console:") && said.contains("Kernel panic"),
        "{said}"
    );
}

#[test]
fn a_guest_that_never_comes_up() {
    let Some(guests) = Guests::ready() else { return };
    let flags = ["--append", "rdinit=/none root=/dev/none rootwait", "--boot-limit", "20s"];
    let said = guests.broken(Duration::from_secs(60), &flags, &["tardy", "doctor"]);
    assert!(said.starts_with("tardy: the guest did not come up within 20 s"), "{said}");
}

#[test]
fn a_guest_whose_kernel_panics() {
    let Some(guests) = Guests::ready() else { return };
    // A first process that ends is one of the things that a kernel panics of.
    let said =
        guests.broken(Duration::from_secs(120), &["--append", "rdinit=/bin/true"], &["true"]);
    let panic = "tardy: the guest's kernel panicked: Attempted to kill init!";
    assert!(said.starts_with(panic), "{said}");
}

#[test]
fn a_guest_whose_memory_runs_out() {
    let Some(guests) = Guests::ready() else { return };
    let eat = ["sh", "-c", "x=xxxxxxxx; while :; do x=$x$x; done"];
    let said = guests.broken(Duration::from_secs(120), &["--memory", "256"], &eat);
    assert!(said.starts_with("tardy: the guest ran out of memory: "), "{said}");
}

#[test]
fn a_guest_that_hangs() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = tardy(&["vm", "run", "--no-record", "--silence-limit", "5s", "--kernel"]);
    run.args([guests.kernel, "-o"]).arg(folder.path().join("out"));
    run.args(["--", "sh", "-c", "echo up > up; exec tardy load storm:2"]);
    let running = run.stderr(Stdio::piped()).spawn().expect("the command starts");
    // Up, and then stopped for good.
    wait_until(&|| folder.path().join("out/up").exists());
    for pid in guests_with(folder.path()) {
        kill_process(Pid::from_raw(pid).expect("a process"), Signal::STOP).expect("it runs");
    }
    let said = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("tardy: the guest hangs: no sign of life for 5 s"), "{said}");
    assert!(guests_with(folder.path()).is_empty(), "QEMU is left behind");
}

#[test]
fn a_guest_whose_time_is_over() {
    let Some(guests) = Guests::ready() else { return };
    let flags = ["--limit", "30s"];
    let said = guests.broken(Duration::from_secs(60), &flags, &["tardy", "load", "storm:2"]);
    assert!(said.starts_with("tardy: the guest's time was over after 30 s here"), "{said}");
}

#[test]
fn a_guest_ends_with_whoever_runs_it() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = tardy(&["vm", "run", "--no-record", "--quiet", "--kernel", guests.kernel, "-o"]);
    run.arg(folder.path().join("out")).args(["--", "tardy", "load", "storm:2"]);
    let mut running = run.spawn().expect("the command starts");
    wait_until(&|| guests_with(folder.path()).len() == 1);
    running.kill().expect("it runs");
    running.wait().expect("it ends");
    wait_until(&|| guests_with(folder.path()).is_empty());
}

#[test]
fn a_guest_ends_where_nobody_reads_what_it_says() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut run = tardy(&["vm", "run", "--no-record", "--quiet", "--kernel", guests.kernel, "-o"]);
    // So much of the guest's time that it cannot be over first.
    let script = "echo one; while sleep 100; do echo more; done; echo >done";
    run.arg(&out).args(["--with", "busybox", "--", "sh", "-c", script]).stdout(Stdio::piped());
    let mut running = run.spawn().expect("the command starts");
    let mut said = [0; 4];
    let mut stdout = running.stdout.take().expect("it is piped");
    stdout.read_exact(&mut said).expect("it says something");
    assert_eq!(&said, b"one\n");
    drop(stdout);
    running.wait().expect("it ends");
    assert!(guests_with(folder.path()).is_empty(), "QEMU is left behind");
}

/// On kernels whose configuration is nowhere to be read, and on old ones.
#[test]
fn ebpf_records_in_a_guest_in_full_and_as_a_flight_recorder() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let script = "tardy record --source ebpf --quiet -o full -- \
                  tardy measure cyclic -t1 -P98 -i1ms -l 200 --quiet && \
                  { tardy watch --over 1us --keep 1 --quiet -o flight -- \
                  tardy measure cyclic -t1 -P98 -i1ms -l 200 --quiet; [ $? -eq 3 ]; }";
    let flags = ["--no-record", "--with", "busybox", "-o", out.to_str().expect("UTF-8")];
    let output = guests.run(&flags, &["sh", "-c", script]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A watch keeps what was there when somebody was late: everybody is, by a microsecond.
    for (recording, timed_min) in [("full", 190), ("flight", 1)] {
        let path = out.join(recording);
        let path = path.to_str().expect("UTF-8");
        let explain = ["explain", path, "--json", "--quiet", "--worst", "all"];
        let explained = tardy(&explain).output().expect("it runs");
        let explained: Value = serde_json::from_slice(&explained.stdout).expect("JSON");
        let timed = explained["wakeups"].as_array().expect("a list").iter();
        let timed = timed.filter(|wakeup| wakeup["kind"] == "timer").count();
        assert!(timed >= timed_min, "{recording}: {timed} of 200");
    }
}

/// Where none of Debian's programs were fetched: a shell that finds no `cat` is of no use to a script.
#[test]
fn a_script_finds_this_machines_busybox_where_no_programs_were_fetched() {
    let Some(guests) = Guests::ready() else { return };
    if tardy_vm::on_path("busybox").is_none() {
        eprintln!("skipped: this machine has no busybox");
        return;
    }
    let list = tardy(&["vm", "list", "--json"]).output().expect("it runs");
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    let kernels = Path::new(list["folder"].as_str().expect("a folder")).join("kernels");
    let folder = tempfile::tempdir().expect("a folder");
    // A cache with the same kernels, and no programs.
    let cache = folder.path().join("tardy/vm");
    std::fs::create_dir_all(&cache).expect("a folder is made");
    std::os::unix::fs::symlink(kernels, cache.join("kernels")).expect("a link is made");
    let mut run = tardy(&["vm", "run", "--no-record", "--quiet", "--kernel", guests.kernel, "-o"]);
    run.arg(folder.path().join("out"));
    run.args(["--", "sh", "-c", "echo found | cat"]).env("XDG_CACHE_HOME", folder.path());
    let output = run.output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "found\n", "{output:?}");
}

/// Time is counted here, so this is no matter of the machine. A thread's end takes longer than all of this.
#[test]
fn a_thread_that_is_done_makes_no_other_late_by_its_own_end() {
    let Some(guests) = Guests::ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let flags = ["--no-record", "--quiet", "-o", out.to_str().expect("UTF-8")];
    // All of the threads but T2 have a point at the end.
    let measure = ["tardy", "measure", "staircase", "-D", "200ms", "--json"];
    let output = guests.run(&flags, &measure);
    assert!(output.status.success(), "{output:?}");
    let measured: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let threads = measured["threads"].as_array().expect("a list");
    let max_ns: Vec<u64> =
        threads.iter().map(|thread| number(&thread["deviation"]["max_ns"])).collect();
    // T4 waits for four above it, here for 88 µs; where each ends by itself it is 292 µs.
    assert!(max_ns.len() == 5 && max_ns[4] < 150_000, "{max_ns:?}");
}
