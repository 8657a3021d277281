//! The tables of figures that come with the documentation, made by guests in counted time.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use tardy_experiment::{Column, Truth};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/truth")
}

#[test]
fn every_table_is_read_and_names_its_command() {
    let entries = std::fs::read_dir(folder()).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let tables: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "csv")).collect();
    assert!(tables.len() >= 6, "{tables:?}");
    for table in tables {
        let text = std::fs::read_to_string(&table).unwrap();
        assert!(text.contains("\n# command: tardy experiment "), "{}", table.display());
        let truth = Truth::parse(&text, "a table").unwrap();
        let counted = truth.rows.iter().filter(|row| row.get(Column::N).is_some());
        assert!(counted.count() >= 2, "{}", table.display());
    }
}

/// What the mails argue about: in hard interrupt context the worst case grows with the number of
/// threads, deferred it hardly does.
#[test]
fn stacking_grows_in_hard_interrupt_context() {
    for table in ["stacking-x86_64.csv", "stacking-armv7.csv", "stacking-policies-x86_64.csv"] {
        let truth = Truth::read(&folder().join(table)).unwrap();
        let max_ns = |condition: &str| {
            let row = truth.rows.iter().find(|row| row.condition == condition);
            row.and_then(|row| row.get(Column::Max)).unwrap_or_else(|| panic!("{condition}"))
        };
        let grown = |line: &str| max_ns(&format!("{line}-40")) - max_ns(&format!("{line}-2"));
        assert!(grown("hard") > grown("deferred"), "{table}");
        assert!(max_ns("hard-40") > max_ns("deferred-40"), "{table}");
    }
}
