//! The trace in a page of systrace's.
//!
//! Such a page is a viewer of some megabytes, and behind it the trace as text: in elements
//! `<script class="trace-data">`, of which only one holds the kernel's events, or, in old ones, as a string
//! of JavaScript (`linuxPerfData = "…"`), with its line ends and quotes escaped. The page is read as a
//! stream, and what is no trace is passed over.

use crate::text::{Style, has_event};
use memchr::{memchr3, memmem};
use std::io::{self, Read};

/// How much is read at once.
const BLOCK_BYTES: usize = 64 << 10;

/// How much of an element is looked at to see whether it holds events.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// The longest tag.
const TAG_BYTES_MAX: usize = 1 << 10;

const ELEMENT: &[u8] = b"<script class=\"trace-data\"";
const STRING: &[u8] = b"linuxPerfData = \"";
const END: &[u8] = b"</script";

/// Reads the traces in a page, one after the other.
pub(super) struct Page<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where what has not been looked at begins.
    at: usize,
    ended: bool,
    place: Place,
    out: Vec<u8>,
    out_at: usize,
    /// The last byte before those in `out`.
    last: u8,
}

/// Where in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Viewer,
    /// In the tag of an element.
    Tag,
    /// At the beginning of its text.
    Begins,
    Events,
    /// In an element without events.
    Other,
    String,
}

impl<R: Read> Page<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            ended: false,
            place: Place::Viewer,
            out: Vec::new(),
            out_at: 0,
            last: b'\n',
        }
    }

    fn held(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Reads on; what has been looked at is dropped.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + BLOCK_BYTES, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }

    /// Looks at what is held, and puts what is of a trace into `out`.
    fn step(&mut self) -> io::Result<()> {
        match self.place {
            Place::Viewer => {
                let begins = |what: &[u8]| memmem::find(self.held(), what);
                match (begins(ELEMENT), begins(STRING)) {
                    (Some(at), string) if string.is_none_or(|string| at < string) => {
                        self.at += at + ELEMENT.len();
                        self.place = Place::Tag;
                    }
                    (_, Some(at)) => {
                        self.at += at + STRING.len();
                        self.place = Place::String;
                    }
                    _ => self.pass_over(ELEMENT.len())?,
                }
            }
            Place::Tag => match memchr::memchr(b'>', self.held()) {
                Some(at) => {
                    self.at += at + 1;
                    self.place = Place::Begins;
                }
                None if self.held().len() > TAG_BYTES_MAX => self.place = Place::Viewer,
                None => self.more()?,
            },
            Place::Begins => {
                let end = memmem::find(self.held(), END);
                if end.is_none() && self.held().len() < LOOKED_AT_BYTES && !self.ended {
                    return self.fill();
                }
                let begin = &self.held()[..end.unwrap_or(self.held().len()).min(LOOKED_AT_BYTES)];
                let has_events =
                    memmem::find(begin, b"# tracer:").is_some() || has_event(Style::Ftrace, begin);
                self.place = if has_events { Place::Events } else { Place::Other };
            }
            Place::Events | Place::Other => {
                let end = memmem::find(self.held(), END);
                let kept = if self.ended { 0 } else { END.len() };
                let to = end.unwrap_or(self.held().len().saturating_sub(kept));
                if self.place == Place::Events {
                    self.out.extend_from_slice(&self.buffer[self.at..self.at + to]);
                }
                self.at += to;
                if end.is_some() {
                    self.end_trace();
                } else {
                    self.more()?;
                }
            }
            Place::String => self.string()?,
        }
        Ok(())
    }

    /// What is held is nothing, but for its last bytes, with which something may begin.
    fn pass_over(&mut self, kept: usize) -> io::Result<()> {
        self.at = self.buffer.len().saturating_sub(kept).max(self.at);
        self.more()
    }

    fn more(&mut self) -> io::Result<()> {
        if self.ended {
            self.at = self.buffer.len();
            return Ok(());
        }
        self.fill()
    }

    /// A trace ends here; the next one is on lines of its own.
    fn end_trace(&mut self) {
        let last = self.out.last().copied().unwrap_or(self.last);
        if self.place != Place::Other && last != b'\n' {
            self.out.push(b'\n');
        }
        self.place = Place::Viewer;
    }

    /// A string of JavaScript, as far as it is held.
    fn string(&mut self) -> io::Result<()> {
        while self.at < self.buffer.len() {
            let held = &self.buffer[self.at..];
            let plain = memchr3(b'\\', b'"', b'<', held).unwrap_or(held.len());
            self.out.extend_from_slice(&held[..plain]);
            self.at += plain;
            let held = &self.buffer[self.at..];
            match held {
                [] => {}
                // It may go on in what has not been read.
                [b'\\' | b'<', ..] if held.len() < END.len() && !self.ended => break,
                [b'\\', rest @ ..] => {
                    let (letter, bytes) = escaped(rest);
                    self.out.extend(letter);
                    self.at += 1 + bytes;
                }
                [b'<', ..] if !held.starts_with(END) => {
                    self.out.push(b'<');
                    self.at += 1;
                }
                // A quote, or the element's end where somebody has cut the string short.
                _ => {
                    self.at += 1;
                    self.end_trace();
                    return Ok(());
                }
            }
            if self.out.len() >= BLOCK_BYTES {
                return Ok(());
            }
        }
        self.more()
    }
}

/// What stands for a letter behind a backslash: the letter, if any, and how many bytes it takes.
fn escaped(rest: &[u8]) -> (Option<u8>, usize) {
    match rest {
        [] => (None, 0),
        [b'n', ..] => (Some(b'\n'), 1),
        [b't', ..] => (Some(b'\t'), 1),
        [b'r', ..] => (None, 1),
        // A line goes on.
        [b'\r', b'\n', ..] => (None, 2),
        [b'\n' | b'\r', ..] => (None, 1),
        [letter, ..] => (Some(*letter), 1),
    }
}

impl<R: Read> Read for Page<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.out_at == self.out.len() {
            self.last = self.out.pop().unwrap_or(self.last);
            self.out.clear();
            self.out_at = 0;
            if self.ended && self.at >= self.buffer.len() {
                return Ok(0);
            }
            self.step()?;
        }
        let bytes = (&self.out[self.out_at..]).read(buffer)?;
        self.out_at += bytes;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    fn traces(page: &str, at_once: usize) -> String {
        let mut text = String::new();
        Page::new(Slow(page.as_bytes(), at_once)).read_to_string(&mut text).unwrap();
        text
    }

    const EVENT: &str = "a-7 [001] d... 5.000001: cpu_idle: state=1 cpu_id=1\n";

    #[test]
    fn elements_with_events_among_others() {
        let viewer = "<p>class=\"trace-data\"</p>".repeat(200_000);
        let processes = "USER PID NAME\n".repeat(20_000);
        let page = format!(
            "<!DOCTYPE html><html>{viewer}\
             <script class=\"trace-data\" type=\"application/text\">\n{processes}</script>\
             <script class=\"trace-data\">\n# tracer: nop\n{EVENT}</script>\n\
             <script class=\"trace-data\">{EVENT}{EVENT}</script></html>"
        );
        for at_once in [7000, 1 << 20] {
            assert_eq!(
                traces(&page, at_once),
                format!("\n# tracer: nop\n{EVENT}{EVENT}{EVENT}"),
                "{at_once}"
            );
        }
        assert_eq!(traces("<!DOCTYPE html><html><body>hello</body></html>", 5), "");
    }

    #[test]
    fn strings_of_javascript() {
        let page = "<html><script>if(linuxPerfData){}\n  var linuxPerfData = \"\\\n\
                    # tracer: nop\\n\\\nname\\\\x \\\"y\\\" <...>-7 a/b\\n\\\nlast\\n\";\n\
                    foo();</script>";
        let expected = "# tracer: nop\nname\\x \"y\" <...>-7 a/b\nlast\n";
        for at_once in [1, 3, 1000] {
            assert_eq!(traces(page, at_once), expected, "{at_once}");
        }
        let cut = "<html>linuxPerfData = \"\\\n# tracer: nop\none\n</script> and more \"x";
        assert_eq!(traces(cut, 2), "# tracer: nop\none\n");
    }

    proptest! {
        #[test]
        fn however_it_is_read(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "<script class=\"trace-data\"", ">", "</script", "linuxPerfData = \"", "\\", "n",
                    "\"", "<", EVENT, "\n", "x",
                ]),
                0..40,
            ),
            at_once in 1usize..50,
        ) {
            let page = parts.concat();
            prop_assert_eq!(traces(&page, at_once), traces(&page, 1 << 20));
        }
    }
}
