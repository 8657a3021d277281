//! A `DuckDB` database with the tables `events`, `wakeups` and `segments`, which are those of the
//! `parquet` format.
//!
//! `DuckDB` itself makes it, of Parquet files in a temporary folder beside it: the program `duckdb` if
//! there is one, else Python's module. Compiled in, it would be larger than all of tardy.

use super::parquet::Tables;
use crate::output::needs_a_path;
use crate::{About, Export, ExportError, Format};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tardy_explain::{Explanation, Named};
use tardy_files::Access;
use tardy_model::Batch;
use tempfile::TempDir;

pub(super) struct DuckDb;

impl Format for DuckDb {
    fn name(&self) -> &'static str {
        "duckdb"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["duckdb", "ddb"]
    }

    fn meaning(&self) -> &'static str {
        "a DuckDB database with the tables events, wakeups and segments (needs duckdb)"
    }

    fn create(&self, path: &Path, _: &About) -> Result<Box<dyn Export>, ExportError> {
        needs_a_path(path, "a database")?;
        // A rename takes the place of whatever is there, a device or a link to one as well.
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(ExportError::Needs(format!(
                "a DuckDB database is a single file, but {} is something else: name a file with -o",
                path.display()
            )));
        }
        // Before anything is read, which may take long.
        let maker = Maker::find()?;
        let beside = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let temporary = tempfile::Builder::new()
            .prefix(".tardy-export-")
            .tempdir_in(beside)
            .map_err(|error| ExportError::io(beside, error))?;
        let tables = Tables::create(&temporary.path().join("tables"))?;
        Ok(Box::new(Database { tables, maker, path: path.to_owned(), temporary }))
    }
}

struct Database {
    tables: Tables,
    maker: Maker,
    path: PathBuf,
    /// Last, so that it goes after what is in it.
    temporary: TempDir,
}

/// What makes the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Program,
    Python,
}

const DUCKDB: &str = "duckdb";
const PYTHON: &str = "python3";

/// Python takes modules neither from the current folder, which anybody may have filled, nor from its user's.
const ISOLATED: &str = "-I";

const TABLES: [&str; 3] = ["events", "wakeups", "segments"];

impl Maker {
    fn find() -> Result<Self, ExportError> {
        let works = |program: &str, arguments: &[&str]| {
            let command = tardy_programs::command(program).map(|mut command| {
                command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()
            });
            matches!(command, Ok(Ok(status)) if status.success())
        };
        if works(DUCKDB, &["--version"]) {
            Ok(Self::Program)
        } else if works(PYTHON, &[ISOLATED, "-c", "import duckdb"]) {
            Ok(Self::Python)
        } else {
            Err(ExportError::Needs(
                "neither the program duckdb nor its Python module is installed: get it with `pip \
                 install duckdb`, or use --format parquet and load it elsewhere with `CREATE TABLE \
                 events AS FROM 'events.parquet'`"
                    .to_owned(),
            ))
        }
    }

    /// A command that runs `sql` in the database file `path`.
    fn command(self, path: &Path, sql: &str) -> io::Result<Command> {
        let (program, arguments): (_, &[&OsStr]) = match self {
            // No file of settings of whoever runs it.
            Self::Program => (DUCKDB, &["-init".as_ref(), "/dev/null".as_ref(), "-batch".as_ref()]),
            Self::Python => (
                PYTHON,
                &[
                    ISOLATED.as_ref(),
                    "-c".as_ref(),
                    "import duckdb, sys\n\
                     try: duckdb.connect(sys.argv[1]).execute(sys.argv[2])\n\
                     except duckdb.Error as error: sys.exit(str(error))"
                        .as_ref(),
                    path.as_os_str(),
                ],
            ),
        };
        let mut command = tardy_programs::command(program)?;
        command.args(arguments);
        match self {
            Self::Program => command.arg(path).arg(sql),
            Self::Python => command.arg(sql),
        };
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(command)
    }
}

/// What makes a table of each file in `folder`.
fn sql(folder: &str) -> String {
    let folder = folder.replace('\'', "''");
    let mut sql = String::new();
    for table in TABLES {
        // Writing to a String does not fail.
        let _ = writeln!(
            sql,
            "CREATE TABLE {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet');"
        );
    }
    sql
}

impl Database {
    /// Gives the database that was made its name.
    fn keep(&self, made: &Path) -> io::Result<()> {
        let mut out = tardy_files::create(&self.path, Access::Usual)?;
        io::copy(&mut tardy_files::open(made)?, &mut out)?;
        out.keep()
    }
}

impl Export for Database {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExportError> {
        self.tables.batch(batch)
    }

    fn wakeup(&mut self, wakeup: &Named<'_>) -> Result<(), ExportError> {
        self.tables.wakeup(wakeup)
    }

    fn finish(mut self: Box<Self>, _: &Explanation) -> Result<(), ExportError> {
        self.tables.finish_tables()?;
        let folder = self.temporary.path().join("tables");
        let folder = folder.to_str().ok_or_else(|| {
            let path = self.path.display();
            ExportError::Needs(format!("DuckDB needs a path in UTF-8: {path}"))
        })?;
        let made = self.temporary.path().join("made.duckdb");
        let output =
            self.maker.command(&made, &sql(folder)).and_then(|mut command| command.output());
        let output = output.map_err(|error| ExportError::io(&self.path, error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            return Err(ExportError::Needs(format!(
                "DuckDB could not make {}: {}",
                self.path.display(),
                said.unwrap_or("it gave no reason")
            )));
        }
        self.keep(&made).map_err(|error| ExportError::io(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_path_stays_in_it() {
        let sql = sql("/tmp/it's");
        assert!(sql.starts_with(
            "CREATE TABLE events AS SELECT * FROM read_parquet('/tmp/it''s/events.parquet');\n"
        ));
        assert_eq!(sql.lines().count(), 3);
    }
}
