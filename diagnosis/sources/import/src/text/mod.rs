//! Traces as text: what `ftrace`'s lines and perf's have in common.
//!
//! A line holds any number of events, each a head (task, CPU, time, name) and fields. Heads are found
//! by what they look like, wherever in a line they stand, so a trace may be part of a mail: with
//! prose around it, quoted, with lines joined or wrapped by mail programs. An event that is not all
//! there where its line ends goes on in the next one. What is no event is passed over; what has an
//! event's head and cannot be read is counted, and shown in a note.

mod events;
mod fields;
mod forms;
mod head;
mod header;
mod lines;
mod notes;
mod own;
mod reader;
mod stacks;
mod window;

pub(crate) use head::Style;
pub(crate) use window::FIRST_EVENTS_HELD_MAX;

use crate::stamps::{Stamps, WALL_NS};
use crate::{Closing, Import, ImportError, Options, Origin};
use head::{Head, Unit, head, may_end_time};
use lines::Lines;
use memchr::memchr_iter;
use reader::LineReader;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tardy_ftrace::decode::{Decoder, TraceClock};
use tardy_ftrace::format::Endian;
use tardy_kernel::{Abi, ClockOffsets, Symbols};
use tardy_model::{Batch, Source, SourceError};

/// Whether there is an event in `text` as this style has it.
pub(crate) fn has_event(style: Style, text: &[u8]) -> bool {
    let mut reader = LineReader::new(style);
    let mut lines = text.split(|byte| *byte == b'\n').map(unquoted).peekable();
    while let Some(line) = lines.next() {
        reader.read(line, lines.peek().copied().unwrap_or_default(), 0, true);
        if reader.unit().is_some() {
            return true;
        }
    }
    false
}

/// What a text is read from; it may have more to say than its bytes.
pub(crate) trait Input: Read + Send {
    /// Called once, when all has been read: what went wrong, where that makes the text worthless, or
    /// else what a reader of the trace should know.
    ///
    /// # Errors
    /// Where there may be no trace at all; `has_events` says whether there was anything.
    fn close(&mut self, has_events: bool) -> Result<Option<String>, SourceError> {
        let _ = has_events;
        Ok(None)
    }
}

impl Input for crate::Input {}

/// How many events a batch has, before what one line adds.
const BATCH_EVENTS: usize = 4096;

/// A jiffy until the events tell how long it is: that of most distributions' kernels (250 Hz).
const TICK_NS: u64 = 4_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Reads the events of a text.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Text<R> {
    path: PathBuf,
    lines: Lines<R>,
    reader: LineReader,
    decoder: Decoder,
    origin: Origin,
    /// Expiries are of the clock of the events, whatever that is.
    has_own_expiries: bool,
    /// The decoder has been told where the trace's clock stands.
    knows_clock: bool,
    /// Times are counts, of which the events show how long one is.
    is_counter: bool,
    /// The end of the text has been dealt with.
    is_closed: bool,
}

impl<R: Input> Text<R> {
    pub(crate) fn new(style: Style, path: &Path, input: R, options: &Options) -> Self {
        let mut decoder =
            Decoder::new(Endian::Little, ClockOffsets::default(), TICK_NS, Symbols::default());
        decoder.guess_tick();
        if let Some(abi) = options.abi {
            decoder.set_abi(abi);
        }
        Self {
            path: path.to_owned(),
            lines: Lines::new(input),
            reader: LineReader::new(style),
            decoder,
            origin: Origin::default(),
            has_own_expiries: false,
            knows_clock: false,
            is_counter: false,
            is_closed: false,
        }
    }

    /// Reads a line; `false` at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        let Some(line) = self.lines.next()? else { return Ok(false) };
        let (text, next) = (unquoted(line.text), unquoted(line.next));
        if matches!(text.first(), Some(b'#' | b'c' | b'C'))
            && self.reader.is_heading(text, &mut self.origin)
        {
            self.has_own_expiries |= text == own::EXPIRIES;
            return Ok(true);
        }
        self.reader.read(text, next, line.number, line.is_whole);
        Ok(true)
    }

    /// Before the first event is decoded: tells the decoder what the text's header says, and where the
    /// trace's clock stands, as far as the events that are held back show it.
    fn learn(&mut self) -> Result<(), ImportError> {
        self.knows_clock = true;
        if self.decoder.abi() == Abi::Unknown {
            self.decoder.set_abi(Abi::of_machine(&self.origin.machine));
        }
        if self.origin.hz != 0 {
            self.decoder.set_tick(NS_PER_S / u64::from(self.origin.hz));
        }
        let mut readings = self.reader.window.readings();
        if self.reader.unit() == Some(Unit::Ticks) {
            readings.retain(|(_, reading_ns)| *reading_ns < WALL_NS);
            let stamps = Stamps::of_counter(&readings)
                .ok_or_else(|| ImportError::CountsAlone { path: self.path.clone() })?;
            for (time_ns, _) in &mut readings {
                *time_ns = stamps.to_ns(*time_ns);
            }
            self.reader.window.count_by(stamps);
            self.is_counter = true;
        }
        if self.origin.clock.is_empty() && !self.is_counter && agree_with_monotonic(&readings) {
            "mono".clone_into(&mut self.origin.clock);
        }
        let is_monotonic =
            !self.is_counter && (self.origin.clock == "mono" || self.has_own_expiries);
        self.decoder.set_trace_clock(if is_monotonic {
            TraceClock::Monotonic
        } else {
            TraceClock::Other
        });
        self.decoder.learn_clock(&readings);
        Ok(())
    }

    fn close(&mut self, batch: &mut Batch) -> Result<(), SourceError> {
        self.is_closed = true;
        self.reader.finish();
        if !self.knows_clock {
            self.learn()?;
        }
        self.reader.window.release_all(&mut self.decoder, batch);
        let has_events = self.reader.unit().is_some();
        if let Some(note) = self.lines.input().close(has_events)? {
            self.reader.notes.add(note);
        }
        Ok(())
    }
}

impl<R: Input> Source for Text<R> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, SourceError> {
        if self.is_closed {
            return Ok(false);
        }
        while batch.events.len() < BATCH_EVENTS {
            let more = self
                .read_line()
                .map_err(|source| crate::ImportError::Io { path: self.path.clone(), source })?;
            if !more {
                self.close(batch)?;
                return Ok(true);
            }
            if !self.reader.window.is_full() {
                continue;
            }
            if !self.knows_clock {
                self.learn()?;
            }
            self.reader.release(&mut self.decoder, batch);
        }
        Ok(true)
    }
}

impl<R: Input> Import for Text<R> {
    fn origin(&self) -> Origin {
        let mut origin = self.origin.clone();
        if origin.cpus == 0 {
            origin.cpus = self.reader.cpus();
        }
        origin
    }

    fn closing(&mut self) -> Closing {
        let reader = &self.reader;
        let mut notes = reader.notes.sentences(reader.style(), reader.unit(), &reader.window);
        notes.extend(notes::of_lines(self.lines.too_long()));
        notes.extend(self.decoder.notes());
        let (events, silent, kinds) = reader.notes.events();
        let mut closing = Closing { events, silent, missing: self.decoder.missing(), notes };
        closing.notes.extend(closing.of_silent(&kinds));
        closing
    }
}

/// Whether a trace that does not name its clock is of `CLOCK_MONOTONIC`: the kernel reads that clock at
/// the beginning of each expiry loop, and the quickest way from there to an event is some hundred
/// nanoseconds. Another clock would have to be within microseconds of it by chance.
fn agree_with_monotonic(readings: &[(u64, i64)]) -> bool {
    let ways_ns = readings
        .iter()
        .filter_map(|(time_ns, reading_ns)| i64::try_from(*time_ns).ok()?.checked_sub(*reading_ns));
    // Readings of other clocks are far off on either side.
    let near = |way_ns: &i64| way_ns.unsigned_abs() < 1_000_000_000;
    let least_ns = ways_ns.filter(near).min();
    readings.len() >= READINGS_MIN
        && least_ns.is_some_and(|least_ns| (-ROUNDING_NS..MONOTONIC_WAY_NS_MAX).contains(&least_ns))
}

/// Fewer readings say too little of a clock.
const READINGS_MIN: usize = 8;

/// What text in microseconds may be too early.
const ROUNDING_NS: i64 = 1000;

/// The quickest way from a reading to its event is never as long.
const MONOTONIC_WAY_NS_MAX: i64 = 5000;

/// A line without the marks of a mail that quotes it.
fn unquoted(line: &[u8]) -> &[u8] {
    let mut line = line;
    while let Some(rest) = line.strip_prefix(b">") {
        line = rest.strip_prefix(b" ").unwrap_or(rest);
    }
    line
}

/// The first head of a line.
fn first_head(style: Style, line: &[u8]) -> Option<Head<'_>> {
    let line = unquoted(line);
    memchr_iter(b':', line)
        .filter(|colon| may_end_time(line, *colon))
        .find_map(|colon| head(style, line, 0, true, colon))
}
