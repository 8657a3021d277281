//! Where results go, and how loudly.

use crate::failure::Failure;
use clap::Args;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tardy_report::clean::clean;

/// Prints a line of results, as `println!` formats it. Yields an error where it cannot be written; that its reader has
/// gone is none (`tardy … | head`): the work is done all the same.
macro_rules! out {
    ($($text:tt)*) => { $crate::output::line(&format!($($text)*)) };
}
pub(crate) use out;

/// Says something beside the results, on standard error. That nobody can read it is no reason to end.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::beside(&format!($($text)*)) };
}
pub(crate) use say;

/// A line to standard output, see [`out`].
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A line to standard error, see [`say`].
pub(crate) fn beside(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Flags that every verb has.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Output {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress and no remarks, only results
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Output {
    /// A remark for people, beside the results.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            say!("{}", printable(text));
        }
    }
}

/// Text without what a terminal would obey: names of files and of threads may hold anything.
pub(crate) fn printable(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Prints a JSON document to `file`, or to standard output.
pub(crate) fn write_json(
    document: &impl serde::Serialize,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let mut out = writer(file)?;
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Standard output, or a file.
pub(crate) fn writer(file: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    match file {
        None => Ok(Box::new(BufWriter::new(io::stdout()))),
        Some(path) => Ok(Box::new(BufWriter::new(create(path)?))),
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path)
        .map_err(|error| Failure::new(format!("could not write {}: {error}", path.display())))
}

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    create(path)?
        .write_all(text.as_bytes())
        .map_err(|error| Failure::new(format!("could not write {}: {error}", path.display())))
}

/// The folder for a new recording: the one asked for, or the next free `recordings/NAME-N`.
pub(crate) fn recording_folder(asked: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    new_folder(asked, crate::recordings::FOLDER, name)
}

/// Where folders of a kind go that nobody puts elsewhere: below the current one, else the temporary one.
pub(crate) fn homes(what: &str) -> [PathBuf; 2] {
    [PathBuf::from(what), std::env::temp_dir().join(format!("tardy-{what}"))]
}

/// The one asked for, or the next free `WHAT/NAME-N`, below the current folder or, where nothing can
/// be written there, below the system's temporary one.
pub(crate) fn new_folder(asked: Option<&Path>, what: &str, name: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        return Ok(path.to_owned());
    }
    let mut refused = None;
    for base in homes(what) {
        match next_free(&base, name) {
            Ok(path) => return Ok(path),
            Err(error) => refused = Some((base, error)),
        }
    }
    let (base, error) = refused.expect("two folders were tried");
    Err(Failure::new(format!(
        "could not make a folder in {}: {error}; name one with -o",
        base.display()
    )))
}

fn next_free(base: &Path, name: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(base)?;
    for number in 1u32.. {
        let path = base.join(format!("{name}-{number}"));
        // Making it is also the claim on it.
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there are not that many folders")
}
