//! From lines to events, in whatever way events lie in them.

use super::events::{EVENTS, Events, Parsed, Reader};
use super::head::{Head, Style, Unit, head, may_end_time};
use super::notes::Notes;
use super::window::{Place, Window};
use super::{first_head, header, own, stacks};
use crate::Origin;
use memchr::memchr_iter;
use tardy_ftrace::decode::Decoder;
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, TaskId};

/// A wrapped event has at most this many lines; what is longer is not read.
const WRAPPED_LINES_MAX: u32 = 6;

/// CPUs beyond these are none (`NR_CPUS` is at most 8192): what happens there is not read.
const CPUS_MAX: u16 = 8192;

/// Finds events in lines and puts them into the window.
pub(crate) struct LineReader {
    style: Style,
    events: &'static Events,
    pub(crate) window: Window,
    pub(crate) notes: Notes,
    /// What all times count, as the first event has it.
    unit: Option<Unit>,
    /// An event that is not all there yet.
    open: Option<Open>,
    /// The end of a line, with which a head begins that goes on in the next.
    carried: Vec<u8>,
    /// A line with what was carried before it.
    joined: Vec<u8>,
    cpus: Vec<Cpu>,
    first_ns: u64,
    last_ns: u64,
    /// Calls are told by number, so events of single calls tell nothing new.
    has_numbered_calls: bool,
    /// The place of the last event, and a stack whose frames follow.
    last: Option<Place>,
    stack: Option<stacks::Reading>,
    /// What is told of threads before the next event.
    told: Vec<(TaskId, TaskInfo)>,
}

/// Threads of which something is told between two events, at most.
const TOLD_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Default)]
struct Cpu {
    last_ns: Option<u64>,
    /// When its last event was, where that was a switch.
    switch_ns: Option<u64>,
    /// Whose name was told last here, and need not be told again.
    named: u32,
    /// How many events were lost since the last one; `u32::MAX` where it is not known.
    lost: Option<u32>,
}

/// A wrapped event, with all of its text so far.
struct Open {
    place: Place,
    name: Vec<u8>,
    event: Vec<u8>,
    body: Vec<u8>,
    lines: u32,
    line_number: u64,
}

impl LineReader {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            events: &EVENTS,
            window: Window::default(),
            notes: Notes::default(),
            unit: None,
            open: None,
            carried: Vec::new(),
            joined: Vec::new(),
            cpus: Vec::new(),
            first_ns: 0,
            last_ns: 0,
            has_numbered_calls: false,
            last: None,
            stack: None,
            told: Vec::new(),
        }
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// What times count; `None` where there was no event at all.
    pub(crate) fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// One more than the highest CPU seen.
    pub(crate) fn cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Takes a line that says something of the trace and holds no event.
    pub(crate) fn is_heading(&mut self, line: &[u8], origin: &mut Origin) -> bool {
        if let Some((cpu, count)) = header::lost(line) {
            self.finish_open(&[], &[], true);
            if let Some(cpu) = self.cpu(cpu) {
                cpu.lost = Some(match cpu.lost {
                    None => count,
                    Some(u32::MAX) => u32::MAX,
                    Some(lost) => lost.saturating_add(count),
                });
            }
            return true;
        }
        let is_heading = match line.first() {
            Some(b'#') => first_head(self.style, line).is_none(),
            _ => line.starts_with(b"cpus=") || line.starts_with(b"CPU "),
        };
        if is_heading {
            header::read(line, origin);
            if let Some(told) = own::task(line)
                && self.told.len() < TOLD_MAX
            {
                self.told.push(told);
            }
        }
        is_heading
    }

    /// Reads the events of a line; `next` is the one after it.
    pub(crate) fn read(&mut self, line: &[u8], next: &[u8], number: u64, is_whole: bool) {
        if self.is_of_stack(line) {
            return;
        }
        if self.carried.is_empty() {
            self.read_line(line, next, number, is_whole);
            return;
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.append(&mut self.carried);
        joined.push(b' ');
        joined.extend_from_slice(line);
        self.read_line(&joined, next, number, is_whole);
        self.joined = joined;
    }

    /// Takes a line that is a frame of a stack, or that begins one of ftrace's.
    fn is_of_stack(&mut self, line: &[u8]) -> bool {
        if let Some(frame) = stacks::frame(self.style, line) {
            self.finish_open(&[], &[], true);
            if self.stack.is_none() && self.style == Style::Perf {
                // It is the last event's.
                self.begin_stack(self.last);
            }
            if let Some(stack) = &mut self.stack {
                stack.push(frame);
            }
            return true;
        }
        self.end_stack();
        // A line that has an event says so itself; others are few.
        let ends_alike = self.style == Style::Ftrace && line.ends_with(b">");
        if let Some(head) = ends_alike.then(|| stacks::begin(line)).flatten() {
            self.finish_open(&[], &[], true);
            self.begin_stack(Some(place(&head)));
            return true;
        }
        false
    }

    fn begin_stack(&mut self, place: Option<Place>) {
        let Some(place) = place else { return };
        let switch_ns = self.cpu(place.cpu.0).and_then(|cpu| cpu.switch_ns);
        self.stack = Some(stacks::Reading::new(place, switch_ns));
    }

    fn end_stack(&mut self) {
        if let Some((place, kind, frames)) = self.stack.take().and_then(stacks::Reading::finish) {
            self.window.push_own(place, kind, frames.as_bytes());
        }
    }

    fn read_line(&mut self, line: &[u8], next: &[u8], number: u64, is_whole: bool) {
        let mut found: Option<Head<'_>> = None;
        for colon in memchr_iter(b':', line) {
            let from = found.as_ref().map_or(0, |head| head.body);
            if colon < from || !may_end_time(line, colon) {
                continue;
            }
            // Behind text of the event before, a name's beginning cannot be told.
            let is_first = found.is_none() && self.open.is_none();
            let Some(head) = head(self.style, line, from, is_first, colon) else { continue };
            match found {
                None => self.finish_open(&line[..head.start], &[], true),
                // What programs write into a trace themselves may look like anything.
                Some(free) if is_free_text(free.event) => continue,
                Some(head_before) => {
                    self.take(&head_before, &line[..head.start], number);
                }
            }
            found = Some(head);
        }
        if !is_whole {
            // Its last number may be only the beginning of one.
            if self.open.take().is_some() || found.is_some() {
                self.notes.cut();
            }
        } else if let Some(head) = found {
            self.take_last(&head, line, next, number);
        } else if self.open.is_some() {
            self.finish_open(line, next, false);
        } else {
            self.notes.no_event(self.style, line);
        }
        self.carry(line, next);
    }

    /// Takes an event whose text ends with `line`.
    fn take(&mut self, head: &Head<'_>, line: &[u8], number: u64) {
        let body = &line[head.body..];
        if let Some(reader) = self.begin(head, body) {
            let parsed = reader.parse(body);
            self.accept(place(head), head.comm, reader, &parsed, number, &line[head.start..]);
        }
    }

    /// The same for the last one of a line, which may go on in the next.
    #[inline]
    fn take_last(&mut self, head: &Head<'_>, line: &[u8], next: &[u8], number: u64) {
        let body = &line[head.body..];
        let Some(reader) = self.begin(head, body) else { return };
        let parsed = reader.parse(body);
        if parsed.is_whole && !reader.goes_on_in(&parsed.fields, next.trim_ascii_start()) {
            self.accept(place(head), head.comm, reader, &parsed, number, &line[head.start..]);
            return;
        }
        self.open = Some(Open {
            place: place(head),
            name: head.comm.to_vec(),
            event: head.event.to_vec(),
            body: body.to_vec(),
            lines: 1,
            line_number: number,
        });
    }

    /// What an event's head alone tells, and how its fields are to be read, if it is one of those
    /// that matter.
    #[inline]
    fn begin<'n>(&mut self, head: &Head<'n>, body: &[u8]) -> Option<Reader<'static, 'n>> {
        let first = *self.unit.get_or_insert_with(|| {
            self.first_ns = head.time_ns;
            head.unit
        });
        if !first.goes_with(head.unit) {
            self.notes.other_clock();
            return None;
        }
        self.last_ns = self.last_ns.max(head.time_ns);
        let (place, first_ns) = (place(head), self.first_ns);
        let is_loss = head.event == b"PERF_RECORD_LOST";
        if head.event == stacks::EVENT {
            self.begin_stack(Some(place));
            return None;
        }
        let cpu = self.cpu(head.cpu)?;
        let since_ns = cpu.last_ns.unwrap_or(first_ns);
        let lost = if is_loss { Some(header::lost_by_perf(body)) } else { cpu.lost.take() };
        cpu.last_ns = Some(head.time_ns);
        cpu.switch_ns = (head.event == b"sched_switch").then_some(head.time_ns);
        self.last = Some(place);
        if let Some(count) = lost {
            self.window.push_loss(place, since_ns, count);
        }
        for (task, info) in self.told.drain(..) {
            self.window.push_own(Place { task, ..place }, info.into(), b"");
        }
        if head.event == own::MARK_EVENT
            && let Some((kind, name)) = own::event(body)
        {
            self.window.push_own(place, kind, name);
            return None;
        }
        if own::armed(head.event, body).is_some() {
            return Some(Reader::Armed(self.events.armed()));
        }
        if !is_loss {
            self.notes.event();
        }
        let reader = self.events.reader(head.event, body);
        if reader.is_none() && !is_loss {
            self.notes.silent(head.event);
        }
        reader
    }

    /// Takes an event of which all has been read that there is.
    #[inline]
    fn accept(
        &mut self,
        place: Place,
        name: &[u8],
        reader: Reader<'_, '_>,
        parsed: &Parsed<'_>,
        line_number: u64,
        text: &[u8],
    ) {
        if !parsed.is_whole {
            self.notes.unreadable(line_number, text);
            return;
        }
        if reader.is_single_call() {
            if self.has_numbered_calls {
                return;
            }
        } else if reader.is_numbered_call() {
            self.has_numbered_calls = true;
        }
        let task = place.task.0;
        // Every CPU has an idle task of its own name; `<...>` stands for one that was not known.
        let may_name = task != 0 && name != b"<...>";
        let cpu = if may_name { self.cpu(place.cpu.0) } else { None };
        let is_new = cpu.is_some_and(|cpu| std::mem::replace(&mut cpu.named, task) != task);
        if reader.is_armed() {
            self.window.push_armed(place, parsed.id, &parsed.fields);
            return;
        }
        self.window.push(place, parsed.id, if is_new { name } else { b"" }, &parsed.fields);
    }

    /// Goes on with an event that is not all there: with `text`, which is a line or what stands in
    /// one before its first event, where `is_end`.
    fn finish_open(&mut self, text: &[u8], next: &[u8], is_end: bool) {
        let Some(mut open) = self.open.take() else { return };
        let text = text.trim_ascii();
        if !text.is_empty() {
            open.body.push(b' ');
            open.body.extend_from_slice(text);
            open.lines += 1;
        }
        let Some(reader) = self.events.reader(&open.event, &open.body) else { return };
        let parsed = reader.parse(&open.body);
        let goes_on =
            !parsed.is_whole || reader.goes_on_in(&parsed.fields, next.trim_ascii_start());
        if goes_on && !is_end && !text.is_empty() && open.lines < WRAPPED_LINES_MAX {
            self.open = Some(open);
            return;
        }
        self.accept(open.place, &open.name, reader, &parsed, open.line_number, &open.body);
    }

    /// Keeps the end of a line where a head begins there and goes on in the next.
    fn carry(&mut self, line: &[u8], next: &[u8]) {
        // Programs indent names that are short, and mail programs do not.
        let first_word = next.split(|byte| *byte == b' ').next().unwrap_or_default();
        if first_word.is_empty() || ends_in_task(first_word) {
            return;
        }
        let line = line.trim_ascii_end();
        let spaces = line.iter().enumerate().rev().filter(|(_, byte)| **byte == b' ');
        let tail_at = spaces.map(|(at, _)| at + 1).nth(HEAD_WORDS_MAX - 1).unwrap_or(0);
        let tail = &line[tail_at..];
        let mut probe = tail.to_vec();
        probe.push(b' ');
        probe.extend_from_slice(&next[..next.len().min(PROBE_BYTES_MAX)]);
        let colons = memchr_iter(b':', &probe).filter(|colon| may_end_time(&probe, *colon));
        let across = colons
            .filter_map(|colon| head(self.style, &probe, 0, false, colon))
            .find(|head| head.start < tail.len() && head.body > tail.len());
        if let Some(head) = across {
            self.carried.extend_from_slice(&tail[head.start..]);
        }
    }

    /// Finishes what is still open at the end.
    pub(crate) fn finish(&mut self) {
        self.end_stack();
        self.finish_open(&[], &[], true);
        for cpu in 0..self.cpus.len() {
            let Cpu { last_ns, lost, .. } = self.cpus[cpu];
            if let Some(count) = lost {
                let place =
                    Place { time_ns: self.last_ns, cpu: CpuId(cpu as u16), task: TaskId::IDLE };
                self.window.push_loss(place, last_ns.unwrap_or(self.first_ns), count);
            }
        }
    }

    /// Lets the window's events go as far as it is full.
    #[inline]
    pub(crate) fn release(&mut self, decoder: &mut Decoder, batch: &mut Batch) {
        self.window.release(decoder, batch);
    }

    fn cpu(&mut self, cpu: u16) -> Option<&mut Cpu> {
        let at = usize::from(cpu);
        if at >= self.cpus.len() {
            if cpu >= CPUS_MAX {
                return None;
            }
            self.cpus.resize_with(at + 1, Cpu::default);
        }
        self.cpus.get_mut(at)
    }
}

/// A head's words before its event's name: `NAME-PID ( PROCESS) [CPU] columns TIME:`.
const HEAD_WORDS_MAX: usize = 6;

/// Whether it is a head's first word, so that nothing of the head is in the line before: `NAME-PID`.
fn ends_in_task(word: &[u8]) -> bool {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && word[..word.len() - digits].ends_with(b"-")
}

/// How much of a next line is looked at for the rest of a head.
const PROBE_BYTES_MAX: usize = 128;

fn place(head: &Head<'_>) -> Place {
    Place { time_ns: head.time_ns, cpu: CpuId(head.cpu), task: TaskId(head.task) }
}

/// Events whose text a program has made up.
fn is_free_text(event: &[u8]) -> bool {
    matches!(event, b"print" | b"bprint" | b"bputs" | b"tracing_mark_write" | b"raw_data")
}

#[cfg(test)]
mod tests {
    use super::super::unquoted;
    use super::*;

    #[test]
    fn heads_that_go_on_in_the_next_line() {
        for (line, next, expected) in [
            (
                "newprio=40 trace-cmd-1308 [000]",
                "12165.412251: sys_exit: NR 162 = 0",
                "trace-cmd-1308 [000]",
            ),
            ("newprio=40 trace-cmd-1308", "[000] 12165.412251: sys_exit: NR 162", "trace-cmd-1308"),
            (
                "trace-cmd-1308 [000] 12165.412251:",
                "sys_exit: NR 162 = 0",
                "trace-cmd-1308 [000] 12165.412251:",
            ),
            (
                "trace-cmd-1308 [000] d..1. 12165.412251:",
                "sys_exit: NR",
                "trace-cmd-1308 [000] d..1. 12165.412251:",
            ),
            ("sys_exit: NR 162 = 0", "[000] and so on", ""),
            ("...", "lo prio-1308 [000] 12165.412251: sys_exit: NR 1 = 0", ""),
            ("Analysis:", "At .412229, High does a futex lock", ""),
            (
                "a-1 [000] 1.000000: sys_exit: NR 162 = 0",
                "a-1 [000] 1.000000: sys_exit: NR 1 = 0",
                "",
            ),
        ] {
            let mut reader = LineReader::new(Style::Ftrace);
            reader.carry(line.as_bytes(), unquoted(next.as_bytes()));
            assert_eq!(String::from_utf8_lossy(&reader.carried), expected, "{line} | {next}");
        }
    }
}
