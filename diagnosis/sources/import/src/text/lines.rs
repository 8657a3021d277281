//! Lines of a file or a pipe, without copying them, in bounded memory.

use memchr::memchr;
use std::io::{self, ErrorKind, Read};

/// How much is read at once, at most.
const BLOCK_BYTES: usize = 256 << 10;

/// How much is read at first: most of small files would else be the clearing of memory for large ones.
const FIRST_BYTES: usize = 16 << 10;

/// The longest line that is looked at. Longer ones are left out and counted.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// Of a longer line the end is not looked for: a file with holes has terabytes of it on no disk.
const LOOKED_FOR_BYTES_MAX: u64 = 256 << 20;

/// A line, with a look at the one after it: an event may go on there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Without what ends it.
    pub(crate) text: &'a [u8],
    /// The next one; empty at the end.
    pub(crate) next: &'a [u8],
    /// From 1.
    pub(crate) number: u64,
    /// It has its end: the last line of a file that was cut short has none.
    pub(crate) is_whole: bool,
}

/// Reads lines. Holds at most two of them and a block.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where the first line that is held begins.
    at: usize,
    filled: usize,
    ended: bool,
    /// Where lines end that have been found, counted from `at`, and their numbers.
    first: Option<(usize, u64)>,
    second: Option<(usize, u64)>,
    found: u64,
    too_long: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            filled: 0,
            ended: false,
            first: None,
            second: None,
            found: 0,
            too_long: 0,
        }
    }

    /// What is read from.
    pub(crate) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Lines longer than [`LINE_BYTES_MAX`], which were left out.
    pub(crate) fn too_long(&self) -> u64 {
        self.too_long
    }

    /// The next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if let Some((end, _)) = self.first.take() {
            // The last line may have no end to step over.
            let bytes = (end + 1).min(self.filled - self.at);
            self.at += bytes;
            self.first = self.second.take().map(|(end, number)| (end - bytes, number));
        }
        if self.first.is_none() {
            self.first = self.find(0)?;
        }
        let Some((end, number)) = self.first else { return Ok(None) };
        self.second = self.find(end + 1)?;
        let held = &self.buffer[self.at..self.filled];
        Ok(Some(Line {
            text: without_end(&held[..end]),
            next: self.second.map_or(&[], |(next_end, _)| without_end(&held[end + 1..next_end])),
            number,
            is_whole: end < held.len(),
        }))
    }

    /// Where the line ends that begins at `from`, counted from `at`.
    fn find(&mut self, from: usize) -> io::Result<Option<(usize, u64)>> {
        let mut scanned = from;
        loop {
            let held = &self.buffer[self.at..self.filled];
            if let Some(found) = held.get(scanned..).and_then(|rest| memchr(b'\n', rest)) {
                let end = scanned + found;
                self.found += 1;
                if end - from <= LINE_BYTES_MAX {
                    return Ok(Some((end, self.found)));
                }
                self.too_long += 1;
                self.drop_held(from, end + 1);
                scanned = from;
                continue;
            }
            let bytes = held.len();
            if bytes.saturating_sub(from) > LINE_BYTES_MAX {
                self.found += 1;
                self.too_long += 1;
                self.skip_line(from)?;
                scanned = from;
                continue;
            }
            if self.ended {
                self.found += u64::from(bytes > from);
                return Ok((bytes > from).then_some((bytes, self.found)));
            }
            scanned = bytes.max(from);
            self.fill()?;
        }
    }

    /// Reads on until the end of a line, of which nothing is kept.
    fn skip_line(&mut self, from: usize) -> io::Result<()> {
        let mut skipped = 0;
        loop {
            self.filled = self.at + from;
            if self.ended {
                return Ok(());
            }
            self.fill()?;
            let read = &self.buffer[self.at + from..self.filled];
            skipped += read.len() as u64;
            if skipped > LOOKED_FOR_BYTES_MAX {
                let mib = LOOKED_FOR_BYTES_MAX >> 20;
                let why =
                    format!("line {} is longer than {mib} MiB, so this is no text", self.found);
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            if let Some(end) = memchr(b'\n', read) {
                self.drop_held(from, from + end + 1);
                return Ok(());
            }
        }
    }

    fn drop_held(&mut self, from: usize, to: usize) {
        self.buffer.copy_within(self.at + to..self.filled, self.at + from);
        self.filled -= to - from;
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.filled, 0);
            self.filled -= self.at;
            self.at = 0;
        }
        if self.buffer.is_empty() {
            self.buffer.resize(FIRST_BYTES, 0);
        } else if self.filled > self.buffer.len() / 2 {
            self.buffer.resize(self.filled + BLOCK_BYTES, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(bytes) => {
                    self.filled += bytes;
                    self.ended = bytes == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A line without what ends it beside the line feed: a carriage return, or, in a text that was cut out of a
/// script of systrace's, the script's own end of a line (`\n\`).
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_suffix(br"\n\").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_of_lines() {
        for line in ["a", "a\r", r"a\n\", "a\\n\\\r"] {
            assert_eq!(without_end(line.as_bytes()), b"a", "{line}");
        }
    }

    /// Reads at most a few bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.1.min(buffer.len()).min(self.0.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    fn all(text: &[u8], at_once: usize) -> (Vec<String>, u64) {
        let mut lines = Lines::new(Slow(text, at_once));
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let text = String::from_utf8_lossy(line.text);
            read.push(format!("{} {text}{}", line.number, if line.is_whole { "" } else { "!" }));
        }
        (read, lines.too_long())
    }

    #[test]
    fn lines_with_and_without_an_end() {
        let (read, _) = all(b"one\r\n\nthree\nfour", 3);
        assert_eq!(read, ["1 one", "2 ", "3 three", "4 four!"]);
        assert_eq!(all(b"one\n", 1).0, ["1 one"]);
        assert_eq!(all(b"", 1).0, Vec::<String>::new());
    }

    #[test]
    fn the_next_line_is_in_sight() {
        let mut lines = Lines::new(b"one\ntwo\nthree".as_slice());
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.text.to_vec(), line.next.to_vec()));
        }
        let expected: [(&[u8], &[u8]); 3] = [(b"one", b"two"), (b"two", b"three"), (b"three", b"")];
        assert_eq!(seen, expected.map(|(a, b)| (a.to_vec(), b.to_vec())));
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let mut text = b"before\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 100 << 20));
        text.extend(b"\nafter\nlast");
        let mut lines = Lines::new(text.as_slice());
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            read.push((line.number, line.text.to_vec()));
        }
        let expected: [(u64, &[u8]); 3] = [(1, b"before"), (3, b"after"), (4, b"last")];
        assert_eq!(read, expected.map(|(number, text)| (number, text.to_vec())));
        assert_eq!(lines.too_long(), 1);
        assert!(lines.buffer.len() <= 2 * LINE_BYTES_MAX + 2 * BLOCK_BYTES);
    }

    #[test]
    fn the_end_of_what_is_no_text_is_not_looked_for() {
        let text = b"before\n".chain(io::repeat(0));
        let mut lines = Lines::new(text);
        let error = loop {
            match lines.next() {
                Ok(line) => assert!(line.is_some_and(|line| line.number == 1)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), "line 2 is longer than 256 MiB, so this is no text");
    }

    proptest! {
        #[test]
        fn however_it_is_read(
            text in prop::collection::vec(prop_oneof![4 => Just(b'a'), 1 => Just(b'\n')], 0..200),
            at_once in 1usize..50,
        ) {
            let (read, too_long) = all(&text, at_once);
            let expected: Vec<String> = text
                .split_inclusive(|byte| *byte == b'\n')
                .enumerate()
                .map(|(at, line)| {
                    let line = String::from_utf8_lossy(line);
                    match line.strip_suffix('\n') {
                        Some(line) => format!("{} {line}", at + 1),
                        None => format!("{} {line}!", at + 1),
                    }
                })
                .collect();
            prop_assert_eq!(read, expected);
            prop_assert_eq!(too_long, 0);
        }
    }
}
