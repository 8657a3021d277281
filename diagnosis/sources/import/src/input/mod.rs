//! A file, a pipe or bytes in memory, of which the beginning has been read; taken out of what it is
//! wrapped in ([`wrapping`]).

mod meter;
mod page;
mod wrapping;

pub use meter::Meter;

use crate::ImportError;
use meter::Metered;
use std::fmt;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wrapping::Wrapping;

/// How much of a file is looked at to find its format.
pub const HEAD_BYTES: usize = 64 << 10;

/// A file to be read, which is at its beginning whatever has been looked at.
///
/// As [`Read`] it can be a pipe too. Formats that need to go back and forth ask for
/// [`Input::into_contents`].
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    rest: Rest,
    head: Vec<u8>,
    /// How much of `head` has been read by the format.
    at: usize,
    /// What it was taken out of, the outermost first.
    wrapped_in: Vec<&'static str>,
}

/// A page may be compressed, and no more.
const WRAPPINGS_MAX: usize = 3;

/// What is compressed and must be read back and forth is held in memory up to this; what is longer is to be
/// decompressed first.
const CONTENTS_BYTES_MAX: u64 = 1 << 30;

/// Where what is behind the head comes from.
enum Rest {
    File(Metered),
    /// All bytes, the head's too; the next to be read behind the head is where the cursor is.
    Bytes(Cursor<Vec<u8>>),
    /// Of something that it is wrapped in.
    Unwrapped(Box<dyn Read + Send>),
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File",
            Self::Bytes(_) => "Bytes",
            Self::Unwrapped(_) => "Unwrapped",
        })
    }
}

/// All bytes of a file that is no pipe, for formats that go back and forth.
#[derive(Debug)]
pub struct Contents(Held);

#[derive(Debug)]
enum Held {
    File(Metered),
    Bytes(Vec<u8>),
}

impl Input {
    /// Opens a file; `-` is standard input. A pipe with a name, in which nobody may ever write, is none.
    ///
    /// # Errors
    /// Where it cannot be opened or read.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        Self::open_metered(path, Arc::default())
    }

    /// As [`Input::open`], and counts what is read of it.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn open_metered(path: &Path, meter: Arc<Meter>) -> Result<Self, ImportError> {
        let wrong = |source| ImportError::Io { path: path.to_owned(), source };
        let path_to_open = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let file = tardy_files::open_named(path_to_open).map_err(wrong)?;
        let file = Metered::new(file, meter);
        let mut head = Vec::new();
        (&file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(wrong)?;
        let wrapped_in = Vec::new();
        Self { path: path.to_owned(), rest: Rest::File(file), head, at: 0, wrapped_in }.unwrapped()
    }

    /// What is in it, where it is compressed, or a page in which there is a trace.
    ///
    /// # Errors
    /// Where that is damaged before anything can be read of it.
    pub fn unwrapped(self) -> Result<Self, ImportError> {
        let path = self.path.clone();
        let wrong = |source| ImportError::Io { path: path.clone(), source };
        let mut input = self;
        while input.wrapped_in.len() < WRAPPINGS_MAX
            && let Some(wrapping) = Wrapping::of(&input.head)
        {
            let mut wrapped_in = std::mem::take(&mut input.wrapped_in);
            wrapped_in.push(wrapping.name());
            let mut rest = wrapping.unwrap(Box::new(input)).map_err(wrong)?;
            let mut head = Vec::new();
            rest.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(wrong)?;
            let rest = Rest::Unwrapped(rest);
            input = Self { path: path.clone(), rest, head, at: 0, wrapped_in };
        }
        Ok(input)
    }

    /// Whether it was taken out of a page.
    pub(crate) fn is_page(&self) -> bool {
        self.wrapped_in.last() == Some(&Wrapping::Page.name())
    }

    /// What it was taken out of, in words; `None` where it is as it lies there.
    pub fn wrapped_in(&self) -> Option<String> {
        (!self.wrapped_in.is_empty()).then(|| self.wrapped_in.join(", "))
    }

    /// What is in memory already; `path` is what messages call it.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Self {
        let head = bytes[..bytes.len().min(HEAD_BYTES)].to_vec();
        let mut rest = Cursor::new(bytes);
        rest.set_position(head.len() as u64);
        let wrapped_in = Vec::new();
        Self { path: path.to_owned(), rest: Rest::Bytes(rest), head, at: 0, wrapped_in }
    }

    /// Its name, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first [`HEAD_BYTES`], or all of a shorter file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// All of it, to be read at any place.
    ///
    /// # Errors
    /// Where it is a pipe, or compressed and longer than is held in memory.
    pub fn into_contents(mut self) -> Result<Contents, ImportError> {
        let file = match self.rest {
            Rest::File(file) => file,
            Rest::Unwrapped(rest) => {
                let mut bytes = std::mem::take(&mut self.head);
                let wrong = |source| ImportError::Io { path: self.path.clone(), source };
                rest.take(CONTENTS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(wrong)?;
                if bytes.len() as u64 > CONTENTS_BYTES_MAX {
                    let gib = CONTENTS_BYTES_MAX >> 30;
                    let why = format!("it is longer than {gib} GiB: decompress it to a file first");
                    return Err(wrong(io::Error::new(io::ErrorKind::OutOfMemory, why)));
                }
                return Ok(Contents(Held::Bytes(bytes)));
            }
            Rest::Bytes(bytes) => return Ok(Contents(Held::Bytes(bytes.into_inner()))),
        };
        match (&file).seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(Contents(Held::File(file))),
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => {
                let why = "it comes from a pipe, but this format needs random access: save it to \
                    a file first";
                let source = io::Error::new(error.kind(), why);
                Err(ImportError::Io { path: self.path, source })
            }
            Err(source) => Err(ImportError::Io { path: self.path, source }),
        }
    }
}

impl Contents {
    /// How many bytes there are.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn bytes(&self) -> io::Result<u64> {
        match &self.0 {
            Held::File(file) => file.bytes(),
            Held::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Fills `buffer` with what begins at byte `at`.
    ///
    /// # Errors
    /// Where there is not as much, or it cannot be read.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match &self.0 {
            Held::File(file) => file.read_exact_at(buffer, at),
            Held::Bytes(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
                rest.unwrap_or_default().read_exact(buffer)
            }
        }
    }

    /// Reads on from the beginning. Of a file there can be one such reader at a time.
    ///
    /// # Errors
    /// Where the beginning is not to be had.
    pub fn reader(&self) -> io::Result<ContentsReader<'_>> {
        match &self.0 {
            Held::File(file) => {
                let mut file = file;
                file.seek(SeekFrom::Start(0))?;
                Ok(ContentsReader(Place::File(file)))
            }
            Held::Bytes(bytes) => Ok(ContentsReader(Place::Bytes(Cursor::new(bytes)))),
        }
    }
}

/// A place in [`Contents`].
#[derive(Debug)]
pub struct ContentsReader<'a>(Place<'a>);

#[derive(Debug)]
enum Place<'a> {
    File(&'a Metered),
    Bytes(Cursor<&'a Vec<u8>>),
}

impl Read for ContentsReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::File(file) => file.read(buffer),
            Place::Bytes(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for ContentsReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Place::File(file) => file.seek(to),
            Place::Bytes(bytes) => bytes.seek(to),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(buffer)?;
            self.at += read;
            return Ok(read);
        }
        match &mut self.rest {
            Rest::File(file) => file.read(buffer),
            Rest::Bytes(bytes) => bytes.read(buffer),
            Rest::Unwrapped(rest) => rest.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_reads_as_what_is_not() {
        use std::io::Write as _;
        let gzip = |bytes: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        };
        let zlib = |bytes: &[u8]| {
            let mut out =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        };
        let text = b"# tracer: nop\n".repeat(20_000);
        let page = [
            b"<html><script class=\"trace-data\">".as_slice(),
            &text,
            b"</script></html>".as_slice(),
        ]
        .concat();
        let atrace = [b"TRACE:\n".as_slice(), &zlib(&text)].concat();
        for (bytes, wrapped_in) in [
            (text.clone(), None),
            (gzip(&text), Some("gzip")),
            (page.clone(), Some("a page (HTML)")),
            (gzip(&page), Some("gzip, a page (HTML)")),
            (atrace, Some("atrace -z")),
        ] {
            let open = || Input::from_bytes(Path::new("x"), bytes.clone()).unwrapped().unwrap();
            let mut all = Vec::new();
            let mut input = open();
            assert_eq!(input.wrapped_in().as_deref(), wrapped_in);
            assert!(text.starts_with(input.head()) && !input.head().is_empty());
            input.read_to_end(&mut all).unwrap();
            assert!(all == text);
            assert_eq!(open().into_contents().unwrap().bytes().unwrap(), text.len() as u64);
        }
        let mut cut = gzip(&text);
        cut.truncate(cut.len() - 20);
        let error = match Input::from_bytes(Path::new("x"), cut).unwrapped() {
            Ok(mut input) => input.read_to_end(&mut Vec::new()).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("(gzip) are cut short"), "{error}");
    }

    #[test]
    fn memory_reads_as_a_file_does() {
        let bytes: Vec<u8> = (0..HEAD_BYTES as u32 + 100).flat_map(u32::to_le_bytes).collect();
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, &bytes).unwrap();
        let both =
            || [Input::open(&path).unwrap(), Input::from_bytes(Path::new("memory"), bytes.clone())];
        for mut input in both() {
            let mut all = Vec::new();
            input.read_to_end(&mut all).unwrap();
            assert!(all == bytes && input.head() == &bytes[..HEAD_BYTES]);
        }
        for input in both() {
            let contents = input.into_contents().unwrap();
            assert_eq!(contents.bytes().unwrap(), bytes.len() as u64);
            let mut some = [0; 8];
            contents.read_exact_at(&mut some, 70_000).unwrap();
            assert_eq!(some, bytes[70_000..70_008]);
            for beyond in [bytes.len() as u64 - 7, bytes.len() as u64 + 1, u64::MAX] {
                assert!(contents.read_exact_at(&mut some, beyond).is_err());
            }
            let mut reader = contents.reader().unwrap();
            reader.seek(SeekFrom::Start(100)).unwrap();
            reader.read_exact(&mut some).unwrap();
            assert_eq!(some, bytes[100..108]);
            let mut all = Vec::new();
            contents.reader().unwrap().read_to_end(&mut all).unwrap();
            assert!(all == bytes);
        }
    }
}
