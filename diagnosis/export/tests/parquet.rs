//! The table of events, read back by the parquet crate. `command/tests/export/duckdb.rs` has `DuckDB`
//! read it.

mod synthetic;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;
use tardy_explain::Explanation;
use tardy_export::{About, EVENT_COLUMNS, named};

#[test]
fn events_come_back_in_bounded_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables");
    let batches = synthetic::stream(7_000);
    let mut export = named("parquet")
        .unwrap()
        .create(&path, &About { clock: "mono".to_owned(), ..About::default() })
        .unwrap();
    for batch in &batches {
        export.batch(batch).unwrap();
    }
    assert!(!path.join("events.parquet").exists(), "not before it is whole");
    export.finish(&Explanation::default()).unwrap();

    let file = File::open(path.join("events.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let events: Vec<_> = batches.iter().flat_map(|batch| &batch.events).collect();
    assert!(events.len() > 1 << 16);
    assert_eq!(reader.num_row_groups(), events.len().div_ceil(1 << 16));
    let mut rows = 0;
    for (row, event) in reader.get_row_iter(None).unwrap().zip(&events) {
        let row = row.unwrap();
        let columns: Vec<_> = row.get_column_iter().collect();
        assert_eq!(columns.len(), EVENT_COLUMNS.len());
        for ((name, _), column) in columns.iter().zip(EVENT_COLUMNS) {
            assert_eq!(name.as_str(), column.name);
        }
        assert_eq!(columns[0].1, &Field::ULong(event.time_ns));
        assert_eq!(columns[1].1, &Field::UInt(event.cpu.0.into()));
        assert_eq!(columns[2].1, &Field::UInt(event.task.0));
        let soft_ns = columns.iter().find(|(name, _)| *name == "soft_ns").unwrap().1;
        let has_expiry = matches!(
            event.kind(),
            tardy_model::Kind::TimerArm(_) | tardy_model::Kind::ExpireBegin(_)
        );
        assert_eq!(has_expiry, *soft_ns != Field::Null, "{row:?}");
        rows += 1;
    }
    assert_eq!(rows, events.len());
    assert!(path.join("wakeups.parquet").exists() && path.join("segments.parquet").exists());
}
