//! What a trace may be wrapped in: compressed as a whole, or part of a page.

use super::page::Page;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use memchr::memmem;
use std::io::{self, Read};

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
            Self::Gzip => Box::new(Inflated::of(MultiGzDecoder::new(input), self)),
            Self::Atrace(at) => {
                io::copy(&mut (&mut input).take(at as u64), &mut io::sink())?;
                Box::new(Inflated::of(ZlibDecoder::new(input), self))
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
}

impl<R> Inflated<R> {
    fn of(inner: R, wrapping: Wrapping) -> Self {
        Self { inner, wrapping, left: INFLATED_BYTES_MAX }
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
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        match self.inner.read(&mut buffer[..most]) {
            Ok(bytes) => {
                self.left -= bytes as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let why = if error.kind() == io::ErrorKind::UnexpectedEof {
                    format!("its data ({name}) are cut short: what stands before the cut is read")
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
}
