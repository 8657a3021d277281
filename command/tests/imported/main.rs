//! Other people's traces, through the command, as a user would ask. Needs no rights.
#![forbid(unsafe_code)]

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../diagnosis/sources/import/tests/data").join(name)
}

fn tardy(arguments: &[&str], file: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(arguments).arg(file).output().expect("the command starts")
}

#[track_caller]
fn json(arguments: &[&str], file: &Path) -> Value {
    let output = tardy(arguments, file);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn us(value: &Value) -> u64 {
    let ns = value.as_u64().expect("a number");
    assert_eq!(ns % 1000, 0);
    ns / 1000
}

/// The thread "`ARMv7` futex latency spike" on linux-rt-users, whose author could not tell why his
/// thread waited twice. Times are µs after 12165.412.
#[test]
fn the_mail_that_asked_why_a_thread_waited_twice() {
    let explained = json(&["explain", "--json"], &data("futex-pi-spike.txt"));
    let wakeups = explained["wakeups"].as_array().expect("a list");
    let calls: Vec<_> = wakeups.iter().filter(|wakeup| wakeup["kind"] == "lock").collect();
    let [call] = calls.as_slice() else { panic!("{wakeups:?}") };
    assert_eq!(call["task"], "High-prio******");
    assert_eq!(us(&call["expiry_ns"]) - 12_165_412_000, 229);
    assert_eq!(us(&call["lateness_ns"]), 141);

    let segments: Vec<_> = call["segments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|segment| {
            let [culprit] = segment["culprits"].as_array().expect("a list").as_slice() else {
                panic!("{segment}")
            };
            let name = culprit["name"].as_str().expect("a name").trim_end_matches('*');
            let cause = segment["cause"].as_str().expect("a name");
            (segment["stretch"].as_u64().expect("a number"), us(&segment["ns"]), cause, name)
        })
        .collect();
    assert_eq!(
        segments,
        [
            (0, 37, "own_kernel_work", "High-prio"),
            (1, 2, "lock", "trace-cmd"),
            (1, 27, "lock", "Low-prio"),
            (1, 6, "switch_delay", "Busy-loop****** or an interrupt in it"),
            (2, 36, "own_kernel_work", "High-prio"),
            (3, 3, "lock", "trace-cmd"),
            (3, 12, "lock", "Low-prio"),
            (3, 4, "switch_delay", "Busy-loop****** or an interrupt in it"),
            (4, 14, "own_kernel_work", "High-prio"),
        ]
    );
    let stretches = call["stretches"].as_array().expect("a list");
    let lengths: Vec<u64> = stretches.iter().map(|stretch| us(&stretch["ns"])).collect();
    assert_eq!(lengths, [37, 35, 36, 19, 14]);
    let (first, second) = (&stretches[1], &stretches[3]);
    assert_eq!((&first["state"], &first["on"]["kind"]), (&"S".into(), &"futex".into()));
    assert_eq!(first["on"]["address"], "0x11524");
    assert_eq!((&second["state"], &second["on"]["kind"]), (&"D".into(), &"kernel_lock".into()));

    let boosts: Vec<_> = call["boosts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|boost| {
            let at = us(&boost["time_ns"]) - 12_165_412_000;
            let prios = (boost["from_prio"].as_i64(), boost["to_prio"].as_i64());
            assert_eq!(boost["task"]["name"], "Low-prio******");
            (at, prios, boost["in_unlock"] == true)
        })
        .collect();
    let (up, down) = ((Some(120), Some(40)), (Some(40), Some(120)));
    assert_eq!(boosts, [(248, up, false), (300, down, true), (321, up, true), (356, down, true)]);
    assert_eq!(call["patterns"], serde_json::json!(["double_pi_boost"]));
    let pattern = &explained["patterns"][0];
    assert_eq!(pattern["name"], "double_pi_boost");
    assert_eq!(us(&pattern["worst"]["at_ns"]) - 12_165_412_000, 321);
}

#[test]
fn the_same_as_a_recording_and_as_a_story() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let out = recording.to_str().expect("UTF-8");
    let imported = json(&["import", "--json", "-o", out], &data("futex-pi-spike.txt"));
    assert_eq!(imported["source"], "import-ftrace-text");
    assert!(!imported["missing"].as_array().expect("a list").is_empty());
    let direct = json(&["explain", "--json"], &data("futex-pi-spike.txt"));
    let recorded = json(&["explain", "--json"], &recording);
    assert_eq!(direct, recorded);

    let story = json(&["explain", "--json", "--why", "1"], &recording);
    assert_eq!(story["schema"], "tardy.why/1");
    let sentences = story["story"].as_array().expect("a list");
    let times: Vec<u64> =
        sentences.iter().map(|sentence| sentence["time_ns"].as_u64().expect("a time")).collect();
    assert!(sentences.len() > 10 && times.is_sorted(), "{sentences:?}");
}

#[test]
fn an_arm_board_explained_elsewhere() {
    for file in ["armv7-v6-mono.dat", "armv7-v7-zstd-local.dat"] {
        let explained = json(&["explain", "--json", "--comm", "cyclictest"], &data(file));
        assert!(explained["lateness"]["wakeups"].as_u64() > Some(40), "{file}");
        for wakeup in explained["wakeups"].as_array().expect("a list") {
            let segments = wakeup["segments"].as_array().expect("a list");
            let sum: u64 = segments.iter().filter_map(|segment| segment["ns"].as_u64()).sum();
            assert_eq!(Some(sum), wakeup["lateness_ns"].as_u64(), "{file}");
        }
    }
}

#[test]
fn what_is_no_trace_is_told_what_would_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("letter.txt");
    std::fs::write(&file, "Dear list,\nmy thread is late.\n").expect("a file");
    for verb in ["explain", "import", "export"] {
        let mut arguments = vec![verb];
        let out = folder.path().join("out.csv");
        if verb != "explain" {
            arguments.extend(["-o", out.to_str().expect("UTF-8")]);
        }
        let output = tardy(&arguments, &file);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("letter.txt") && said.contains("trace.dat"), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
}

#[test]
fn a_histogram_is_told_from_a_trace() {
    let file = data("histogram/zynq-2016-timer-load.hist");
    let output = tardy(&["explain"], &file);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("histogram") && said.contains("tardy report"), "{said}");
    let reported = json(&["report", "--json"], &file);
    assert_eq!(reported["schema"], "tardy.measure/1");
}

/// A trace of `threads` threads, each of which is woken twice.
fn of_threads(threads: u32) -> String {
    let mut text = String::from("# tracer: nop\n");
    for at in 0..2 * threads {
        let (pid, us) = (1000 + at % threads, f64::from(at) * 20.0 + 1e6);
        let mut line = |us: f64, current: &str, what: &str| {
            writeln!(text, " {current} [000] d..2. {:.6}: {what}", us / 1e6).expect("a String");
        };
        let (x, w) = ("prev_comm=x prev_pid=9 prev_prio=120", format!("comm=w{pid} pid={pid}"));
        line(us, "x-9", &format!("sched_waking: {w} prio=120 target_cpu=000"));
        let next = format!("next_comm=w{pid} next_pid={pid} next_prio=120");
        line(us + 5.0, "x-9", &format!("sched_switch: {x} prev_state=R ==> {next}"));
        let prev = format!("prev_comm=w{pid} prev_pid={pid} prev_prio=120 prev_state=S");
        let next = "next_comm=x next_pid=9 next_prio=120";
        line(us + 9.0, &format!("w{pid}-{pid}"), &format!("sched_switch: {prev} ==> {next}"));
    }
    text
}

/// Of more threads than have figures of their own all are counted.
#[test]
fn a_thousand_threads_are_a_thousand() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.txt");
    std::fs::write(&file, of_threads(1000)).expect("written");
    let output = tardy(&["explain", "--all", "--full", "--no-pager"], &file);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let headline = said.lines().find(|line| line.starts_with("Lateness of")).expect("a headline");
    assert!(headline.contains("of 1,00") && headline.ends_with(" threads"), "{headline}");
}

/// A recording that was not ended says so; and is no file of a format.
#[test]
fn a_recording_without_its_end_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, recording) = (folder.path().join("trace.txt"), folder.path().join("rec"));
    std::fs::write(&file, of_threads(3)).expect("written");
    let into = recording.to_str().expect("UTF-8");
    assert!(tardy(&["import", "-q", "-o", into], &file).status.success());
    let explain = || {
        let output = tardy(&["explain", "--full", "--no-pager"], &recording);
        String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let listed = |words: &str| {
        let output = tardy(&["list"], folder.path());
        String::from_utf8_lossy(&output.stdout).contains(words)
    };
    let unsealed = "the recording did not end properly (it was k";
    assert!(!explain().contains(unsealed) && !listed("cut short"));
    let manifest = recording.join("manifest.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text.replace("\"sealed\": true", "\"sealed\": false"))
        .expect("written");
    assert!(explain().contains(unsealed), "{}", explain());
    assert!(listed("cut short"));
    let output = tardy(&["explain", "--input-format", "perfetto"], &recording);
    assert_eq!(output.status.code(), Some(2));
}

/// What makes no sense is wrong usage, and the advice is what helps.
#[test]
fn wrong_usage_is_two_and_advised_well() {
    let mail = data("futex-pi-spike.txt");
    for (arguments, file, status, said) in [
        (&["explain", "--input-format", "nope"][..], &mail, 2, "choose one of"),
        (&["experiment"], &PathBuf::from("nope"), 2, "there is no experiment"),
        (&["sim"], &PathBuf::from("nope"), 2, "tardy sim list"),
        (&["measure"], &PathBuf::from("nope"), 2, "tardy measure has cyclic, sleep"),
        (&["import"], &PathBuf::from("nope"), 1, "tardy import --formats"),
        (&["list"], &PathBuf::from("nope"), 1, "there is no such file or folder"),
        (&["list", "-o"], &PathBuf::from("/dev/null"), 2, "unexpected argument '-o'"),
        (&["vm", "run", "--kernel", "nope", "--"], &PathBuf::from("true"), 2, "no kernel"),
    ] {
        let output = tardy(arguments, file);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{err}");
        assert!(err.contains(said) && !err.contains("to pass '-o' as a value"), "{err}");
    }
    let trace = std::fs::File::open(data("v6-mono.dat")).expect("a trace");
    let mut cat = Command::new("cat").stdin(trace).stdout(Stdio::piped()).spawn().expect("cat");
    let pipe = cat.stdout.take().expect("a pipe");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    let output = command.args(["explain", "-"]).stdin(pipe).output().expect("it starts");
    // It holds the end that is read, and cat would wait for a reader.
    drop(command);
    cat.wait().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("save it to a file first"), "{err}");
}
