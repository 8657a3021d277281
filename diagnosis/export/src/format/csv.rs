//! A folder with `events.csv`, `wakeups.csv` and `segments.csv`: the tables of the `parquet` format as
//! text (RFC 4180), for spreadsheets. What is null there is an empty field here.

use super::parquet::make_folder;
use crate::event_row::{EVENT_COLUMNS, EventRows};
use crate::output::{Output, needs_a_path};
use crate::rows::{Row, WakeupRows};
use crate::{About, Export, ExportError, Format};
use csv::{Terminator, Writer, WriterBuilder};
use std::fmt::{Display, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tardy_explain::{Explanation, Named};
use tardy_model::Batch;
use tardy_recording::parquet_file::Value;
use tardy_recording::tables::{SegmentRow, WakeupRow};

pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn meaning(&self) -> &'static str {
        "a folder with events.csv, wakeups.csv and segments.csv"
    }

    fn create(&self, path: &Path, about: &About) -> Result<Box<dyn Export>, ExportError> {
        needs_a_path(path, "a folder of tables")?;
        let is_ours = make_folder(path)?;
        let events: Vec<_> = EVENT_COLUMNS.iter().map(|column| column.name).collect();
        let table = |name: &str, columns: &[&str]| {
            let path = path.join(name);
            Table::create(&path, columns, about.no_formulas)
        };
        Ok(Box::new(Tables {
            rows: EventRows::default(),
            wakeup_rows: WakeupRows::default(),
            files: Some([
                table("events.csv", &events)?,
                table("wakeups.csv", &WakeupRow::COLUMNS)?,
                table("segments.csv", &SegmentRow::COLUMNS)?,
            ]),
            folder: is_ours.then(|| path.to_owned()),
        }))
    }
}

struct Tables {
    rows: EventRows,
    wakeup_rows: WakeupRows,
    /// Events, wakeups, segments; `None` once they are finished.
    files: Option<[Table; 3]>,
    /// The folder, where it is to go if this is not finished.
    folder: Option<PathBuf>,
}

/// A file, and room for a value.
struct Table {
    writer: Writer<Output>,
    text: String,
    no_formulas: bool,
}

impl Table {
    fn create(path: &Path, columns: &[&str], no_formulas: bool) -> Result<Self, ExportError> {
        let out = Output::create(path)?;
        let writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
        let mut table = Self { writer, text: String::new(), no_formulas };
        let written = table.writer.write_record(columns);
        table.check(written)?;
        Ok(table)
    }

    fn push(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        for value in values {
            let written = match *value {
                Value::U64(value) => self.put(Some(value)),
                Value::U32(value) => self.put(Some(value)),
                Value::I32(value) => self.put(Some(value)),
                Value::Bool(value) => self.put(Some(value)),
                Value::Text(value) => self.put_text(Some(value)),
                Value::OptionalU64(value) => self.put(value),
                Value::OptionalI64(value) => self.put(value),
                Value::OptionalU32(value) => self.put(value),
                Value::OptionalI32(value) => self.put(value),
                Value::OptionalBool(value) => self.put(value),
                Value::OptionalText(value) => self.put_text(value),
            };
            self.check(written)?;
        }
        let written = self.writer.write_record(None::<&[u8]>);
        self.check(written)
    }

    fn put(&mut self, value: Option<impl Display>) -> csv::Result<()> {
        self.text.clear();
        if let Some(value) = value {
            // Writing to a String does not fail.
            let _ = write!(self.text, "{value}");
        }
        self.writer.write_field(&self.text)
    }

    /// A spreadsheet takes what begins so for a formula, and a name may be anybody's; behind a quote it is text.
    fn put_text(&mut self, value: Option<&str>) -> csv::Result<()> {
        let is_formula = |text: &str| text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        match value {
            Some(text) if self.no_formulas && is_formula(text) => {
                self.put(Some(format!("'{text}")))
            }
            value => self.put(value),
        }
    }

    fn check(&self, written: csv::Result<()>) -> Result<(), ExportError> {
        written.map_err(|error| {
            let source = match error.into_kind() {
                csv::ErrorKind::Io(source) => source,
                other => io::Error::other(format!("{other:?}")),
            };
            ExportError::io(self.writer.get_ref().path(), source)
        })
    }

    fn finish(mut self) -> Result<(), ExportError> {
        let flushed = self.writer.flush().map_err(csv::Error::from);
        self.check(flushed)?;
        match self.writer.into_inner() {
            Ok(out) => out.finish(),
            Err(error) => {
                let source = io::Error::new(error.error().kind(), error.error().to_string());
                Err(ExportError::io(error.into_inner().get_ref().path(), source))
            }
        }
    }
}

impl Export for Tables {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let Some([events, ..]) = &mut self.files else { return Ok(()) };
        batch.define(&mut self.rows.tables);
        batch.events.iter().try_for_each(|event| events.push(&self.rows.row(event).values()))
    }

    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        let Some([_, wakeups, segments]) = &mut self.files else { return Ok(()) };
        self.wakeup_rows.rows(wakeup, |row| match row {
            Row::Wakeup(row) => wakeups.push(&row.values()),
            Row::Segment(row) => segments.push(&row.values()),
        })
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        for table in self.files.take().into_iter().flatten() {
            table.finish()?;
        }
        self.folder = None;
        Ok(())
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        self.files = None;
        if let Some(folder) = &self.folder {
            // It was made for these files, which are gone.
            let _ = fs::remove_dir(folder);
        }
    }
}
