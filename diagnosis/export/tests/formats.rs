//! Each format's files, read back.

mod synthetic;

use std::fs;
use std::io;
use std::path::Path;
use synthetic::{OTHER, WATCHED_NAME, stream};
use tardy_explain::{Explainer, Explanation, Named, Options, Sink};
use tardy_export::{About, Export, ExportError, formats, named, of_ending};
use tardy_model::Batch;

struct ToExport(Box<dyn Export>, Result<(), ExportError>);

impl Sink for ToExport {
    fn wakeup(&mut self, wakeup: &Named<'_>) {
        if self.1.is_ok() {
            self.1 = self.0.wakeup(wakeup);
        }
    }
}

fn about() -> About {
    About {
        clock: "mono".to_owned(),
        host: "host".to_owned(),
        kernel_release: "6.1.0-rt".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 2,
        hz: Some(250),
        written_by: "tardy 0".to_owned(),
        no_formulas: false,
    }
}

fn export(format: &str, path: &Path, batches: &[Batch]) -> Result<Explanation, ExportError> {
    let export = named(format).unwrap().create(path, &about())?;
    let mut explainer = Explainer::new(Options::default(), ToExport(export, Ok(())));
    for batch in batches {
        explainer.sink_mut().0.batch(batch)?;
        explainer.batch(batch);
    }
    let (explanation, ToExport(export, written)) = explainer.finish();
    written?;
    export.finish(&explanation)?;
    Ok(explanation)
}

/// The file's text, and what was explained.
fn exported(format: &str, batches: &[Batch]) -> (String, Explanation) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let explanation = export(format, &path, batches).unwrap();
    (fs::read_to_string(path).unwrap(), explanation)
}

fn sum(latencies: impl Iterator<Item = u64>) -> u64 {
    latencies.sum()
}

/// The latenesses that the stream of `wakeups` has by its making.
fn lateness_ns(wakeups: u64) -> u64 {
    sum((0..wakeups).map(|at| 2_500 + 1_000 * at))
}

#[test]
fn formats_are_found_by_name_and_by_ending() {
    for format in formats() {
        assert_eq!(named(format.name()).unwrap().name(), format.name());
        for ending in format.endings() {
            let path = format!("some.thing.{}", ending.to_uppercase());
            assert_eq!(of_ending(Path::new(&path)).unwrap().name(), format.name(), "{path}");
        }
    }
    assert!(of_ending(Path::new("recording")).is_none());
}

#[test]
fn folded_stacks_sum_to_all_lateness() {
    let (text, explanation) = exported("folded", &stream(250));
    assert_eq!(explanation.latencies.count(), 250);
    let mut all_ns = 0;
    for line in text.lines() {
        let (stack, ns) = line.rsplit_once(' ').unwrap();
        assert!(stack.starts_with("cyc:lic \"1\", é (4101);"), "{line}");
        assert!((3..=4).contains(&stack.split(';').count()), "{line}");
        all_ns += ns.parse::<u64>().unwrap();
    }
    assert_eq!(all_ns, lateness_ns(250));
    assert!(text.contains(";interrupts;irqs of eth0;eth0 (irq 24) 150000\n"), "{text}");
}

#[test]
fn a_flame_graph_is_an_svg_with_the_stacks_frames() {
    let (svg, _) = exported("flamegraph", &stream(20));
    assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"));
    for piece in
        ["Why threads were late on host", "eth0 (irq 24)", "cyc:lic &quot;1&quot;, é (4101)"]
    {
        assert!(svg.contains(piece), "{piece}");
    }
    let again = exported("flamegraph", &stream(20)).0;
    assert_eq!(svg, again, "the same recording, the same picture");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.svg");
    let error = export("flamegraph", &path, &stream(0)).unwrap_err().to_string();
    assert!(error.contains("no wakeup"), "{error}");
    assert!(!path.exists());
}

#[test]
fn histograms_of_both_forms_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (format, file) in [("histogram", "h.hist"), ("json", "h.json")] {
        let path = folder.path().join(file);
        export(format, &path, &stream(12_000)).unwrap();
        let read = tardy_import::histogram::open(&path).unwrap();
        assert_eq!(read.notes.iter().filter(|note| !note.contains("bins")).count(), 0, "{read:?}");
        let row = &read.rows[0];
        assert_eq!((read.rows.len(), row.count), (1, 12_000));
        assert_eq!((row.min_ns, row.max_ns), (Some(2_000), Some(12_001_000)));
        assert_eq!(row.bins[&2_000], 1);
        assert_eq!(row.over, 2_002, "later than 9,999 µs");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("4101") && text.contains("cyc;lic"), "{format}");
    }
}

#[test]
fn csv_tables_have_the_columns_and_the_sums_of_the_explanation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables");
    let batches = stream(250);
    let explanation = export("csv", &path, &batches).unwrap();
    let read = |name: &str| {
        let mut reader = csv::Reader::from_path(path.join(name)).unwrap();
        let heads: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        (heads, rows)
    };
    let (heads, rows) = read("wakeups.csv");
    let at = |heads: &[String], name: &str| heads.iter().position(|head| head == name).unwrap();
    assert_eq!((rows.len(), &rows[0][at(&heads, "id")]), (250, "0"));
    assert_eq!(&rows[0][at(&heads, "task_name")], WATCHED_NAME);
    let (heads, rows) = read("segments.csv");
    let ns = sum(rows.iter().map(|row| row[at(&heads, "ns")].parse::<u64>().unwrap()));
    assert_eq!(ns, lateness_ns(250));
    let (heads, rows) = read("events.csv");
    assert_eq!(heads.len(), tardy_export::EVENT_COLUMNS.len());
    assert_eq!(rows.len() as u64, explanation.events);
    let of_kind = |kind: &str| {
        let column = at(&heads, "kind");
        rows.iter().find(|row| &row[column] == kind).unwrap_or_else(|| panic!("no {kind}"))
    };
    let value = |kind: &str, column: &str| of_kind(kind)[at(&heads, column)].to_owned();
    assert_eq!(value("timer_arm", "function"), "hrtimer_wakeup");
    assert_eq!(value("timer_arm", "mode"), "ABS|PINNED");
    assert_eq!(value("timer_arm", "soft_ns"), "1000100000");
    assert_eq!(value("timer_arm", "irq"), "", "nothing that it does not tell");
    assert_eq!(value("waking", "target_name"), WATCHED_NAME);
    assert_eq!(value("switch", "prev_state"), "S");
    assert_eq!(value("switch", "preempted"), "false");
    assert_eq!(value("softirq_begin", "irq_name"), "TIMER");
    assert_eq!(value("syscall_enter", "call"), "futex");
    assert_eq!(value("syscall_exit", "result"), "-110");
    assert_eq!(value("loss", "lost"), "7");
    assert_eq!(value("page_fault", "address"), 0x7f00_dead_b000u64.to_string());
    assert_eq!(value("task_info", "flags"), "4");
    assert_eq!(value("work_begin", "function"), "vmstat_update");
    assert!(rows.iter().all(|row| row[at(&heads, "task")] != *""));
    assert_eq!(value("mark", "task"), OTHER.0.to_string());
}

#[test]
fn an_export_that_is_not_finished_leaves_nothing() {
    for format in formats().filter(|format| format.name() != "duckdb") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut export = format.create(&path, &about()).unwrap();
        for batch in stream(10) {
            export.batch(&batch).unwrap();
        }
        drop(export);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(left, Vec::<std::path::PathBuf>::new(), "{}", format.name());
        let nowhere = folder.path().join("no/such/folder/out");
        if !matches!(format.name(), "parquet" | "csv") {
            let error = format.create(&nowhere, &about()).err().unwrap().to_string();
            assert!(error.contains("no/such/folder/out"), "{error}");
        }
    }
}

/// Where every write fails as on a full disk, each format says so once, with the file.
#[test]
fn a_full_disk_is_one_clear_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        println!("skipped: there is no /dev/full here");
        return;
    }
    for format in ["text", "histogram", "json", "folded", "flamegraph"] {
        match export(format, full, &stream(3_000)) {
            Err(ExportError::Io { path, source }) => {
                assert_eq!(path, full);
                assert_eq!(source.kind(), io::ErrorKind::StorageFull, "{format}");
            }
            other => panic!("{format}: {other:?}"),
        }
    }
    // For those that write folders, a folder stands in the way of each file.
    for (format, file) in
        [("csv", "events.csv"), ("csv", "segments.csv"), ("parquet", "events.parquet")]
    {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(file)).unwrap();
        let error = export(format, folder.path(), &stream(3_000)).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("directory"), "{format}: {error}");
    }
    assert!(full.exists(), "it is nobody's to remove");
}
