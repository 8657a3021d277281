//! What a reader of an imported text should know.

use super::head::{Style, Unit};
use super::lines::LINE_BYTES_MAX;
use super::window::Window;
use std::collections::BTreeMap;

/// How many events that could not be read are shown.
const EXAMPLES_MAX: usize = 3;

/// Kinds of events that tell nothing, of which the names are kept; a kernel has some thousand.
const SILENT_KINDS_MAX: usize = 1 << 12;

/// How many of them a note shows.
const SILENT_KINDS_SHOWN: usize = 5;

/// How much of each.
const EXAMPLE_BYTES_MAX: usize = 100;

/// Counts what does not become events.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    unreadable: u64,
    examples: Vec<String>,
    without_event: u64,
    events: u64,
    silent: u64,
    /// Of kinds that tell nothing, how many there were. At most [`SILENT_KINDS_MAX`] are told apart.
    silent_kinds: BTreeMap<String, u64>,
    other_clock: u64,
    is_cut: bool,
    others: Vec<String>,
}

impl Notes {
    /// An event whose head is there and whose fields are not.
    pub(crate) fn unreadable(&mut self, line_number: u64, text: &[u8]) {
        self.unreadable += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let text = &text[..text.len().min(EXAMPLE_BYTES_MAX)];
            let text: String = String::from_utf8_lossy(text)
                .chars()
                .map(|letter| if letter.is_control() { ' ' } else { letter })
                .collect();
            self.examples.push(format!("line {line_number}: `{}`", text.trim()));
        }
    }

    /// An event, whatever it tells.
    #[inline]
    pub(crate) fn event(&mut self) {
        self.events += 1;
    }

    /// One of them is of a kind that means nothing.
    pub(crate) fn silent(&mut self, event: &[u8]) {
        self.silent += 1;
        let name = String::from_utf8_lossy(&event[..event.len().min(EXAMPLE_BYTES_MAX)]);
        if let Some(count) = self.silent_kinds.get_mut(name.as_ref()) {
            *count += 1;
        } else if self.silent_kinds.len() < SILENT_KINDS_MAX {
            self.silent_kinds.insert(name.into_owned(), 1);
        }
    }

    /// How many events there are, how many of them tell nothing, and of which kinds most of these are.
    pub(crate) fn events(&self) -> (u64, u64, Vec<(String, u64)>) {
        let mut kinds: Vec<(String, u64)> =
            self.silent_kinds.iter().map(|(name, count)| (name.clone(), *count)).collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds.truncate(SILENT_KINDS_SHOWN);
        (self.events, self.silent + self.unreadable, kinds)
    }

    /// A line in which there is no event.
    pub(crate) fn no_event(&mut self, style: Style, line: &[u8]) {
        // Call chains are indented below perf's events, and behind an arrow below ftrace's.
        let is_chain = match style {
            Style::Perf => line.first().is_some_and(u8::is_ascii_whitespace),
            Style::Ftrace => line.starts_with(b" => "),
        };
        self.without_event += u64::from(!is_chain && !line.trim_ascii().is_empty());
    }

    /// An event whose time counts something else than the first one's.
    pub(crate) fn other_clock(&mut self) {
        self.other_clock += 1;
    }

    /// The last line has no end.
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(crate) fn add(&mut self, note: String) {
        self.others.push(note);
    }

    /// A sentence each.
    pub(crate) fn sentences(
        &self,
        style: Style,
        unit: Option<Unit>,
        window: &Window,
    ) -> Vec<String> {
        let mut notes = self.others.clone();
        notes.push(
            match (unit, style) {
                (Some(Unit::Microseconds), Style::Ftrace) | (Some(Unit::WholeMicroseconds), _) => {
                    "times are rounded to 1 µs, as the text shows them"
                }
                (Some(Unit::Microseconds), Style::Perf) => {
                    "times are cut to whole microseconds in the text; `perf script --ns` prints \
                     nanoseconds"
                }
                (Some(Unit::Nanoseconds), _) => "times are exact to 1 ns",
                (Some(Unit::Ticks), _) => {
                    "times are counts of a clock that the text does not name; the kernel's clock \
                     readings in hrtimer_expire_entry show how long a count is, and times are \
                     converted to nanoseconds by them"
                }
                (None, _) => "the text has no events",
            }
            .to_owned(),
        );
        let mut count = |number: u64, one: &str, many: &str| {
            if number > 0 {
                notes.push(if number == 1 { one.to_owned() } else { format!("{number} {many}") });
            }
        };
        count(
            self.without_event,
            "1 line has no event and was skipped",
            "lines have no event and were skipped",
        );
        count(
            self.other_clock,
            "1 event has a time of another kind than the first, and was left out",
            "events have times of another kind than the first, and were left out",
        );
        count(
            window.reordered(),
            "1 event came after a later one, and was put in order",
            "events came after later ones, and were put in order",
        );
        if self.unreadable > 0 {
            notes.push(format!(
                "{} events could not be read and were left out, as in {}",
                self.unreadable,
                self.examples.join("; ")
            ));
        }
        let (late, late_max_ns) = window.late();
        if late > 0 {
            notes.push(format!(
                "{late} events are earlier than others read long before, by up to {late_max_ns} \
                 ns, and count as lost; if the text has several traces, or one CPU after the \
                 other, split it or sort its lines by time"
            ));
        }
        if self.is_cut {
            notes.push("the last line is cut short; its last event was left out".to_owned());
        }
        notes
    }
}

/// What the lines' reader has left out.
pub(crate) fn of_lines(too_long: u64) -> Option<String> {
    (too_long > 0)
        .then(|| format!("{too_long} lines of more than {LINE_BYTES_MAX} bytes were left out"))
}
