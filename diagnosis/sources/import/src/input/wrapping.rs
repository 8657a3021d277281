//! What a trace may be wrapped in: compressed as a whole, or part of a page.

use super::page::Page;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use memchr::memmem;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is around a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    /// gzip.
    Gzip,
    /// What atrace writes with `-z`: some words, `TRACE:`, and zlib's data from this byte on.
    Atrace(usize),
    /// A page of systrace's.
    Page,
}

/// Compressed data may inflate to this much; no trace is as long, and what is longer was made to be.
const INFLATED_BYTES_MAX: u64 = 64 << 30;

/// Data may inflate to this many times their bytes: texts of traces do to ten or twenty times.
const INFLATED_TIMES_MAX: u64 = 100;

/// Bytes beside that.
const INFLATED_BYTES_FREE: u64 = 32 << 20;

/// Before `TRACE:` stands a sentence or two.
const WORDS_BYTES_MAX: usize = 4 << 10;

impl Wrapping {
    /// By the beginning of a file.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        const GZIP: &[u8] = &[0x1f, 0x8b, 8];
        if head.starts_with(GZIP) {
            return Some(Self::Gzip);
        }
        if let Some(at) = zlib_behind_trace(head) {
            return Some(Self::Atrace(at));
        }
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        let begins =
            |tag: &[u8]| head.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
        (begins(b"<!doctype html") || begins(b"<html")).then_some(Self::Page)
    }

    /// In words, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Atrace(_) => "atrace -z",
            Self::Page => "a page (HTML)",
        }
    }

    /// What is in it.
    pub(super) fn unwrap(
        self,
        mut input: Box<dyn Read + Send>,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => {
                let (input, read) = Counted::of(input);
                Box::new(Inflated::of(MultiGzDecoder::new(input), read, self))
            }
            Self::Atrace(at) => {
                io::copy(&mut (&mut input).take(at as u64), &mut io::sink())?;
                let (input, read) = Counted::of(input);
                Box::new(Inflated::of(ZlibDecoder::new(input), read, self))
            }
            Self::Page => Box::new(Page::new(input)),
        })
    }
}

/// Where zlib's data begin behind `TRACE:`.
fn zlib_behind_trace(head: &[u8]) -> Option<usize> {
    const WORD: &[u8] = b"TRACE:";
    let words = &head[..head.len().min(WORDS_BYTES_MAX)];
    let behind = memmem::find(words, WORD)? + WORD.len();
    let blanks = head[behind..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let at = behind + blanks;
    // Deflate with its usual window, and a check over both bytes (RFC 1950).
    let &[method, flags, ..] = head.get(at..)? else { return None };
    let is_zlib = method == 0x78 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0;
    is_zlib.then_some(at)
}

/// Inflates, within a bound, and says what is wrong in words.
struct Inflated<R> {
    inner: R,
    wrapping: Wrapping,
    left: u64,
    /// Bytes that were read to be inflated.
    read: Arc<AtomicU64>,
}

/// Counts what is read.
struct Counted {
    inner: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Counted {
    fn of(inner: Box<dyn Read + Send>) -> (Self, Arc<AtomicU64>) {
        let read = Arc::new(AtomicU64::new(0));
        (Self { inner, read: Arc::clone(&read) }, read)
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl<R> Inflated<R> {
    fn of(inner: R, read: Arc<AtomicU64>, wrapping: Wrapping) -> Self {
        Self { inner, wrapping, left: INFLATED_BYTES_MAX, read }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let name = self.wrapping.name();
        if self.left == 0 {
            let gib = INFLATED_BYTES_MAX >> 30;
            let why = format!("its data ({name}) inflate to more than {gib} GiB");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let inflated = INFLATED_BYTES_MAX - self.left;
        let read = self.read.load(Ordering::Relaxed);
        if inflated > INFLATED_BYTES_FREE + read * INFLATED_TIMES_MAX {
            let why = format!(
                "its data ({name}) inflate to more than {INFLATED_TIMES_MAX} times their bytes, \
                 which no trace does: if it is a trace, decompress it first"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        match self.inner.read(&mut buffer[..most]) {
            Ok(bytes) => {
                self.left -= bytes as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let why = if error.kind() == io::ErrorKind::UnexpectedEof {
                    format!("its data ({name}) are cut short: everything before the cut is read")
                } else {
                    format!("its data ({name}) are damaged: {error}")
                };
                Err(io::Error::new(error.kind(), why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappings_by_their_beginnings() {
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0"[..], Some(Wrapping::Gzip)),
            (b"TRACE:\n\x78\x9c\xbd", Some(Wrapping::Atrace(7))),
            (b"capturing trace... done\r\nTRACE:\r\n\x78\xda\x01", Some(Wrapping::Atrace(33))),
            (b"TRACE:\n# tracer: nop", None),
            (b"\n <!DOCTYPE html>", Some(Wrapping::Page)),
            (b"<HTML>", Some(Wrapping::Page)),
            (b"# tracer: nop", None),
            (b"", None),
        ] {
            assert_eq!(Wrapping::of(head), expected, "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn what_inflates_a_thousandfold_ends_soon() {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..256 {
            gzip.write_all(&vec![b' '; 1 << 20]).unwrap();
        }
        let bomb = gzip.finish().unwrap();
        let most = INFLATED_BYTES_FREE + (bomb.len() as u64 + 1) * INFLATED_TIMES_MAX;
        let mut inflated = Wrapping::Gzip.unwrap(Box::new(io::Cursor::new(bomb))).unwrap();
        let mut bytes = 0;
        let mut buffer = vec![0; 64 << 10];
        let error = loop {
            match inflated.read(&mut buffer) {
                Ok(0) => panic!("all of it came: {bytes}"),
                Ok(read) => bytes += read as u64,
                Err(error) => break error.to_string(),
            }
        };
        assert!(bytes < most + (64 << 10) && most < 256 << 20, "{bytes} {most}");
        assert!(error.contains("100 times") && error.contains("decompress it first"), "{error}");
    }
}
