//! The table on file: CSV, after lines that begin with `#` and say where it is from.
//!
//! Columns: `condition`, then what varies, then `series`, then those of [`Column`], then other
//! figures. What is not known is an empty cell. Columns of [`Column`] may be left out.

use super::{CONDITION, Column, SERIES, Truth, TruthRow};
use csv::{ReaderBuilder, StringRecord, Terminator, Trim, WriterBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Figures are written to so many parts of their unit: a ratio's digits beyond are noise.
const DIGITS: f64 = 1e4;

/// The first line.
const MARK: &str = "# tardy figures 1";

/// The most bytes that are read.
const BYTES_MAX: u64 = 16 << 20;

/// The most rows, and the most columns.
const ROWS_MAX: usize = 65_536;
const COLUMNS_MAX: usize = 512;

/// Why a file is no table of figures.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TruthError {
    /// It could not be read.
    #[error("could not read {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is none.
    #[error(
        "{origin} is no table of an experiment's figures: {why}; `--csv FILE` of tardy experiment and tardy report writes one"
    )]
    Garbled {
        /// Which.
        origin: String,
        /// Why.
        why: String,
    },
}

impl Truth {
    /// Whether a file begins as a table does.
    pub fn is_one(path: &Path) -> bool {
        let mut head = Vec::new();
        let read = tardy_files::open_named(path)
            .map(|file| file.take(MARK.len() as u64).read_to_end(&mut head));
        matches!(read, Ok(Ok(_))) && head == MARK.as_bytes()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, TruthError> {
        let wrong = |source| TruthError::Read { path: path.to_owned(), source };
        let mut text = String::new();
        let file = tardy_files::open_named(path).map_err(wrong)?;
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(wrong)?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Reads a text; `origin` is its name for errors.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str, origin: &str) -> Result<Self, TruthError> {
        let garbled = |why| TruthError::Garbled { origin: origin.to_owned(), why };
        if text.len() as u64 > BYTES_MAX {
            return Err(garbled(format!("it is longer than {} MiB", BYTES_MAX >> 20)));
        }
        parse(text).map_err(garbled)
    }

    /// The text of it.
    pub fn to_csv(&self) -> String {
        let mut out = format!("{MARK}\n");
        for (name, value) in &self.head {
            let line: String = value.chars().filter(|c| !c.is_control()).collect();
            out.extend(["# ", name, ": ", &line, "\n"]);
        }
        let mut writer =
            WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(Vec::new());
        let fixed = Column::ALL.map(|column| column.name().to_owned());
        let heads = [CONDITION.to_owned()]
            .into_iter()
            .chain(self.parameters.iter().cloned())
            .chain([SERIES.to_owned()])
            .chain(fixed)
            .chain(self.figures.iter().cloned());
        writer.write_record(heads).expect("memory takes it");
        for row in &self.rows {
            let at = |name: &String| row.at.get(name).cloned().unwrap_or_default();
            let fixed = Column::ALL.map(|column| written(row.get(column)));
            let rounded = |value: &f64| (value * DIGITS).round() / DIGITS;
            let figure = |name| written(row.figures.get(name).map(rounded));
            let cells = [row.condition.clone()]
                .into_iter()
                .chain(self.parameters.iter().map(at))
                .chain([row.series.clone()])
                .chain(fixed)
                .chain(self.figures.iter().map(figure));
            writer.write_record(cells).expect("memory takes it, and all rows are as long");
        }
        let text = writer.into_inner().expect("memory takes it");
        out.push_str(&String::from_utf8_lossy(&text));
        out
    }
}

fn written(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// What stands in each column.
enum Holds {
    Condition,
    Parameter(String),
    Series,
    Latency(Column),
    Figure(String),
}

fn parse(text: &str) -> Result<Truth, String> {
    let Some(rest) = text.strip_prefix(MARK).filter(|rest| rest.starts_with(['\n', '\r'])) else {
        return Err(format!("it does not begin with {MARK:?}"));
    };
    let mut truth = Truth::default();
    let mut rest = rest.trim_start_matches(['\r', '\n']);
    while let Some(line) = rest.strip_prefix('#') {
        let (line, after) = line.split_once('\n').unwrap_or((line, ""));
        if let Some((name, value)) = line.split_once(':').filter(|_| truth.head.len() < COLUMNS_MAX)
        {
            truth.head.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        rest = after;
    }
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(rest.as_bytes());
    let columns = columns(reader.headers().map_err(|error| error.to_string())?)?;
    for column in &columns {
        match column {
            Holds::Parameter(name) => truth.parameters.push(name.clone()),
            Holds::Figure(name) => truth.figures.push(name.clone()),
            _ => {}
        }
    }
    let mut seen = BTreeSet::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let row = row(&record, &columns).map_err(|why| {
            let line = record.position().map_or(0, csv::Position::line);
            format!("line {line} behind its head: {why}")
        })?;
        if !seen.insert((row.condition.clone(), row.series.clone())) {
            return Err(format!("it has two rows of {} {}", row.condition, row.series));
        }
        truth.rows.push(row);
        if truth.rows.len() > ROWS_MAX {
            return Err(format!("it has more than {ROWS_MAX} rows"));
        }
    }
    Ok(truth)
}

fn columns(heads: &StringRecord) -> Result<Vec<Holds>, String> {
    if heads.len() > COLUMNS_MAX {
        return Err(format!("it has {} columns, more than {COLUMNS_MAX}", heads.len()));
    }
    let names: BTreeSet<&str> = heads.iter().collect();
    if names.len() != heads.len() || names.contains("") {
        return Err("two of its columns have the same name, or one has none".to_owned());
    }
    if heads.get(0) != Some(CONDITION) {
        return Err(format!("its first column is not `{CONDITION}`"));
    }
    if !names.contains(SERIES) {
        return Err(format!("it has no column `{SERIES}`"));
    }
    let mut is_before_series = true;
    let holds = |head: &str| {
        if head == CONDITION {
            return Holds::Condition;
        }
        if head == SERIES {
            is_before_series = false;
            return Holds::Series;
        }
        let latency = Column::ALL.into_iter().find(|column| column.name() == head);
        match latency {
            Some(column) => Holds::Latency(column),
            None if is_before_series => Holds::Parameter(head.to_owned()),
            None => Holds::Figure(head.to_owned()),
        }
    };
    Ok(heads.iter().map(holds).collect())
}

fn row(record: &StringRecord, columns: &[Holds]) -> Result<TruthRow, String> {
    let mut row = TruthRow { at: BTreeMap::new(), ..TruthRow::default() };
    for (cell, holds) in record.iter().zip(columns) {
        if cell.is_empty() {
            continue;
        }
        match holds {
            Holds::Condition => cell.clone_into(&mut row.condition),
            Holds::Series => cell.clone_into(&mut row.series),
            Holds::Parameter(name) => {
                row.at.insert(name.clone(), cell.to_owned());
            }
            Holds::Latency(column) => {
                let value = cell
                    .parse()
                    .map_err(|_| format!("{} is {cell:?}, not a whole number", column.name()))?;
                row.set(*column, Some(value));
            }
            Holds::Figure(name) => {
                let value: f64 = cell
                    .parse()
                    .ok()
                    .filter(|value: &f64| value.is_finite())
                    .ok_or_else(|| format!("{name} is {cell:?}, not a number"))?;
                row.figures.insert(name.clone(), value);
            }
        }
    }
    if row.condition.is_empty() { Err("it names no condition".to_owned()) } else { Ok(row) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# tardy figures 1
# command: tardy experiment stacking-curve --seed 1
# clock: counted, 500 MIPS
condition,context,threads,series,n,rounds,min_ns,mean_ns,p50_ns,p99_ns,p999_ns,max_ns,mean_low_ns,mean_high_ns,max_low_ns,overruns
idle,,0,cyclic-0,1000,2,5000,7200,7100,9000,,10000,7190,7210,9900,0
hard-10,hard irq,10,\"a, b\",1000,1,5000,8081,8000,12000,,18000,8081,8081,18000,0.5
";

    #[test]
    fn what_is_written_is_read_again() {
        let truth = Truth::parse(TEXT, "text").unwrap();
        assert_eq!(truth.told("clock"), Some("counted, 500 MIPS"));
        assert_eq!(truth.parameters, ["context", "threads"]);
        assert_eq!(truth.figures, ["overruns"]);
        let [idle, hard] = &truth.rows[..] else { panic!("two rows") };
        assert_eq!((idle.at.get("context"), idle.at["threads"].as_str()), (None, "0"));
        assert_eq!((hard.get(Column::Mean), hard.get(Column::P999)), (Some(8081), None));
        assert_eq!((hard.series.as_str(), hard.figures["overruns"]), ("a, b", 0.5));
        assert_eq!(truth.to_csv(), TEXT);
    }

    #[test]
    fn a_prediction_needs_few_columns() {
        let text = "# tardy figures 1\r\ncondition,series,mean_ns,max_ns\r\nidle,, 7200 ,\r\n";
        let truth = Truth::parse(text, "text").unwrap();
        assert_eq!(truth.rows[0].get(Column::Mean), Some(7200));
        assert_eq!(truth.rows[0].get(Column::Max), None);
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        for (from, to, said) in [
            ("# tardy figures 1\n", "", "does not begin with"),
            ("# tardy figures 1\n", "# tardy figures 10\n", "does not begin with"),
            ("condition,", "name,", "first column is not `condition`"),
            ("series,", "thread,", "no column `series`"),
            ("threads,", "context,", "the same name"),
            (",8081,8000", ",8.1,8000", "line 3 behind its head: mean_ns is \"8.1\", not a whole"),
            ("0.5\n", "inf\n", "overruns is \"inf\", not a number"),
            ("hard-10,", ",", "names no condition"),
            ("hard-10,hard irq,10,\"a, b\"", "idle,,10,cyclic-0", "two rows of idle cyclic-0"),
            ("9900,0\n", "9900\n", "record"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            assert_ne!(text, TEXT, "{from}");
            let error = Truth::parse(&text, "text").unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures.csv");
        assert!(!Truth::is_one(&path));
        std::fs::write(&path, TEXT).unwrap();
        assert!(Truth::is_one(&path));
        std::fs::write(&path, [b"# tardy figures 1\n".as_slice(), &[0xff; 9]].concat()).unwrap();
        assert!(Truth::read(&path).is_err());
    }

    #[test]
    fn cut_anywhere_it_is_read_or_refused() {
        for end in 0..TEXT.len() {
            if let Ok(truth) = Truth::parse(&TEXT[..end], "text") {
                assert!(truth.rows.len() <= 2);
            }
        }
    }
}
