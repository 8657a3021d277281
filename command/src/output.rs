//! Where results go, and how loudly.

use crate::document::Document;
use crate::failure::Failure;
use crate::manners;
use clap::Args;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use tardy_files::{Access, Folder, NewFile};
use tardy_recording::WriteError;
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

/// Standard output as it is, for what no terminal can be commanded by: JSON, and what tardy made all by itself.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub(crate) fn raw() -> io::Stdout {
    io::stdout()
}

/// Standard error as it is, for the same.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub(crate) fn raw_error() -> io::Stderr {
    io::stderr()
}

/// A line to standard output, see [`out`].
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = raw().lock();
    match writeln!(stdout, "{}", printable(text)).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A line to standard error, see [`say`].
pub(crate) fn beside(text: &str) {
    let _ = writeln!(raw_error().lock(), "{}", printable(text));
}

/// How results are printed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Output {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

impl Output {
    /// A remark for people, beside the results: one line.
    #[expect(
        clippy::unused_self,
        reason = "a verb that prints no results has no remarks about them"
    )]
    pub(crate) fn remark(&self, text: &str) {
        if !manners::is_quiet() {
            say!("{}", one_line(text));
        }
    }

    /// Whether progress is out of place: the user wants none, or it would run into the document.
    pub(crate) fn hides_progress(&self) -> bool {
        manners::is_quiet() || (self.json && raw().is_terminal())
    }
}

/// Text without what a terminal would obey: names of files and of threads may hold anything.
pub(crate) fn printable(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(clean).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The same on one line: what is listed may have names with line ends, which would look like entries.
pub(crate) fn one_line(text: &str) -> String {
    clean(text)
}

/// The same where there may be several lines: none but the first begins where one of ours would.
pub(crate) fn indented(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n  ")
}

/// A report as a terminal may get it: colours, which are ours, and beside them nothing that it would obey, whatever a
/// section has overlooked.
pub(crate) fn coloured(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find(ESCAPE) {
        out += &printable(&rest[..at]);
        rest = &rest[at..];
        let length = colour(rest).unwrap_or(0);
        out += &rest[..length];
        rest = &rest[length..];
        if length == 0 {
            out += &clean(ESCAPE);
            rest = &rest[ESCAPE.len()..];
        }
    }
    out + &printable(rest)
}

const ESCAPE: &str = "\u{1b}";

/// How long the sequence is with which a text begins, where it does nothing but choose how letters look.
fn colour(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\u{1b}[")?;
    let ends = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    inner[ends..].starts_with('m').then_some(ESCAPE.len() + 1 + ends + 1)
}

/// Prints a JSON document to `file`, or to standard output.
pub(crate) fn write_json(
    document: &impl serde::Serialize,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let mut text = Document::new(Vec::new());
    serde_json::to_writer_pretty(&mut text, document)?;
    text.write_all(b"\n")?;
    let text = text.into_inner();
    match file {
        None => Ok(raw().lock().write_all(&text).and_then(|()| raw().flush())?),
        Some(path) => Writer::Memory(text, path.to_owned()).finish(),
    }
}

/// Where results go, gathered until all is there: standard output, [`coloured`], or a file.
pub(crate) enum Writer {
    Stdout(Vec<u8>),
    Memory(Vec<u8>, PathBuf),
}

impl Writer {
    /// All has been written. Without this a file does not come to be.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(text) => {
                let mut stdout = raw().lock();
                Ok(stdout.write_all(coloured(&text).as_bytes()).and_then(|()| stdout.flush())?)
            }
            Self::Memory(text, path) => {
                let written = write_bytes(&path, &text);
                if written.is_err() {
                    // What was measured is told, wherever it was to go.
                    raw().lock().write_all(&text)?;
                }
                written
            }
        }
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(text) | Self::Memory(text, _) => text.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output, or a file of results that fit into memory.
pub(crate) fn writer(file: Option<&Path>) -> Writer {
    match file {
        None => Writer::Stdout(Vec::new()),
        Some(path) => Writer::Memory(Vec::new(), path.to_owned()),
    }
}

/// A file of results that need not fit into memory.
pub(crate) struct Stream(BufWriter<NewFile>, PathBuf);

impl Stream {
    /// Begins the file.
    pub(crate) fn begin(path: &Path) -> Result<Self, Failure> {
        let file = tardy_files::create(path, access_beside(path));
        let file = file.map_err(|error| cannot_write(path, &error))?;
        Ok(Self(BufWriter::new(file), path.to_owned()))
    }

    /// All has been written.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let kept = self.0.into_inner().map_err(io::IntoInnerError::into_error);
        kept.and_then(NewFile::keep).map_err(|error| cannot_write(&self.1, &error))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes a whole file.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes())
}

/// Writes a whole file under a name that is tardy's own choice: what has that name there, a link too, is replaced.
pub(crate) fn write_page(path: &Path, text: &str) -> Result<(), Failure> {
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name());
    let written = Folder::open(folder).and_then(|folder| {
        folder.replace(name.unwrap_or_default(), text.as_bytes(), folder.access()?)
    });
    written.or_else(|error| kept_elsewhere(path, text.as_bytes(), error))
}

/// Writes a whole file; where it cannot be, one in a folder of ours, and the error says where.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    tardy_files::replace(path, bytes, access_beside(path))
        .or_else(|error| kept_elsewhere(path, bytes, error))
}

fn kept_elsewhere(path: &Path, bytes: &[u8], error: io::Error) -> Result<(), Failure> {
    let failure = cannot_write(path, &error);
    // A pipe whose reader has gone wants nothing kept.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Err(error.into());
    }
    let name = path.file_name().unwrap_or("results".as_ref());
    let kept = new_folder(None, "results", "kept").map(|folder| folder.join(name));
    match kept.map(|kept| (tardy_files::replace(&kept, bytes, Access::Private), kept)) {
        Ok((Ok(()), kept)) => {
            Err(Failure::new(format!("{failure}; it is in {} instead", kept.display())))
        }
        _ => Err(failure),
    }
}

/// Finds out, before anything is measured, whether files can be written that are to be in the end.
pub(crate) fn must_be_writable<'a>(
    files: impl IntoIterator<Item = Option<&'a Path>>,
) -> Result<(), Failure> {
    for path in files.into_iter().flatten() {
        let begun = tardy_files::create(path, access_beside(path));
        // Dropped, it leaves nothing.
        begun.map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

/// What lies in a folder that is closed to others is, too.
fn access_beside(path: &Path) -> Access {
    Folder::open(folder_of(path)).and_then(|folder| folder.access()).unwrap_or(Access::Usual)
}

/// The folder that something is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("could not write {}: {error}", path.display()))
}

/// Where results of a recording go that lie in it: there, or, where it is another user's or cannot be written to, in
/// a new folder of the reader's own, which is said.
pub(crate) fn place_for(recording: &Path, output: &Output) -> Result<PathBuf, Failure> {
    if Folder::open(recording).is_ok_and(|folder| folder.is_ours()) {
        return Ok(recording.to_owned());
    }
    let name = recording.file_name().unwrap_or(recording.as_os_str()).to_string_lossy();
    let place = new_folder(None, "reports", &name)?;
    output.remark(&format!(
        "{} belongs to another user or cannot be written to: the results go to {}",
        recording.display(),
        place.display()
    ));
    Ok(place)
}

/// The folder for a new recording: the one asked for, or the next free `recordings/NAME-N`.
///
/// One that cannot be a recording's is refused here, before anything is measured.
pub(crate) fn recording_folder(asked: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    if let Some(path) = asked {
        let cannot = |error: &io::Error| {
            Failure::new(format!(
                "cannot create {}: {error}; name a folder that you may write to",
                path.display()
            ))
        };
        let folder = Folder::make(path, Access::Private).map_err(|error| cannot(&error))?;
        if !folder.is_empty().map_err(|error| cannot(&error))? {
            return Err(WriteError::Exists { dir: path.to_owned() }.into());
        }
        if !folder.is_ours() {
            return Err(cannot(&io::Error::other("it belongs to another user, or is read-only")));
        }
    }
    new_folder(asked, crate::recordings::FOLDER, name)
}

/// Removes the folder of a recording that nobody has a use for, with what is in it.
pub(crate) fn discard(folder: &Path) {
    let Some(name) = folder.file_name() else { return };
    // Where it cannot be removed, it stays: that is no failure of what was asked for.
    let _ = Folder::open(folder_of(folder)).and_then(|parent| parent.remove_all(name));
}

/// Where folders of a kind go that nobody puts elsewhere: below the current one, else in the temporary one, under a
/// name that each user has for himself.
pub(crate) fn homes(what: &str) -> [PathBuf; 2] {
    let user = rustix::process::geteuid().as_raw();
    [PathBuf::from(what), std::env::temp_dir().join(format!("tardy-{what}-{user}"))]
}

/// The one asked for, or the next free `WHAT/NAME-N`, below the current folder or, where nothing can
/// be written there or what is there is another user's, below the system's temporary one.
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

/// A folder of ours, which is made where it is not there: no link, and closed to others if it is new.
pub(crate) fn own_folder(path: &Path) -> io::Result<Folder> {
    let folder = match Folder::make_new(path, Access::Private) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Folder::open(path)?,
        made => made?,
    };
    if folder.is_ours() {
        return Ok(folder);
    }
    let why = "it belongs to another user, or cannot be written to";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

fn next_free(base: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = own_folder(base)?;
    for number in 1u32.. {
        let name = format!("{name}-{number}");
        // Making it is also the claim on it.
        match folder.make_folder(&name, Access::Private) {
            Ok(_) => return Ok(base.join(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there are not that many folders")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_no_lines() {
        assert_eq!(one_line("a\nb\r\tc\u{1b}"), "a\\u{a}b\\u{d}\\u{9}c\\u{1b}");
        assert_eq!(indented("a\ntardy: b\r"), "a\n  tardy: b\\u{d}");
    }

    #[test]
    fn a_terminal_gets_colours_and_nothing_else_to_obey() {
        let report = "\u{1b}[1mLate\u{1b}[0m\ta\nb \u{1b}[38;5;208mx\u{1b}[m";
        assert_eq!(coloured(report.as_bytes()), report);
        for (hostile, shown) in [
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[1;", "\\u{1b}[1;"),
            ("\u{1b}", "\\u{1b}"),
            ("\u{9b}2J\r", "\\u{9b}2J\\u{d}"),
            ("\u{1b}[0m\u{1b}c", "\u{1b}[0m\\u{1b}c"),
        ] {
            assert_eq!(coloured(hostile.as_bytes()), shown);
        }
    }
}
