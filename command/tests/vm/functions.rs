//! In which function: a module holds interrupts off, or preemption, for a known time in functions of known names, and
//! those names must come out of the recording.
//!
//! Needs `TARDY_TEST_VM`, and what `kernel/hold/build.sh` needs to build the module for the guest's kernel. What
//! cannot be had is said, and the test is skipped.

use super::guests::{alone, fetched, tardy};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = "debian-rt";

/// What is kept off, and the function that does it.
const HELD: [(&str, &str); 2] =
    [("interrupts", "tardy_hold_interrupts"), ("preemption", "tardy_hold_preemption")];

/// How long each section is, and how long the thread that enters it sleeps then: no multiple of the victim's interval.
const HOLD_US: u32 = 400;
const SLEEP_US: u32 = 4300;

/// Nothing else makes anybody as late as this in counted time.
const LATE_NS: u64 = 100_000;

/// Fewer say nothing of a share of 95 %.
const LATE_MIN: usize = 60;
const RIGHT_SHARE_MIN: f64 = 0.95;

/// The thread that enters the sections.
const HOLDER: &str = "holder";

/// The module for a kernel, or why there is none.
fn module(release: &str) -> Result<PathBuf, String> {
    // Not in a folder of the guest's own, where nothing would be seen of what lies below.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hold-{release}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/hold/build.sh");
    let built = Command::new(script).arg(release).arg(&folder).output();
    let built = built.map_err(|error| error.to_string())?;
    if built.status.success() {
        Ok(folder.join("tardy_hold.ko"))
    } else {
        Err(String::from_utf8_lossy(&built.stderr).trim().to_owned())
    }
}

/// The release of the kernel that is here.
fn release() -> String {
    let listed = tardy(&["vm", "list", "--json"]).output().expect("the command starts");
    let list: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let kernels = list["kernels"].as_array().expect("a list");
    let kernel = kernels.iter().find(|kernel| kernel["name"] == KERNEL).expect("it is known");
    kernel["release"].as_str().expect("it was fetched").to_owned()
}

/// Kernel, programs and module, or why one of them is missing.
fn ready() -> Result<PathBuf, String> {
    if std::env::var_os("TARDY_TEST_VM").is_none() {
        return Err("guests are booted with TARDY_TEST_VM=1 only".to_owned());
    }
    fetched("tools-x86_64")?;
    fetched(KERNEL)?;
    module(&release())
}

/// What a guest does: the holder beside a measured thread that is recorded with stacks, for each of [`HELD`].
fn script(module: &Path) -> String {
    let each = HELD.map(|(what, _)| {
        let file = format!("/sys/module/tardy_hold/parameters/without_{what}_us");
        format!(
            "sh -c 'printf {HOLDER} >/proc/self/comm; \
               while echo {HOLD_US} >{file}; do usleep {SLEEP_US}; done' &\n\
             holder=$!\n\
             tardy measure cyclic -t1 -P98 -i1ms -D 3s --quiet --record {what} --stacks=50us || exit 1\n\
             kill $holder\n"
        )
    });
    format!("insmod {} || exit 1\n{}", module.display(), each.concat())
}

/// Of the late wakeups of a recording, how many there are, and of how many the function stands first; and what stood
/// there instead.
fn judged(recording: &Path, function: &str) -> (usize, usize, Vec<String>) {
    let path = recording.to_str().expect("UTF-8");
    let explain = ["explain", path, "--json", "--worst", "all", "--no-write", "--quiet"];
    let explained = tardy(&explain).output().expect("the command starts");
    let explained: Value = serde_json::from_slice(&explained.stdout).expect("tardy.explain/1");
    let wakeups = explained["wakeups"].as_array().expect("a list");
    let is_late = |wakeup: &&Value| wakeup["lateness_ns"].as_u64() >= Some(LATE_NS);
    let late: Vec<_> = wakeups.iter().filter(is_late).collect();
    let firsts = late.iter().map(|wakeup| {
        let segments = wakeup["segments"].as_array().expect("a list").iter();
        let first = segments.max_by_key(|segment| segment["ns"].as_u64()).expect("it was late");
        let culprit = &first["culprits"][0];
        let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
        format!("{} in {}", text(&culprit["name"]), text(&culprit["stack"][0]))
    });
    let expected = format!("{HOLDER} in {function}");
    let wrong: Vec<_> = firsts.filter(|first| !first.starts_with(&expected)).collect();
    (late.len(), late.len() - wrong.len(), wrong)
}

#[test]
fn sections_without_interrupts_and_without_preemption_have_their_function_named() {
    let _alone = alone();
    let module = match ready() {
        Ok(module) => module,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut run = tardy(&["vm", "run", "--kernel", KERNEL, "--no-record", "--quiet"]);
    run.args(["--with", "busybox", "--with"]).arg(&module).arg("-o").arg(&out);
    let ran = run.args(["--", "sh", "-c", &script(&module)]).output().expect("the command starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for (what, function) in HELD {
        let (late, right, wrong) = judged(&out.join(what), function);
        let few: Vec<_> = wrong.iter().take(3).collect();
        let told = format!("without {what}: {function} in {right} of {late}, instead {few:?}");
        println!("{told}");
        assert!(late >= LATE_MIN, "{told}");
        assert!(right as f64 >= RIGHT_SHARE_MIN * late as f64, "{told}");
    }
}
