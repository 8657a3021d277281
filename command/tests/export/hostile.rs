//! A current folder and an environment that somebody else made.

use super::{recording, synthetic};
use crate::program::{Said, tardy};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tardy_recording::{Host, Manifest, ManifestEnd, Trigger, Writer};

/// No code is taken from the current folder, nor from where the environment says.
#[test]
fn no_code_comes_from_the_current_folder() {
    let (folder, recording) = recording();
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let ran = folder.path().join("ran");
    let module = format!("open({:?}, 'w').write('a module')\n", ran.to_str().unwrap());
    for name in ["duckdb.py", "sitecustomize.py", "sys.py", "site.py"] {
        fs::write(here.join(name), &module).unwrap();
    }
    for name in ["duckdb", "python3", "perf"] {
        let program = here.join(name);
        fs::write(&program, format!("#!/bin/sh\necho a program > {}\n", ran.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    for path in [format!(".:{path}"), format!(":{path}"), path] {
        let out = folder.path().join("out.duckdb");
        let mut command = tardy(["export", "-o"]);
        command.arg(&out).arg(&recording).current_dir(&here);
        command.env("PATH", &path).env("PYTHONPATH", &here).env("PYTHONHOME", &here);
        let said = Said::by(&mut command);
        assert!(matches!(said.status, 0 | 1), "{}", said.err);
        assert!(!ran.exists(), "{} ran with PATH {path}", fs::read_to_string(&ran).unwrap());
        // And the interpreter of perf.data.
        let data = here.join("perf.data");
        fs::write(&data, b"PERFILE2 and nothing more").unwrap();
        let mut command = tardy(["explain", "--all"]);
        command.arg(&data).current_dir(&here).env("PATH", &path);
        Said::by(&mut command).expect(1);
        assert!(!ran.exists(), "{} ran with PATH {path}", fs::read_to_string(&ran).unwrap());
    }
}

/// A database or a folder takes no device's place, nor a link's.
#[test]
fn what_is_no_file_is_not_replaced() {
    let (folder, recording) = recording();
    for format in ["duckdb", "parquet"] {
        let mut command = tardy(["export", "--format", format, "-o", "-"]);
        let said = Said::by(command.arg(&recording).current_dir(folder.path())).expect(1);
        assert!(said.err.contains("cannot go to standard output"), "{}", said.err);
    }
    let link = folder.path().join("link.duckdb");
    symlink("/dev/null", &link).unwrap();
    let said = Said::by(tardy(["export", "-o"]).arg(&link).arg(&recording)).expect(1);
    assert!(said.err.contains("something else: name a file"), "{}", said.err);
    assert!(link.is_symlink(), "it was left alone");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "something was left");
}

/// A recording that came out of an archive, with links and pipes where tardy writes and reads.
#[test]
fn a_prepared_recording_leads_nowhere() {
    let (folder, recording) = recording();
    let precious = folder.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    for name in [
        "report.html",
        "report-all.html",
        "summary.json",
        "summary.json.tmp",
        "wakeups.parquet",
        "wakeups.parquet.tmp",
        "segments.parquet.tmp",
        "manifest.json.tmp",
    ] {
        symlink(&precious, recording.join(name)).unwrap();
    }
    Said::by(tardy(["explain", "--tables"]).arg(&recording)).expect(0);
    Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(0);
    Said::by(tardy(["report"]).arg(&recording)).expect(0);
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    let page = recording.join("report.html");
    assert!(page.symlink_metadata().unwrap().is_file(), "the link is gone, the page is there");

    let segment = recording.join("events/000000.seg");
    let aside = folder.path().join("aside");
    fs::rename(&segment, &aside).unwrap();
    for prepare in ["mkfifo", "ln -s /dev/zero", "ln -s ../../aside"] {
        let script = format!("{prepare} \"$0\"");
        let made = Command::new("sh").args(["-c", &script]).arg(&segment).status();
        assert!(made.unwrap().success());
        let said = Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(1);
        assert!(said.err.contains("000000.seg: it is a "), "{prepare}: {}", said.err);
        fs::remove_file(&segment).unwrap();
    }
    fs::rename(&aside, &segment).unwrap();
    fs::rename(recording.join("events"), folder.path().join("events")).unwrap();
    symlink("../events", recording.join("events")).unwrap();
    let said = Said::by(tardy(["explain", "--all"]).arg(&recording)).expect(1);
    assert!(said.err.contains("it is a link"), "{}", said.err);
}

/// The load beside which a recording was made is started again for trials, unless it is of the recording's choice what
/// is run.
#[test]
fn a_recording_chooses_no_program_to_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("rec");
    let mark = folder.path().join("mark");
    let load = format!("cmd:touch {}", mark.display());
    let settings = [("run.load".to_owned(), load)].into();
    let mut writer =
        Writer::create(&recording, Manifest { settings, ..Manifest::default() }).unwrap();
    for batch in synthetic::stream(20) {
        writer.append_waiting(batch).unwrap();
    }
    writer.seal(ManifestEnd::default()).unwrap();
    for more in [&["--dry-run"][..], &["--yes", "--rounds", "12", "--block", "20ms"]] {
        let said = Said::by(tardy(["fix"]).arg(&recording).args(more));
        let is_plan = more[0] == "--dry-run";
        assert_eq!(said.err.contains("is not started"), is_plan, "{more:?}: {}", said.err);
        // Nor whose threads are changed: numbers of processes are those of another boot.
        let is_refused = said.err.contains("was not recorded by this user on this system");
        assert_eq!(is_refused, !is_plan, "{more:?}: {}", said.err);
        assert!(!mark.exists(), "{more:?}: {}", said.err);
    }
}

/// Nor does what is printed to be pasted hold more than one word of its.
#[test]
fn a_recordings_load_does_not_leave_the_quotes_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    for (load, offered) in [
        ("storm' ; touch mark ; echo '", "because it is none that tardy has."),
        ("cmd:touch mark", "--load 'cmd:touch mark' starts it"),
    ] {
        let recording = folder.path().join(load.len().to_string());
        let settings = [("run.load".to_owned(), load.to_owned())].into();
        let command_line = ["tardy", "record", "--", "./x", "';touch mark;'", "$(id)"];
        let command_line = command_line.map(str::to_owned).into();
        let manifest = Manifest { settings, command_line, ..Manifest::default() };
        let mut writer = Writer::create(&recording, manifest).unwrap();
        for batch in synthetic::stream(20) {
            writer.append_waiting(batch).unwrap();
        }
        writer.seal(ManifestEnd::default()).unwrap();
        let said = Said::by(tardy(["fix", "--dry-run"]).arg(&recording));
        assert!(said.err.contains(offered), "{}", said.err);
        let mut explain = tardy(["explain", "--all", "--full", "--no-write"]);
        let said = Said::by(explain.arg(&recording)).expect(0);
        let told = said.out.replace('\n', " ");
        assert!(told.contains(r"./x ''\'';touch mark;'\''' '$(id)'"), "{told}");
    }
}

fn is_root(why: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: {why}");
    }
    is_root
}

/// Some user that is neither root nor who runs the test.
const OTHER: u32 = 65_533;

fn give(path: &Path) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
    chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

/// Another user's recording is read and not written; what is found goes to the reader's own place.
#[test]
fn another_users_recording_is_read_and_never_written() {
    if !is_root("only root can read what is another user's alone") {
        return;
    }
    let (folder, recording) = recording();
    give(&recording);
    let before = fs::read_dir(&recording).unwrap().count();
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let mut command = tardy(["explain", "--tables"]);
    let said = Said::by(command.arg(&recording).current_dir(&here)).expect(0);
    assert!(said.err.contains("belongs to another user"), "{}", said.err);
    assert_eq!(fs::read_dir(&recording).unwrap().count(), before, "nothing was written");
    for name in ["report.html", "wakeups.parquet", "segments.parquet"] {
        assert!(here.join("reports/rec-1").join(name).exists(), "{name}");
    }
    let page = Said::by(tardy(["report"]).arg(&recording).current_dir(&here)).expect(0).out;
    assert_eq!(page.trim(), "reports/rec-2/report.html");
    assert_eq!(fs::read_dir(&recording).unwrap().count(), before, "nothing was written");
}

/// A folder that somebody else put where recordings go is not used, nor a link there.
#[test]
fn a_prepared_folder_of_recordings_is_not_used() {
    if !is_root("only root can make what is another user's") {
        return;
    }
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/futex-pi-spike.txt");
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let prepared = folder.path().join("recordings");
    for is_link in [false, true] {
        if is_link {
            symlink(elsewhere.path(), &prepared).unwrap();
            std::os::unix::fs::lchown(&prepared, Some(OTHER), Some(OTHER)).unwrap();
        } else {
            fs::create_dir(&prepared).unwrap();
            give(&prepared);
        }
        let temporary = tempfile::tempdir().unwrap();
        let mut command = tardy(["import"]);
        command.arg(&trace).current_dir(folder.path()).env("TMPDIR", temporary.path());
        let said = Said::by(&mut command).expect(0);
        let user = rustix::process::geteuid().as_raw();
        let own = temporary.path().join(format!("tardy-recordings-{user}/import-1"));
        assert!(said.out.contains(own.to_str().unwrap()) && own.exists(), "{}", said.out);
        assert!(is_link || fs::remove_dir(&prepared).is_ok(), "something is in it");
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

/// A file or folder and what is below: path, permissions, owner.
fn all(path: &Path, look: &mut dyn FnMut(&Path, u32, u32)) {
    let found = path.metadata().unwrap();
    look(path, found.mode() & 0o777, found.uid());
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all(&entry.unwrap().path(), look);
        }
    }
}

/// What is recorded is for its owner alone; under sudo that is who called it, where his folder is.
#[test]
fn a_recording_is_private_and_its_callers() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../diagnosis/sources/import/tests/data/futex-pi-spike.txt");
    let folder = tempfile::tempdir().unwrap();
    let import = |sudo: bool| {
        let mut command = tardy(["import"]);
        command.arg(&trace).current_dir(folder.path());
        if sudo {
            command.env("SUDO_UID", OTHER.to_string()).env("SUDO_GID", OTHER.to_string());
        }
        Said::by(&mut command).expect(0);
    };
    let recordings = folder.path().join("recordings");
    import(false);
    all(&recordings, &mut |path, mode, _| {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    });
    if is_root("only root is called by sudo") {
        fs::remove_dir_all(&recordings).unwrap();
        give(folder.path());
        import(true);
        all(&recordings, &mut |path, _, uid| assert_eq!(uid, OTHER, "{}", path.display()));
    }
}

/// A file that cannot be written costs nothing that was measured, and is told before where that is known.
#[test]
fn what_cannot_be_written_is_told_before_and_kept_after() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for file in ["/proc/nowhere", "no/such/folder/file", "."] {
        let verbs: [&[&str]; 4] = [
            &["measure", "cyclic", "-D", "1h", "--histfile", file],
            &["measure", "sleep", "-o", file],
            &["measure", "staircase", "-D", "1h", "-o", file],
            &["measure", "pi", "-o", file],
        ];
        for verb in verbs {
            let said = Said::by(tardy(verb).current_dir(here)).expect(1);
            assert!(said.err.contains(&format!("could not write {file}")), "{}", said.err);
        }
    }
    // A file that is there but whose disk is full is known at the end alone.
    let (_folder, recording) = recording();
    let mut command = tardy(["explain", "--all", "--no-write", "-o", "/dev/full"]);
    let said = Said::by(command.arg(&recording).current_dir(here)).expect(1);
    assert!(said.out.contains("Lateness"), "{}", said.out);
    let kept = fs::read_to_string(here.join("results/kept-1/full")).unwrap();
    assert_eq!(kept, said.out);
    assert!(said.err.contains("results/kept-1/full instead"), "{}", said.err);
    // The same where files may not grow: no signal ends it.
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]).arg(crate::program::PATH);
    limited.args(["explain", "--all", "--no-write", "-o", "out.txt"]).arg(&recording);
    let said = Said::by(limited.current_dir(here)).expect(1);
    assert!(said.out.contains("Lateness") && said.err.contains("File too large"), "{}", said.err);
}

/// A trace in which each line names another thread: as long as a trace may be, and nothing else than names.
#[test]
fn a_trace_of_nothing_but_threads_ends_with_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("threads.txt");
    let mut text = String::from("# tracer: nop\n");
    for pid in 10..200_000u32 {
        let (at, next) = (f64::from(pid) * 1e-5, pid + 1);
        writeln!(
            text,
            " t{pid}-{pid} [000] d..2. {at:.6}: sched_waking: comm=t{next} pid={next} prio=120 target_cpu=000\n \
             t{pid}-{pid} [000] d..2. {at:.6}: sched_switch: prev_comm=t{pid} prev_pid={pid} prev_prio=120 \
             prev_state=S ==> next_comm=t{next} next_pid={next} next_prio=120"
        )
        .unwrap();
    }
    fs::write(&trace, text).unwrap();
    let explain = |memory: &str| {
        let mut command = tardy(["explain", "--all", "--memory", memory]);
        Said::by(command.arg(&trace).current_dir(folder.path()))
    };
    let said = explain("64M").expect(1);
    let lines: Vec<&str> = said.err.lines().collect();
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(line.contains("more than 64 MB of memory"), "{line}");
    assert!(line.contains("names of threads") && line.contains("--memory"), "{line}");
    assert_eq!(said.out, "");
    explain("2G").expect(0);
    assert!(explain("1K").expect(2).err.contains("at least 64M"));
}

/// What a stranger's recording says of itself, in each place where it says something.
fn hostile_manifest() -> Manifest {
    let evil = || "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mevil\r\u{202e}\nFORGED".to_owned();
    let host = Host {
        name: evil(),
        kernel_release: evil(),
        kernel_version: evil(),
        arch: evil(),
        hypervisor: Some(evil()),
        preemption: Some(evil()),
        ..Host::default()
    };
    let trigger = Trigger { name: evil(), cause: evil(), culprit: evil(), ..Trigger::default() };
    let settings = [
        ("run.load".to_owned(), evil()),
        ("run.duration".to_owned(), evil()),
        ("run.command".to_owned(), evil()),
        (evil(), evil()),
    ];
    Manifest {
        host,
        tardy_version: evil(),
        command_line: vec![evil(), evil()],
        source: format!("live-{}", evil()),
        clock: evil(),
        settings: settings.into_iter().collect(),
        missing: vec![evil()],
        notes: vec![evil()],
        trigger: Some(trigger),
        ..Manifest::default()
    }
}

/// Neither names nor notes nor errors of a stranger's file command the terminal, whichever verb tells them.
#[test]
fn no_verb_lets_a_strangers_file_command_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut both = Vec::new();
    for (name, load) in [("a\u{1b}[2J\nFORGED", "x\u{1b}[31m\nFORGED"), ("b", "y\u{9b}")] {
        let recording = folder.path().join("recordings").join(name);
        let mut manifest = hostile_manifest();
        manifest.settings.insert("run.load".to_owned(), load.to_owned());
        let mut writer = Writer::create(&recording, manifest).unwrap();
        for mut batch in synthetic::stream(20) {
            for (_, name) in &mut batch.names {
                name.push_str("\u{1b}]0;x\u{7}\r\nFORGED");
            }
            writer.append_waiting(batch).unwrap();
        }
        writer.seal(ManifestEnd::default()).unwrap();
        both.push(recording.to_str().unwrap().to_owned());
    }
    let traces = [
        (
            "head.txt",
            "# tracer: \u{1b}[2J\n# clock: \u{1b}]0;x\u{7}\n x-1 [000] 1.0: sched_waking: comm=\u{1b}c pid=2",
        ),
        ("hist.txt", "# Histogram \u{1b}[2J\n# /dev/cpu \u{1b}c\n000000 \u{1b}[2J\n"),
        ("perf\u{1b}[2J.data", "PERFILE2\u{1b}[2J"),
        ("lines\nFORGED.txt", " x-1 [000] 1.0: sched_waking: comm=x pid=2"),
        ("trace\u{9b}2J.dat", "\u{17}\u{8}\u{44}tracing6\0\u{1b}[2J"),
    ];
    let mut files = Vec::new();
    for (name, text) in traces {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        files.push(file.to_str().unwrap().to_owned());
    }
    let mut calls: Vec<Vec<&str>> = vec![vec!["list"], vec!["compare", &both[0], &both[1]]];
    calls.push(vec!["list", "--json"]);
    calls.push(vec!["compare", "--json", &both[0], &both[1]]);
    calls.push(vec!["compare", "--full", &both[0], &both[1]]);
    for given in both.iter().chain(&files) {
        for verb in [
            &["explain", "--all"][..],
            &["explain", "--all", "--json"],
            &["explain", "--all", "--json", "--worst", "all"],
            &["whatif", "--json"],
            &["explain", "--all", "--full", "--timers"],
            &["explain", "--all", "--why", "1"],
            &["report"],
            &["whatif"],
            &["import", "-o", "out"],
            &["export", "-o", "out.json"],
            &["export", "--format", "\u{1b}[2J", "-o", "x"],
            &["export", "--format", "text", "-o", "-"],
            &["export", "--format", "json", "-o", "-"],
            &["export", "--format", "folded", "-o", "-"],
            &["export", "--format", "histogram", "-o", "-"],
            &["export", "--format", "flamegraph", "-o", "-"],
        ] {
            calls.push(verb.iter().copied().chain([given.as_str()]).collect());
        }
    }
    for call in calls {
        let output = tardy(&call).current_dir(folder.path()).output().unwrap();
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            // What is exported to other programs keeps what no terminal obeys.
            let is_export = call.contains(&"-");
            let turns = |c: char| c == '\u{202e}' && !is_export;
            let found = text.chars().find(|c| c.is_control() && *c != '\n' || turns(*c));
            assert_eq!(found, None, "{call:?}: {text:?}");
            // Nor does a name make lines that look like ours.
            let forged = text.lines().find(|line| line.starts_with("FORGED"));
            assert_eq!(forged, None, "{call:?}: {text}");
        }
        let _ = fs::remove_dir_all(folder.path().join("out"));
    }
}

/// While a stranger's file is read, nothing is left to do for who would take over the reader.
#[test]
fn a_reader_has_given_up_what_it_does_not_need() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for verb in [&["explain", "--all"][..], &["report"], &["import"], &["export"]] {
        let mut command = tardy(verb);
        command.arg("-").current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        if verb == ["export"] {
            command.args(["--format", "csv", "-o"]).arg(&out);
        }
        let mut reader = command.stdin(Stdio::piped()).spawn().unwrap();
        // It reads until this is closed.
        let mut writer = reader.stdin.take().unwrap();
        writer.write_all(b"# tracer: nop\n").unwrap();
        let fields = || {
            let status = fs::read_to_string(format!("/proc/{}/status", reader.id())).unwrap();
            let of = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                u64::from_str_radix(line.unwrap_or_default().trim(), 16).unwrap()
            };
            ["NoNewPrivs:", "CapPrm:", "Seccomp:"].map(of)
        };
        // The filter comes last.
        let begun = Instant::now();
        while fields()[2] == 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let [no_new, capabilities, filter] = fields();
        drop(writer);
        // A text without events is no trace: that is not what this is about.
        let _ = reader.wait().unwrap();
        assert_eq!(no_new, 1, "{verb:?}");
        // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER.
        assert_eq!(capabilities & !0b1111, 0, "{verb:?}");
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            assert_eq!(filter, 2, "{verb:?}");
        }
    }
}

/// A spreadsheet calculates nothing that a stranger has named a thread.
#[test]
fn no_name_is_a_formula_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("rec");
    let mut writer = Writer::create(&recording, Manifest::default()).unwrap();
    for mut batch in synthetic::stream(20) {
        batch.names.iter_mut().for_each(|(_, name)| name.insert_str(0, "=cmd|"));
        writer.append_waiting(batch).unwrap();
    }
    writer.seal(ManifestEnd::default()).unwrap();
    let export = |more: &[&str], out: &str| {
        let out = folder.path().join(out);
        Said::by(tardy(["export", "-q", "-o"]).arg(&out).args(more).arg(&recording)).expect(0);
        fs::read_to_string(out.join("events.csv")).unwrap()
    };
    assert!(export(&[], "as-it-is.csv").contains(",=cmd|"));
    let safe = export(&["--no-formulas"], "safe.csv");
    assert!(safe.contains(",'=cmd|") && !safe.contains(",=cmd|"), "{safe}");
    let mut wrong = tardy(["export", "--no-formulas", "-o", "x.parquet"]);
    Said::by(wrong.arg(&recording)).expect(2);
}

/// Nothing waits for a pipe into which nobody writes, whatever is to be read; a pipe that is open already is read.
#[test]
fn a_pipe_with_a_name_is_refused_and_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for verb in [
        &["explain", "--all"][..],
        &["import"],
        &["report"],
        &["whatif"],
        &["compare", "/dev/null"],
        &["sim"],
        &["experiment"],
        &["export", "--format", "csv", "-o", "out"],
    ] {
        let mut command = tardy(verb);
        let said = Said::by(command.arg(&pipe).current_dir(folder.path()));
        assert!(matches!(said.status, 1 | 2), "{verb:?}: {}", said.err);
    }
    let text = " x-1 [000] 1.0: sched_waking: comm=x pid=2\n";
    let script = format!("\"$0\" import -o out <(printf '{text}')");
    let mut command = Command::new("bash");
    command.args(["-c", &script, crate::program::PATH]).current_dir(folder.path());
    let said = Said::by(&mut command);
    assert!(!said.err.contains("no regular file"), "{}", said.err);
}

/// A zone that never ends, or that nobody writes, is none.
#[test]
fn the_time_zone_is_no_file_of_a_strangers_choice() {
    let (folder, recording) = recording();
    let pipe = folder.path().join("zone");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for zone in [pipe.to_str().unwrap(), "/dev/zero", ":/dev/zero"] {
        let mut command = tardy(["list"]);
        let said = Said::by(command.arg(recording.parent().unwrap()).env("TZ", zone)).expect(0);
        assert!(said.err.contains("times are in UTC"), "{}", said.err);
    }
}

/// A manifest of nothing but empty notes takes ten times its length in memory, and any number of names may lead to it.
#[test]
fn a_folder_of_swollen_manifests_is_listed_in_little_memory() {
    let (folder, recording) = recording();
    let file = recording.join("manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    manifest["notes"] = vec![""; 600_000].into();
    manifest["command_line"] = vec![""; 100_000].into();
    fs::write(&file, serde_json::to_vec(&manifest).unwrap()).unwrap();
    for number in 0..16 {
        let other = folder.path().join(format!("r{number}"));
        fs::create_dir(&other).unwrap();
        fs::hard_link(&file, other.join("manifest.json")).unwrap();
    }
    // Of the process's own: what it maps of its files and stacks is not touched.
    let list = "ulimit -v 400000; exec \"$0\" list \"$1\"";
    let mut command = Command::new("sh");
    let said = Said::by(command.args(["-c", list, crate::program::PATH]).arg(folder.path()));
    assert_eq!(said.expect(0).out.lines().count(), 18);
}
