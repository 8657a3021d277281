//! Kernel stacks in a text: a line for each frame, below the event that they are of.

use super::head::{Head, Style, head, may_end_time};
use super::window::{Place, TEXT_BYTES_MAX};
use memchr::{memchr_iter, memmem};
use tardy_kernel::folded;
use tardy_model::Kind;
use tardy_model::event::{FRAME_SEPARATOR, Stack, Taken};
use tardy_model::{NameId, TaskId};

/// Frames of one stack that are read; the outermost beyond are left out.
const FRAMES_MAX: usize = 64;

/// What stands in the place of ftrace's stack, and what perf's report of a `trace.dat` has before it.
const BEGIN: &[u8] = b"<stack trace";

/// The event that a stack is in a trace.
pub(super) const EVENT: &[u8] = b"kernel_stack";

/// The function of a line that is a frame.
pub(super) fn frame(style: Style, line: &[u8]) -> Option<&[u8]> {
    let text = line.trim_ascii();
    match style {
        Style::Ftrace => Some(text.strip_prefix(b"=> ")?.trim_ascii()),
        Style::Perf => {
            // Lines of events may begin with blanks too, and with a name that looks like an address.
            let is_indented = line.first().is_some_and(u8::is_ascii_whitespace);
            let has_time = || memchr_iter(b':', text).any(|colon| may_end_time(text, colon));
            if !is_indented || text.last() != Some(&b')') || has_time() {
                return None;
            }
            let address = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let rest = text[address..].strip_prefix(b" ")?;
            (address > 0).then_some(rest)
        }
    }
}

/// The head of a line with which ftrace's stack begins: an event without a name.
pub(super) fn begin(line: &[u8]) -> Option<Head<'static>> {
    let at = memmem::find(line, BEGIN)?;
    let mut named = line[..at].trim_ascii_end().to_vec();
    named.extend_from_slice(b" kernel_stack: ");
    let colons = memchr_iter(b':', &named).filter(|colon| may_end_time(&named, *colon));
    let mut heads = colons.filter_map(|colon| head(Style::Ftrace, &named, 0, true, colon));
    let found = heads.next_back()?;
    Some(Head { comm: b"", event: EVENT, ..found.without_text() })
}

/// A stack whose frames are being read.
pub(super) struct Reading {
    place: Place,
    taken: Taken,
    frames: Vec<String>,
}

impl Reading {
    /// The stack of an event at `place`; of a switch it counts just before that, and shows where the task left the
    /// CPU. Of any other it shows what was interrupted, if anything was.
    pub(super) fn new(place: Place, switch_ns: Option<u64>) -> Self {
        let (taken, time_ns) = match switch_ns {
            Some(switch_ns) => (Taken::Left, switch_ns.saturating_sub(1)),
            None => (Taken::Interrupted, place.time_ns),
        };
        Self { place: Place { time_ns, ..place }, taken, frames: Vec::new() }
    }

    pub(super) fn push(&mut self, frame: &[u8]) {
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(String::from_utf8_lossy(frame).into_owned());
        }
    }

    /// The event of it, and its frames as a name; none where it tells nothing.
    pub(super) fn finish(self) -> Option<(Place, Kind, String)> {
        let Self { place, taken, frames } = self;
        if place.task == TaskId::IDLE || frames.is_empty() {
            return None;
        }
        let mut folded = folded(taken, frames.iter().map(String::as_str))?;
        while folded.len() > TEXT_BYTES_MAX {
            folded.truncate(folded.rfind(FRAME_SEPARATOR)?);
        }
        let stack = Stack { taken, of: place.task, late_ns: 0, frames: NameId::NONE };
        Some((place, stack.into(), folded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_frames() {
        let is = |style, line: &str, expected: Option<&str>| {
            let found = frame(style, line.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{line}");
        };
        is(Style::Ftrace, " => schedule", Some("schedule"));
        is(Style::Ftrace, "=> zap_pte_range (ffffffff81a0)", Some("zap_pte_range (ffffffff81a0)"));
        is(Style::Ftrace, " a-1 [000] 1.000000: sched_switch: x => y", None);
        let perf = "\tffffffff81a3c3b1 __schedule+0x301 ([kernel.kallsyms])";
        is(Style::Perf, perf, Some("__schedule+0x301 ([kernel.kallsyms])"));
        is(Style::Perf, "   deadbeef 12 [000] 1.000000: sched:sched_switch: a (b)", None);
        is(Style::Perf, "ffffffff81a3c3b1 __schedule+0x301 ([kernel.kallsyms])", None);
        is(Style::Perf, "\t          146f7c main (/bin/a)", Some("main (/bin/a)"));
        is(Style::Perf, "\tnobody knows (this)", None);
    }

    #[test]
    fn a_stack_of_ftraces_has_a_head_without_a_name() {
        let line = b"        unmapper-42      [001] d..2.   100.000002: <stack trace>";
        let head = begin(line).unwrap();
        assert_eq!((head.task, head.cpu, head.time_ns), (42, 1, 100_000_002_000));
        assert!(begin(b"what is a <stack trace> anyway?").is_none());
    }
}
