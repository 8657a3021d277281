//! Each kernel of the matrix: `tardy run` there by eBPF and through tracefs, the balance checked, and a table of
//! what works.
//!
//! `TARDY_TEST_VM` tries one of them; `TARDY_TEST_KERNELS` names those to try, or is `all` (`make test-kernels`).
//! What cannot be had is said, and left out.

use super::guests::{alone, balanced, fetched, tardy};
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::time::Instant;

/// The one that is tried where none is named.
const USUAL: &str = "debian-6.12";

/// How much of all lateness may be nobody's.
const UNEXPLAINED_MAX: f64 = 0.005;

/// Threads of the load, whose sleeps are to be known for what they are.
const STORM: &str = "storm:10";

/// What of all their armings must be known by its call: the first of a recording may be older than it.
const CALLS_KNOWN_MIN: f64 = 0.95;

/// What the doctor said there.
const DOCTOR: &str = "doctor.txt";

const SOURCES: [&str; 2] = ["ebpf", "tracefs"];

/// What is known not to work: kernel, source, and what of the reason must be said, by the doctor too.
const REFUSED: [(&str, &str, &str); 2] =
    [("debian-5.10", "ebpf", "5.12"), ("debian-5.10-arm64", "ebpf", "5.18")];

/// A kernel that is tried.
struct Kernel {
    name: String,
    arch: String,
}

/// What came of a source on a kernel.
struct Row {
    kernel: String,
    arch: String,
    release: String,
    source: &'static str,
    what: Result<Figures, String>,
    doctor: String,
    took_s: f64,
}

/// Of a recording whose balance holds.
struct Figures {
    timed: u64,
    mean_ns: f64,
    unexplained: f64,
    /// Of the load's armings the part whose call is known: none by tracefs, which records no calls.
    calls: f64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, arch, release, source, what, took_s, .. } = self;
        write!(f, "{kernel:<20} {arch:<7} {release:<26} {source:<8} ")?;
        match what {
            Ok(Figures { timed, mean_ns, unexplained, calls }) => {
                let (mean_us, unexplained) = (*mean_ns / 1e3, 100.0 * unexplained);
                write!(f, "works: {timed} timed wakeups, {mean_us:.1} µs late in the mean, ")?;
                write!(f, "{unexplained:.2} % unexplained")?;
                if *calls > 0.0 {
                    write!(f, ", calls of {:.1} % of the load's armings known", 100.0 * calls)?;
                }
            }
            Err(why) => f.write_str(why)?,
        }
        write!(f, " ({took_s:.0} s)")
    }
}

/// Those to try; none where nobody asks for guests.
fn asked() -> Vec<Kernel> {
    let named = std::env::var("TARDY_TEST_KERNELS").ok();
    if named.is_none() && std::env::var_os("TARDY_TEST_VM").is_none() {
        eprintln!(
            "skipped: kernels are booted with TARDY_TEST_VM=1 or TARDY_TEST_KERNELS=all only"
        );
        return vec![];
    }
    let named = named.unwrap_or_else(|| USUAL.to_owned());
    let listed = tardy(&["vm", "list", "--json"]).output().expect("the command starts");
    let list: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let all = list["kernels"].as_array().expect("a list").iter();
    let all = all.filter(|kernel| kernel["matrix"] == true);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all.map(|kernel| Kernel { name: text(&kernel["name"]), arch: text(&kernel["arch"]) })
        .filter(|kernel| named == "all" || named.split(',').any(|name| name == kernel.name))
        .collect()
}

/// Boots a kernel once, and tries both sources there.
fn tried(kernel: &Kernel, folder: &Path) -> Result<Vec<Row>, String> {
    fetched(&format!("tools-{}", kernel.arch))?;
    fetched(&kernel.name)?;
    let begun = Instant::now();
    let out = folder.join(&kernel.name);
    // In the guest itself it is also explained; here it is done again, to look at all of it.
    let each = "tardy run --source $it -t1 -P98 -i1ms -D 2s --load storm:10,seed=1 --buffer 32768 -o $it \
                --json \
                >$it.json 2>$it.err; echo $? >$it.status";
    let script =
        format!("tardy doctor >{DOCTOR}; for it in {}; do {each}; done", SOURCES.join(" "));
    let mut run = tardy(&["vm", "run", "--no-record", "--json", "--with", "busybox"]);
    run.args(["--kernel", &kernel.name, "--boot-limit", "5m", "--silence-limit", "5m", "-o"]);
    run.arg(&out).args(["--", "sh", "-c", &script]);
    let ran = run.output().expect("the command starts");
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        // No static build for that architecture: nothing of the kernel's.
        let skips = said.contains("get it with `make vm`");
        assert!(skips, "{}: {said}", kernel.name);
        return Err(said.trim().to_owned());
    }
    let document: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let release = document["runs"][0]["release"].as_str().unwrap_or_default();
    let took_s = begun.elapsed().as_secs_f64();
    let row = |source: &'static str| Row {
        kernel: kernel.name.clone(),
        arch: kernel.arch.clone(),
        release: release.to_owned(),
        source,
        what: figures(&out, source),
        doctor: std::fs::read_to_string(out.join(DOCTOR)).unwrap_or_default(),
        took_s,
    };
    Ok(SOURCES.map(row).into())
}

/// What a source yielded; or what was said of why it yielded nothing.
fn figures(out: &Path, source: &str) -> Result<Figures, String> {
    let text = |end: &str| {
        std::fs::read_to_string(out.join(format!("{source}.{end}"))).unwrap_or_default()
    };
    if text("status").trim() != "0" {
        // What it says at last is why.
        let said = text("err");
        let why = said.lines().rfind(|line| line.starts_with("tardy: ")).unwrap_or(&said);
        return Err(why.trim_start_matches("tardy: ").trim().to_owned());
    }
    let there: Value = serde_json::from_str(&text("json")).map_err(|error| error.to_string())?;
    let recording = out.join(source);
    let recording = recording.to_str().expect("UTF-8");
    let explain = ["explain", recording, "--worst", "all", "--timers", "--json", "--quiet"];
    let explained = tardy(&explain).output().expect("the command starts");
    let here: Value = serde_json::from_slice(&explained.stdout)
        .map_err(|_| String::from_utf8_lossy(&explained.stderr).into_owned())?;
    if there["explain"]["lateness"] != here["lateness"] {
        return Err("explained otherwise there than here".to_owned());
    }
    if here["lost"] != 0 {
        return Err(format!("{} events lost", here["lost"]));
    }
    let (_, unexplained) = balanced(&here);
    let wakeups = here["wakeups"].as_array().expect("a list");
    let timed = wakeups.iter().filter(|wakeup| wakeup["kind"] == "timer").count() as u64;
    let samples = there["measure"]["threads"][0]["samples"].as_u64().unwrap_or_default();
    if timed != samples || samples < 1900 {
        return Err(format!("{timed} of {samples} samples are timed wakeups"));
    }
    let storms = here["timers"].as_array().expect("a list").iter();
    let storms =
        storms.filter(|row| row["name"].as_str().is_some_and(|it| it.starts_with("storm-")));
    let (mut known, mut all) = (0, 0);
    for row in storms.filter(|row| row["function"] == "hrtimer_wakeup") {
        let armed = row["armed"].as_u64().unwrap_or_default();
        all += armed;
        known += if row["call"] == "clock_nanosleep" { armed } else { 0 };
    }
    let calls = known as f64 / all.max(1) as f64;
    let mean_ns = here["lateness"]["mean_ns"].as_f64().unwrap_or_default();
    Ok(Figures { timed, mean_ns, unexplained, calls })
}

/// What is wrong with a row, if anything.
fn wrong(row: &Row) -> Option<String> {
    let refused =
        REFUSED.iter().find(|(kernel, source, _)| row.kernel == *kernel && row.source == *source);
    match (&row.what, refused) {
        (Err(why), Some((.., expected))) if why.contains(expected) => {
            let is_told = row.doctor.contains(expected);
            (!is_told).then(|| format!("the doctor does not say {expected:?}: {}", row.doctor))
        }
        (Ok(_), Some(_)) => Some("works, which is not in the table".to_owned()),
        (Err(why), _) => Some(why.clone()),
        (Ok(figures), None) if figures.unexplained > UNEXPLAINED_MAX => {
            Some(format!("{:.2} % unexplained", 100.0 * figures.unexplained))
        }
        (Ok(figures), None) if row.source == "ebpf" && figures.calls < CALLS_KNOWN_MIN => {
            Some(format!("of {STORM} the calls of {:.1} % alone are known", 100.0 * figures.calls))
        }
        (Ok(_), None) => None,
    }
}

#[test]
fn each_kernel_records_by_ebpf_and_tracefs_and_every_balance_sums() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    let (mut rows, mut faults) = (vec![], vec![]);
    for kernel in asked() {
        match tried(&kernel, folder.path()) {
            Ok(tried) => {
                for row in tried {
                    println!("{row}");
                    faults.extend(wrong(&row).map(|why| format!("{row}\n  {why}")));
                    rows.push(row);
                }
            }
            Err(why) => eprintln!("skipped: {}: {why}", kernel.name),
        }
    }
    println!("{} rows in {:.0} s", rows.len(), begun.elapsed().as_secs_f64());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
