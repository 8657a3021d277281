//! Measurements and loads on the system that runs the tests. Nothing here asserts a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tardy_lab::cyclic::{Affinity, CyclicError, Plan, prepare};
use tardy_lab::{Measurement, Policy, load};
use tardy_model::{Event, Kind};
use tardy_stats::histfile;

/// The threads of this process are counted here, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads of this process have a name that begins so.
fn threads_named(prefix: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with(prefix)).count()
}

/// Waits until a thread that has been joined is gone: its last work in the kernel comes after that (`do_exit`).
#[track_caller]
fn assert_gone(prefix: &str) {
    let is_gone = (0..200).any(|_| {
        let is_gone = threads_named(prefix) == 0;
        if !is_gone {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_gone
    });
    assert!(is_gone, "{} of {prefix} are there", threads_named(prefix));
}

fn short() -> Plan {
    Plan { duration: Some(Duration::from_millis(200)), ..Plan::default() }
}

/// Every expiry of a whole run is either a sample or an overrun: their time spans the duration. Whom that does not hold of,
/// and how many there were.
fn unaccounted(measurement: &Measurement, duration_ns: u64) -> Option<String> {
    measurement.threads.iter().find_map(|thread| {
        let all = thread.latencies.count() + thread.overruns;
        let spanned_ns = all * thread.interval_ns + thread.latencies.max_ns();
        let is_whole = spanned_ns + 2 * thread.interval_ns >= duration_ns;
        (!is_whole).then(|| format!("{}: {all}", thread.name))
    })
}

#[test]
fn every_expiry_is_a_sample_or_an_overrun_and_every_sample_a_mark() {
    let _alone = alone();
    let plan = Plan { marks: true, histogram_us: Some(50), ..short() };
    let mut prepared = prepare(&plan).unwrap();
    let tids: Vec<_> = prepared.threads().iter().map(|thread| thread.tid).collect();
    let count = tids.len();
    assert_eq!(threads_named("cyclic-"), count);
    let mut marks = prepared.take_marks();
    assert_eq!(marks.iter().map(|reader| reader.task().0).collect::<Vec<_>>(), tids);
    assert!(prepared.take_marks().is_empty());
    let running = prepared.start();
    while !running.wait(Duration::from_millis(20)) {
        assert_eq!(running.snapshot().len(), count);
    }
    let live = running.snapshot();
    let measurement = running.finish();
    assert_gone("cyclic-");

    assert_eq!(measurement.threads.len(), count);
    assert_eq!(measurement.broken_by, None);
    assert_eq!(unaccounted(&measurement, 200_000_000), None);
    for (index, thread) in measurement.threads.iter().enumerate() {
        let latencies = &thread.latencies;
        assert_eq!(thread.name, format!("cyclic-{index}"));
        assert_eq!((thread.pid, thread.interval_ns), (tids[index], 1_000_000));
        assert!(thread.cpu.is_some());
        assert!(
            latencies.count() > 0 && latencies.min_ns() > 0,
            "nobody returns before the expiry"
        );
        let figures = live[index];
        assert_eq!((figures.min_ns, figures.max_ns), (latencies.min_ns(), latencies.max_ns()));
        assert_eq!(figures.count, latencies.count());
        let histogram = &measurement.histograms[index];
        assert_eq!(histogram.count(), latencies.count());
        assert!(histogram.min_avg_max_us().2.abs_diff(latencies.max_ns() / 1000) <= 1);

        let mut events: Vec<Event> = vec![];
        marks[index].drain(&mut events);
        assert_eq!(events.len() as u64, latencies.count());
        let mut sum_ns = 0;
        let mut due_ns = 0;
        for (sequence, event) in events.iter().enumerate() {
            let Kind::Mark(mark) = event.kind() else { panic!("{event:?}") };
            assert_eq!((event.task.0, mark.sequence), (thread.pid, sequence as u32));
            assert_eq!(Some(event.cpu.0), thread.cpu);
            assert!(mark.expiry_ns >= due_ns, "expiries are at least an interval apart");
            due_ns = mark.expiry_ns + thread.interval_ns;
            sum_ns += u128::from(event.time_ns - mark.expiry_ns);
        }
        assert_eq!(sum_ns, latencies.sum_ns(), "the marks are the samples");
    }
}

#[test]
fn loops_a_stop_and_a_bound_each_end_it() {
    let _alone = alone();
    let plan = Plan { loops: Some(7), ..Plan::default() };
    for thread in prepare(&plan).unwrap().start().finish().threads {
        assert_eq!(thread.latencies.count(), 7);
    }

    let running = prepare(&Plan::default()).unwrap().start();
    running.stopper().stop();
    let stopped = running.finish();
    assert!(stopped.broken_by.is_none());

    // No return takes 0 ns, so the first one breaks this bound.
    let plan = Plan { break_over_ns: Some(0), ..Plan::default() };
    let broken = prepare(&plan).unwrap().start().finish();
    let by = broken.broken_by.expect("the bound is broken");
    let culprit = broken.threads.iter().find(|thread| thread.name == by.thread).unwrap();
    assert_eq!(culprit.latencies.max_ns(), by.latency_ns);
    assert!(by.expiry_ns > 0);
    assert_gone("cyclic-");
}

#[test]
fn dropped_at_any_point_it_leaves_no_thread() {
    let _alone = alone();
    drop(prepare(&Plan::default()).unwrap());
    assert_gone("cyclic-");
    drop(prepare(&Plan::default()).unwrap().start());
    assert_gone("cyclic-");
    let plan = Plan { affinity: Affinity::Cpus(vec![1023]), ..Plan::default() };
    match prepare(&plan) {
        Err(CyclicError::Cpu { cpu: 1023, .. }) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => println!("this machine has 1024 CPUs"),
    }
    assert_gone("cyclic-");
}

#[test]
fn every_policy_measures_or_says_why_not() {
    let _alone = alone();
    for policy in [Policy::Fifo, Policy::Rr, Policy::Deadline, Policy::Other] {
        let plan = Plan { policy, loops: Some(20), timer_slack_ns: Some(1), ..Plan::default() };
        let measurement = prepare(&plan).unwrap().start().finish();
        for thread in &measurement.threads {
            let refused = measurement.notes.iter().any(|note| note.contains(policy.kernel_name()));
            assert_eq!(thread.policy == policy, !refused, "{:?}", measurement.notes);
            let has_prio = matches!(thread.policy, Policy::Fifo | Policy::Rr);
            assert_eq!(thread.prio, if has_prio { plan.prio } else { 0 });
            assert_eq!(thread.cpu.is_none(), policy == Policy::Deadline);
            assert_eq!(thread.latencies.count(), 20);
        }
    }
}

#[test]
fn a_storm_starts_sleeps_and_leaves_no_thread() {
    let _alone = alone();
    let spec: load::Spec = "storm:12+storm:3,seed=9".parse().unwrap();
    let running = spec.start().unwrap();
    let tids = running.tids();
    assert_eq!(tids.len(), 15);
    for tid in &tids {
        let comm = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap();
        assert!(comm.starts_with("storm-"), "{comm}");
    }
    assert_eq!(threads_named("storm-"), 15);
    while running.work()[0][0].count < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(running.stop()[0][0].count >= 100);
    assert_gone("storm-");

    match "storm:4,fifo=2".parse::<load::Spec>().unwrap().start() {
        Ok(running) => {
            for tid in running.tids() {
                let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
                let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
                assert_eq!((fields[37], fields[38]), ("2", "1"), "priority 2 of SCHED_FIFO");
            }
        }
        Err(error) => assert!(error.to_string().contains("leave `fifo` out"), "{error}"),
    }
    assert_gone("storm-");
}

/// Numbers made one, so that only the shape of a file remains.
fn shape(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        // How many overflows there were is chance.
        let line = if line.starts_with("# Thread") { &line[..11] } else { line };
        let shape: String =
            line.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        *lines.entry(shape).or_default() += 1;
    }
    lines
}

#[test]
fn a_histogram_file_has_the_shape_of_cyclictests() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    let started = Command::new("cyclictest")
        .args(["-q", "-m", "-a", "-t", "2", "-p", "80", "-l", "50", "-H", "20", "--histfile"])
        .arg(&theirs)
        .output();
    match started {
        Ok(output) if output.status.success() => {}
        other => return println!("skipped: cyclictest does not run here: {other:?}"),
    }
    let plan =
        Plan { threads: Some(2), loops: Some(50), histogram_us: Some(20), ..Plan::default() };
    let measurement = prepare(&plan).unwrap().start().finish();
    let ours = folder.path().join("ours");
    let file = std::fs::File::create(&ours).unwrap();
    histfile::write(file, &measurement.histograms, true).unwrap();
    let text = |path| std::fs::read_to_string(path).unwrap();
    assert_eq!(shape(&text(&ours)), shape(&text(&theirs)));
    for path in [&ours, &theirs] {
        for row in tardy_import::histogram::open(path).unwrap().rows {
            assert_eq!((row.binned(), row.count), (50, 50));
        }
    }
}

#[test]
fn without_permission_it_measures_under_sched_other_and_says_so() {
    let _alone = alone();
    // Where nobody can reach it, and in a folder that everybody may enter.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let copy = folder.path().join("live");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    open_to_all(folder.path());
    open_to_all(&copy);
    let child = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"])
        .args(["prlimit", "--rtprio=0", "--memlock=65536"])
        .arg(&copy)
        .args(["--exact", "child_without_permission", "--ignored", "--nocapture"])
        .output();
    let output = match child {
        Ok(output) => output,
        Err(error) => return println!("skipped: setpriv does not run here: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if !said.contains("running 1 test") {
        return println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[ignore = "run as another user by without_permission_it_measures_under_sched_other_and_says_so"]
fn child_without_permission() {
    let measure = || prepare(&short()).unwrap().start().finish();
    // On a machine with much else to do an ordinary thread may begin so late that it leaves expiries out, which are no
    // part of the measurement: not each time.
    let is_whole = |measurement: &Measurement| unaccounted(measurement, 200_000_000).is_none();
    let measurement = (0..4).map(|_| measure()).find(is_whole).unwrap_or_else(measure);
    assert_eq!(unaccounted(&measurement, 200_000_000), None);
    for thread in &measurement.threads {
        assert_eq!((thread.policy, thread.prio), (Policy::Other, 0));
        assert!(thread.latencies.count() > 0);
    }
    let notes = &measurement.notes;
    for said in ["SCHED_FIFO was refused", "`ulimit -r 80`", "CAP_IPC_LOCK", "/dev/cpu_dma_latency"]
    {
        assert_eq!(notes.iter().filter(|note| note.contains(said)).count(), 1, "{said}: {notes:?}");
    }
    let fifo = "storm:2,fifo".parse::<load::Spec>().unwrap().start();
    assert!(matches!(fifo, Err(load::LoadError::Policy { prio: 1, .. })));
    let running = "storm:2".parse::<load::Spec>().unwrap().start().unwrap();
    assert_eq!(running.tids().len(), 2);
}
