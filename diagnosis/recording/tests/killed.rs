//! The recording process is killed with SIGKILL while it records at a high rate: what it had
//! appended is there, gapless. The process is this test's own binary, started again.

mod synthetic;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;
use synthetic::{Item, defining_batch, number, numbered_batch, read_all};
use tardy_recording::{Manifest, Writer};

const FOLDER: &str = "TARDY_TEST_KILLED_FOLDER";
const ROUNDS: u64 = 20;

/// What the writer promises is 100 ms. This is twice that, for a machine that is busy.
const SAFE_AFTER_NS: u64 = 200_000_000;

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The child: about 500 000 events a second, a line "events appended, when" for each batch.
#[test]
#[ignore = "the part that is killed; the test below starts it"]
#[expect(clippy::disallowed_methods, reason = "numbers for the test that reads them")]
fn record_until_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut writer = Writer::create(Path::new(&folder), Manifest::default()).unwrap();
    let (mut out, mut appended) = (std::io::stdout().lock(), 0);
    loop {
        writer.append(defining_batch(appended)).unwrap();
        writer.append(numbered_batch(appended + 2, appended + 1000)).unwrap();
        appended += 1000;
        writeln!(out, "appended {appended} {}", now_ns()).unwrap();
        out.flush().unwrap();
        thread::sleep(Duration::from_millis(2));
    }
}

fn start(folder: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "record_until_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

#[test]
fn what_was_appended_survives_sigkill() {
    let (mut safe_in_all, mut late) = (0, 0);
    for round in 0..ROUNDS {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("recording");
        let (mut child, out) = start(&folder);
        let beats = thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            let beats = lines.filter_map(|line| {
                let mut words = line.strip_prefix("appended ")?.split(' ');
                Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
            });
            beats.collect::<Vec<(u64, u64)>>()
        });
        // 100 to 600 ms, another moment in the writer's 50 ms in every round.
        thread::sleep(Duration::from_micros(100_000 + round * 487_331 % 500_000));
        let killed_ns = now_ns();
        child.kill().unwrap();
        child.wait().unwrap();
        let beats = beats.join().unwrap();
        let safe = beats.iter().rev().find(|beat| beat.1 + SAFE_AFTER_NS < killed_ns);
        let safe = safe.map_or(0, |beat| beat.0);
        let appended = beats.last().map_or(0, |beat| beat.0);
        if !folder.join("events/000000.seg").exists() {
            assert_eq!(appended, 0, "round {round}: appended, but there is no recording");
            continue;
        }
        let events = check(&folder, round);
        if events < safe {
            late += 1;
        }
        safe_in_all += safe;
        println!(
            "round {round:>2}: appended {appended:>6}, older than 200 ms {safe:>6}, there {events:>6}"
        );
    }
    // A machine with much else to do may not run the writer for that long. Without its writes nearly every round tells.
    assert!(late <= ROUNDS / 4, "what was 200 ms old was lost in {late} of {ROUNDS} rounds");
    assert!(safe_in_all > 0, "no child lived long enough for this to show anything");
}

/// Checks that the recording is a gapless prefix of what the child appends; returns its events.
fn check(folder: &Path, round: u64) -> u64 {
    let (items, torn) = read_all(folder);
    let (mut next, mut names, mut timers) = (0, 0, 0);
    for item in &items {
        match item {
            Item::Event(event) => {
                assert_eq!(number(event), Some(next), "round {round}: a gap; {torn:?}");
                assert!(names > next / 1000 && timers > next / 1000, "used before it is defined");
                next += 1;
            }
            Item::Name(..) => names += 1,
            Item::Timer(_) => timers += 1,
        }
    }
    next
}
