//! `DuckDB` reads the Parquet files, and the database that it made of them.

use super::{WAKEUPS, export, lateness_ns, recording};
use crate::program::{Said, tardy};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Whether it is there. `scripts/test-python.sh` sees to it.
fn is_there() -> bool {
    let output = Command::new("python3").args(["-c", "import duckdb"]).output();
    if output.is_ok_and(|output| output.status.success()) {
        return true;
    }
    assert!(std::env::var_os("TARDY_TEST_DUCKDB").is_none(), "DuckDB must be there, and is not");
    println!("skipped: python3 has no module duckdb here; scripts/test-python.sh brings it");
    false
}

/// What each query yields: its first row, numbers as text.
fn query(database: Option<&Path>, queries: &[String]) -> Value {
    let script = "import duckdb, json, sys\n\
        base = duckdb.connect(sys.argv[1], read_only=sys.argv[1] != ':memory:')\n\
        print(json.dumps([[None if v is None else str(v) for v in base.execute(q).fetchone()]\n\
        \x20   for q in sys.argv[2:]]))";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(database.unwrap_or(Path::new(":memory:"))).args(queries);
    Said::by(&mut command).expect(0).json()
}

/// Sums over the three tables, which are called as `table` says.
fn sums(table: impl Fn(&str) -> String) -> Vec<String> {
    let [events, wakeups, segments] = ["events", "wakeups", "segments"].map(table);
    vec![
        format!("SELECT count(*), sum(lateness_ns), min(task_name), max(id) FROM {wakeups}"),
        format!("SELECT sum(ns), count(DISTINCT wakeup_id), max(culprit_name) FROM {segments}"),
        // The balance of every wakeup.
        format!(
            "SELECT count(*) FROM (SELECT id FROM {wakeups} JOIN {segments} ON id = wakeup_id \
             GROUP BY id, lateness_ns HAVING sum(ns) <> lateness_ns)"
        ),
        format!(
            "SELECT count(*), sum(time_ns), count(soft_ns), count(target), max(argument), \
             min(result), max(address), count(address) FILTER (kind = 'page_fault') FROM {events}"
        ),
        format!("SELECT count(*), sum(preempted::int) FROM {events} WHERE kind = 'switch'"),
        format!("SELECT typeof(time_ns), typeof(result), typeof(preempted) FROM {events}"),
    ]
}

#[test]
fn duckdb_reads_the_tables_and_the_database() {
    if !is_there() {
        return;
    }
    let (_folder, document, tables) = export("it's tables.parquet", &[]);
    let path = tables.to_str().unwrap().replace('\'', "''");
    let of_files = query(None, &sums(|table| format!("'{path}/{table}.parquet'")));

    let events: Vec<_> =
        super::synthetic::stream(WAKEUPS).into_iter().flat_map(|batch| batch.events).collect();
    let times_ns: u64 = events.iter().map(|event| event.time_ns).sum();
    let text = |number: u64| number.to_string();
    assert_eq!(document["events"], events.len());
    let last = WAKEUPS - 1;
    assert_eq!(
        of_files[0],
        json!([text(WAKEUPS), text(lateness_ns()), super::synthetic::WATCHED_NAME, text(last)])
    );
    assert_eq!(of_files[1].as_array().unwrap()[..2], [text(lateness_ns()), text(WAKEUPS)]);
    assert_eq!(of_files[2], json!(["0"]), "every wakeup balances");
    // Per wakeup an arming and an expiry; two switches and a waking have a target. At the end a timer
    // of the wheel, which has the largest address; a new thread, one that moves and one that is
    // boosted; a page fault.
    assert_eq!(
        of_files[3],
        json!([
            text(events.len() as u64),
            text(times_ns),
            text(2 * WAKEUPS + 1),
            text(3 * WAKEUPS + 3),
            text(0x7f12_3456_7890),
            "-110",
            text(0xffff_8880_1234_9abc),
            "1"
        ])
    );
    assert_eq!(of_files[4], json!([text(2 * WAKEUPS), text(WAKEUPS)]));
    assert_eq!(of_files[5], json!(["UBIGINT", "BIGINT", "BOOLEAN"]));

    let (folder, document, database) = export("it's all.duckdb", &[]);
    assert_eq!(document["format"], "duckdb");
    assert_eq!(query(Some(&database), &sums(str::to_owned)), of_files);
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["it's all.duckdb", "rec"], "no temporary files");
}

/// Exports with nothing on the PATH but a program `duckdb` that is this script, or not even that.
fn export_with(script: Option<&str>) -> (String, bool) {
    let (folder, recording) = recording();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    if let Some(script) = script {
        let program = bin.join("duckdb");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let out = folder.path().join("out.duckdb");
    let mut command = tardy(["export", "-o"]);
    let said = Said::by(command.arg(&out).arg(&recording).env("PATH", &bin)).expect(1);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "something was left");
    (said.err, out.exists())
}

#[test]
fn without_duckdb_one_error_says_how_to_get_it() {
    let (said, is_there) = export_with(None);
    for piece in ["pip install duckdb", "--format parquet", "CREATE TABLE events"] {
        assert!(said.contains(piece), "{said}");
    }
    assert!(!is_there);
}

#[test]
fn what_duckdb_says_when_it_fails_is_told() {
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\n\
                  echo 'IO Error: Could not write: No space left on device' >&2\nexit 1\n";
    let (said, is_there) = export_with(Some(script));
    assert!(said.contains("out.duckdb: IO Error") && said.contains("No space left"), "{said}");
    assert!(!is_there);
}
