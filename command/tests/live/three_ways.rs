//! The same threads recorded three ways at once: by eBPF, as trace-cmd's `trace.dat`, and as the text
//! that trace-cmd makes of it. What is explained must be the same.

use crate::explained::{Explained, Wakeup, explain_all};
use crate::machine::{Machine, is_root};
use crate::program::{Running, Said, tardy};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two tracers take their own time at the same place in the kernel, one after the other; between the
/// two lies what the first of them takes, and now and then an interrupt or the hypervisor. Segments
/// shorter than this may be there for one and not for the other, and their ends differ by as much.
const APART_NS: u64 = 5_000;

#[test]
fn three_sources_explain_the_same() {
    let Some(_machine) = Machine::that_records() else { return };
    if !is_root() || Command::new("trace-cmd").arg("-h").output().is_err() {
        eprintln!("skipped: it needs root and trace-cmd");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [recording, dat, text] =
        ["recording", "trace.dat", "trace.txt"].map(|name| folder.path().join(name));
    // Some kernels keep what a CPU's idle task does from their own trace, and a trace does not say which
    // idle states poll: no CPU is to be idle.
    let _busy = Busy::every_cpu();
    let measured = Running::start(&mut tardy([
        "measure", "cyclic", "-D", "4s", "-i", "1ms", "-P", "80", "--quiet",
    ]));
    let pid = measured.pid().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/record-apart.sh");
    let mut traced = Command::new("sh")
        .arg(script)
        .args(["-q", "-C", "mono", "-b", "20000", "-e", "timer", "-e", "sched", "-e", "irq"])
        .args(["-e", "irq_vectors", "-e", "power:cpu_idle", "-e", "raw_syscalls", "-o"])
        .args([dat.as_os_str(), "sleep".as_ref(), "3".as_ref()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    // So that both trace for a while.
    std::thread::sleep(std::time::Duration::from_secs(1));
    Said::by(tardy(["record", "--quiet", "-D", "1s", "-p", &pid, "-o"]).arg(&recording)).expect(0);
    let traced = traced.wait().expect("it is our child");
    measured.interrupt();
    if !traced.success() || !dat.exists() {
        eprintln!("skipped: trace-cmd cannot record here");
        return;
    }
    let report = Command::new("trace-cmd")
        .args(["report", "-t", "-i"])
        .arg(&dat)
        .stdout(File::create(&text).expect("a file"))
        .stderr(Stdio::null())
        .status();
    assert!(report.expect("trace-cmd").success());

    let [live, dat, text] = [recording, dat, text]
        .map(|path| explain_all(&path, &["--comm", "cyclic-0", "--comm", "cyclic-1"]));
    // One trace in two forms: nothing differs at all.
    assert_eq!(dat.wakeups.len(), text.wakeups.len());
    for (a, b) in dat.wakeups.iter().zip(&text.wakeups) {
        assert_eq!(a, b);
    }
    agree(&live, &dat);
}

/// Threads that keep every CPU from idling.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn every_cpu() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..2 * cpus {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {});
        }
        Self(stop)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two tracers saw the same wakeups.
fn agree(live: &Explained, traced: &Explained) {
    let key = |wakeup: &Wakeup| (wakeup.pid, wakeup.expiry_ns);
    let whole = |wakeup: &&Wakeup| wakeup.kind == "timer" && !wakeup.touched_by_loss;
    let of_trace: HashMap<_, &Wakeup> =
        traced.wakeups.iter().filter(whole).map(|wakeup| (key(wakeup), wakeup)).collect();
    let both: Vec<(&Wakeup, &Wakeup)> = live
        .wakeups
        .iter()
        .filter(whole)
        .filter_map(|wakeup| Some((wakeup, *of_trace.get(&key(wakeup))?)))
        .collect();
    // What was going on when the other began, or ended, it cannot know.
    let traced_ns = traced.start_ns + 10_000_000..traced.start_ns + traced.span_ns - 10_000_000;
    let in_both = |wakeup: &&Wakeup| traced_ns.contains(&wakeup.expiry_ns);
    let seen = live.wakeups.iter().filter(whole).filter(in_both).count();
    let same = both.iter().filter(|(a, b)| is_same(a, b)).count();
    println!("{seen} wakeups by eBPF, {} in both, {same} the same", both.len());
    assert!(both.len() * 10 >= seen * 9 && seen > 100, "{} of {seen}", both.len());
    // Where an interrupt or the hypervisor came between the two tracers, they differ by more.
    let differing: Vec<_> = both.iter().filter(|(a, b)| !is_same(a, b)).collect();
    assert!(differing.len() * 20 <= both.len(), "{}: {:?}", differing.len(), differing.first());
}

/// Whether both have the same segments in the same order, but for those too short to be sure of, and
/// each cause as long as in the other.
fn is_same(a: &Wakeup, b: &Wakeup) -> bool {
    let near = |a: u64, b: u64| a.abs_diff(b) <= 2 * APART_NS;
    let (of_a, of_b) = (stretches(a), stretches(b));
    let sum = |of: &[(&str, u64)], cause: &str| -> u64 {
        of.iter().filter(|(other, _)| *other == cause).map(|(_, ns)| ns).sum()
    };
    let all_near = |these: &[(&str, u64)]| {
        these.iter().all(|(cause, _)| near(sum(&of_a, cause), sum(&of_b, cause)))
    };
    near(a.lateness_ns, b.lateness_ns)
        && all_near(&of_a)
        && all_near(&of_b)
        && is_within(&long(&of_a, 2), &long(&of_b, 1))
        && is_within(&long(&of_b, 2), &long(&of_a, 1))
}

/// A wakeup's causes, in order, with how long. The recorder by eBPF does not ask when callbacks end, so
/// that with it an interrupt is its callbacks' up to its end: here both are one.
fn stretches(wakeup: &Wakeup) -> Vec<(&str, u64)> {
    let mut stretches: Vec<(&str, u64)> = Vec::new();
    for segment in &wakeup.segments {
        let cause = match segment.cause.as_str() {
            "callback" | "stacked_timers" => "interrupts",
            cause => cause,
        };
        match stretches.last_mut() {
            Some((last, ns)) if *last == cause => *ns += segment.ns,
            _ => stretches.push((cause, segment.ns)),
        }
    }
    stretches
}

/// The causes of stretches longer than `times` the distance of the tracers, in order.
fn long<'a>(stretches: &[(&'a str, u64)], times: u64) -> Vec<&'a str> {
    let is_long = |(_, ns): &&(&str, u64)| *ns > times * APART_NS;
    stretches.iter().filter(is_long).map(|(cause, _)| *cause).collect()
}

/// Whether all of `some` are in `all`, in the same order.
fn is_within(some: &[&str], all: &[&str]) -> bool {
    let mut left = all.iter();
    some.iter().all(|cause| left.any(|other| other == cause))
}
