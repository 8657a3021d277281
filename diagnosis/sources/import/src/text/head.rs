//! Where in a line an event begins: task, CPU, time and the event's name.
//!
//! Names of tasks may hold anything, so a head is read backwards from its time, which is a number
//! that ends in a colon: before it come the CPU in brackets, perhaps columns of letters, perhaps the
//! process, and the task's id.

/// Which program wrote the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `NAME-PID [CPU] flags TIME: EVENT:`, and with the latency columns `NAME-PID CPUflags TIME:`.
    Ftrace,
    /// `NAME PID[/TID] [CPU] TIME: [PERIOD] GROUP:EVENT:`.
    Perf,
}

/// What a line's times count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds, with six digits behind the point.
    Microseconds,
    /// Seconds, with nine.
    Nanoseconds,
    /// Whole microseconds, as latency tracers show them.
    WholeMicroseconds,
    /// Something else: counts of a processor's counter, or of events.
    Ticks,
}

impl Unit {
    /// Whether times of both can be compared.
    pub(crate) fn goes_with(self, other: Self) -> bool {
        let kind = |unit| match unit {
            Self::Microseconds | Self::Nanoseconds => 0,
            Self::WholeMicroseconds => 1,
            Self::Ticks => 2,
        };
        kind(self) == kind(other)
    }
}

/// The head of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Where it begins in the line.
    pub(crate) start: usize,
    /// The task's name as shown: an older or newer one, cut short, `<...>`.
    pub(crate) comm: &'a [u8],
    pub(crate) task: u32,
    pub(crate) cpu: u16,
    /// Nanoseconds, or counts where the unit is [`Unit::Ticks`].
    pub(crate) time_ns: u64,
    pub(crate) unit: Unit,
    /// Without its group.
    pub(crate) event: &'a [u8],
    /// Where its fields begin.
    pub(crate) body: usize,
}

impl Head<'_> {
    /// The same without what it has of the line.
    pub(super) fn without_text(self) -> Head<'static> {
        let Head { start, task, cpu, time_ns, unit, body, .. } = self;
        Head { start, comm: b"", task, cpu, time_ns, unit, event: b"", body }
    }
}

/// Names of tasks are not longer (`TASK_COMM_LEN`, less the zero).
pub(crate) const COMM_BYTES_MAX: usize = 15;

/// The head whose time ends at the colon at `colon`, and that begins at `from` or later. A head that
/// is not the line's first is preceded by another event's text, and its task's name is one word.
pub(crate) fn head(
    style: Style,
    line: &[u8],
    from: usize,
    is_first: bool,
    colon: usize,
) -> Option<Head<'_>> {
    let (time_ns, unit, before) = time(line, from, colon)?;
    let (cpu, before) = cpu(style, line, from, before)?;
    let (task, name_end) = match style {
        Style::Ftrace => task_behind_dash(line, from, before)?,
        Style::Perf => task_behind_space(line, from, before)?,
    };
    let start = name_start(line, from, is_first, name_end);
    let comm = &line[start..name_end];
    let (event, body) = match style {
        Style::Ftrace => event(line, colon + 1)?,
        Style::Perf => event_of_group(line, colon + 1)?,
    };
    (!comm.is_empty()).then_some(Head { start, comm, task, cpu, time_ns, unit, event, body })
}

/// Whether the colon may end a time, at a glance.
#[inline]
pub(crate) fn may_end_time(line: &[u8], colon: usize) -> bool {
    let (Some(before), Some(b' ' | b'\t')) =
        (colon.checked_sub(1).map(|at| line[at]), line.get(colon + 1))
    else {
        return false;
    };
    before.is_ascii_digit() || (is_delay_mark(before) && line[..colon - 1].ends_with(b"us"))
}

/// Latency tracers mark the time until the next event.
fn is_delay_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$')
}

/// The digits that end at `end`: their value, how many, and where they begin.
#[inline]
fn digits(line: &[u8], from: usize, end: usize) -> Option<(u64, usize)> {
    let mut start = end;
    let (mut value, mut scale) = (0u64, 1u64);
    while start > from && line[start - 1].is_ascii_digit() {
        start -= 1;
        let digit = u64::from(line[start] - b'0');
        value = value.checked_add(digit.checked_mul(scale)?)?;
        // Beyond 19 digits only zeros could follow, and no number is written so.
        scale = scale.saturating_mul(10);
    }
    (start < end).then_some((value, start))
}

fn skip_spaces_back(line: &[u8], from: usize, mut end: usize) -> usize {
    while end > from && matches!(line[end - 1], b' ' | b'\t') {
        end -= 1;
    }
    end
}

/// The time that ends at `colon`, and where what is before it ends.
#[inline]
fn time(line: &[u8], from: usize, colon: usize) -> Option<(u64, Unit, usize)> {
    let is_latency = colon > from && is_delay_mark(line[colon - 1]);
    let end = if is_latency { colon.checked_sub(3).filter(|end| *end > from)? } else { colon };
    let (low, low_start) = digits(line, from, end)?;
    let has_point = low_start > from && line[low_start - 1] == b'.';
    let (time_ns, unit, start) = match (has_point, is_latency) {
        (true, true) => return None,
        (false, true) => (low.checked_mul(1000)?, Unit::WholeMicroseconds, low_start),
        (false, false) => (low, Unit::Ticks, low_start),
        (true, false) => {
            let (seconds, start) = digits(line, from, low_start - 1)?;
            let (ns, unit) = match end - low_start {
                6 => (low * 1000, Unit::Microseconds),
                9 => (low, Unit::Nanoseconds),
                _ => return None,
            };
            (seconds.checked_mul(1_000_000_000)?.checked_add(ns)?, unit, start)
        }
    };
    let before = skip_spaces_back(line, from, start);
    (before < start && before > from).then_some((time_ns, unit, before))
}

/// The CPU, behind which there may be columns of letters, and where what is before it ends.
#[inline]
fn cpu(style: Style, line: &[u8], from: usize, end: usize) -> Option<(u16, usize)> {
    if line[end - 1] == b']' {
        return bracketed(line, from, end);
    }
    if style == Style::Perf {
        return None;
    }
    let mut start = end;
    while start > from && is_column(line[start - 1]) {
        start -= 1;
    }
    if end - start < COLUMNS_MIN {
        return None;
    }
    let before = skip_spaces_back(line, from, start);
    if before <= from || before == start {
        return None;
    }
    if line[before - 1] == b']' {
        return bracketed(line, from, before);
    }
    // The latency format: the CPU is the first column.
    let columns = &line[start..end];
    let number = columns.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if columns.len() - number < COLUMNS_MIN || number == 0 {
        return None;
    }
    let (cpu, _) = digits(line, start, start + number)?;
    Some((u16::try_from(cpu).ok()?, before))
}

/// Interrupts off, need to be scheduled, in which interrupt, how deep in sections that are not
/// preemptible: what the oldest kernels show; newer ones show more.
const COLUMNS_MIN: usize = 4;

fn is_column(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'#' | b'+' | b'!' | b'*' | b'@' | b'$')
}

/// `[001]`, which ends at `end`.
fn bracketed(line: &[u8], from: usize, end: usize) -> Option<(u16, usize)> {
    let (cpu, start) = digits(line, from, end - 1)?;
    if start <= from || line[start - 1] != b'[' {
        return None;
    }
    let before = skip_spaces_back(line, from, start - 1);
    (before > from).then_some((u16::try_from(cpu).ok()?, before))
}

/// `NAME-PID`, perhaps with the process behind it: `( 123)`, `(-----)`.
#[inline]
fn task_behind_dash(line: &[u8], from: usize, end: usize) -> Option<(u32, usize)> {
    let mut end = end;
    if line[end - 1] == b')' {
        let is_process = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
        let inside = line[from..end - 1].iter().rev().take_while(|byte| is_process(byte)).count();
        let open = end - 1 - inside;
        if open <= from || line[open - 1] != b'(' {
            return None;
        }
        end = skip_spaces_back(line, from, open - 1);
    }
    let (task, start) = digits(line, from, end)?;
    if start <= from || line[start - 1] != b'-' {
        return None;
    }
    Some((u32::try_from(task).ok()?, start - 1))
}

/// `NAME PID` or `NAME PID/TID`: the thread.
fn task_behind_space(line: &[u8], from: usize, end: usize) -> Option<(u32, usize)> {
    let (task, mut start) = digits(line, from, end)?;
    if start > from && line[start - 1] == b'/' {
        (_, start) = digits(line, from, start - 1)?;
    }
    let name_end = skip_spaces_back(line, from, start);
    (name_end < start).then_some((u32::try_from(task).ok()?, name_end))
}

fn name_start(line: &[u8], from: usize, is_first: bool, end: usize) -> usize {
    let before = &line[from..end];
    if is_first {
        let blanks = before.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if end - from - blanks <= COMM_BYTES_MAX {
            return from + blanks;
        }
    }
    before.iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(from, |at| from + at + 1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn skip_spaces(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

fn word_end(line: &[u8], start: usize) -> usize {
    let rest = &line[start.min(line.len())..];
    start + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())
}

/// `NAME: fields`, or as calls have it, `sys_NAME(fields)` and `sys_NAME -> result`: the name and
/// where what is behind it begins.
#[inline]
fn event(line: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let start = skip_spaces(line, at);
    let end = word_end(line, start);
    let body = match line.get(end)? {
        b':' => end + 1,
        b'(' => end,
        b' ' if line[end..].starts_with(b" -> ") => end,
        _ => return None,
    };
    (end > start).then_some((&line[start..end], body))
}

/// `[PERIOD] GROUP:NAME: fields`.
fn event_of_group(line: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let mut start = skip_spaces(line, at);
    let period = line[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if period > 0 && matches!(line.get(start + period), Some(b' ')) {
        start = skip_spaces(line, start + period);
    }
    let group_end = word_end(line, start);
    if line.get(group_end) != Some(&b':') {
        // Records of perf's own, as `PERF_RECORD_LOST lost 5`.
        let name = &line[start..group_end];
        return name.starts_with(b"PERF_RECORD_").then_some((name, group_end));
    }
    let name_end = word_end(line, group_end + 1);
    let has_name = name_end > group_end + 1 && line.get(name_end) == Some(&b':');
    has_name.then(|| (&line[group_end + 1..name_end], name_end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memchr::memchr_iter;
    use proptest::prelude::*;

    fn first(style: Style, line: &str) -> Option<Head<'_>> {
        let line = line.as_bytes();
        memchr_iter(b':', line)
            .filter(|colon| may_end_time(line, *colon))
            .find_map(|colon| head(style, line, 0, true, colon))
    }

    /// Name, task, CPU, time, event.
    fn parts(style: Style, line: &str) -> Option<(&str, u32, u16, u64, &str)> {
        let head = first(style, line)?;
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        Some((text(head.comm), head.task, head.cpu, head.time_ns, text(head.event)))
    }

    #[test]
    fn heads_that_ftrace_and_trace_cmd_write() {
        let us = 23_019_509_540_000;
        for (line, expected) in [
            (
                "bash-10334 [001] 23019.509540: sys_exit: NR 1 = 1",
                ("bash", 10334, 1, us, "sys_exit"),
            ),
            (
                "            bash-10334   (  10334) [001] d.h2. 23019.509540: sys_exit: NR 1 = 1",
                ("bash", 10334, 1, us, "sys_exit"),
            ),
            (
                "          <idle>-0       (-------) [001] d.h1. 23019.509540: irq_handler_entry: irq=36",
                ("<idle>", 0, 1, us, "irq_handler_entry"),
            ),
            (
                " lto 8ylk5zenspk-10318   [000] d..3 23019.509540007: cpu_idle: state=1",
                ("lto 8ylk5zenspk", 10318, 0, us + 7, "cpu_idle"),
            ),
            (
                "cyclicte-10303   1d.... 23019.509540: page_fault_user:      address=0x7",
                ("cyclicte", 10303, 1, us, "page_fault_user"),
            ),
            (
                "lto 8ylk-10318     0d.h1 23019509540us+: cpu_idle: state=1",
                ("lto 8ylk", 10318, 0, us, "cpu_idle"),
            ),
            ("a-b-1 2-3-4 [000] .... 5: cpu_idle: state=1", ("a-b-1 2-3", 4, 0, 5, "cpu_idle")),
            ("kworker/0:1-17 [127] 1.000000: x: y", ("kworker/0:1", 17, 127, 1_000_000_000, "x")),
            ("a [000] 1.000000: b-17 [003] 2.000000: x:", ("b", 17, 3, 2_000_000_000, "x")),
            (
                "sleep-6371 [001] ..... 23019.509540: sys_futex(uaddr: 1)",
                ("sleep", 6371, 1, us, "sys_futex"),
            ),
            (
                "sleep-6371 [001] ..... 23019.509540: sys_futex -> 0x0",
                ("sleep", 6371, 1, us, "sys_futex"),
            ),
        ] {
            assert_eq!(parts(Style::Ftrace, line), Some(expected), "{line}");
        }
    }

    #[test]
    fn heads_that_perf_writes() {
        let ns = 23_070_413_656_218;
        for (line, expected) in [
            (
                "   perf 14500 [000] 23070.413656218:   raw_syscalls:sys_exit: NR 16 = 0",
                ("perf", "sys_exit"),
            ),
            (
                " a 1 b 14500/14500 [000] 23070.413656218:   1   irq:softirq_entry: vec=4",
                ("a 1 b", "softirq_entry"),
            ),
            (
                "perf 14500 [000] 23070.413656218: PERF_RECORD_LOST lost 5",
                ("perf", "PERF_RECORD_LOST"),
            ),
        ] {
            let (comm, event) = expected;
            assert_eq!(parts(Style::Perf, line), Some((comm, 14500, 0, ns, event)), "{line}");
            assert_eq!(parts(Style::Ftrace, line), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_head() {
        for line in [
            "",
            ":",
            "1.000000: x: y",
            "[001] 1.000000: x: y",
            "-1 [001] 1.000000: x: y",
            "a-1 [001] 1.00: x: y",
            "a-1 [001] 1.000000:x: y",
            "a-1 [001] 1.000000: x y",
            "a-1 [70000] 1.000000: x: y",
            "a-99999999999 [001] 1.000000: x: y",
            "a-1 [001] 99999999999999999999.000000: x: y",
            "a-1 [001] 18446744073709551615.000000: x: y",
            "a-1 (x) [001] 1.000000: x: y",
            "work struct 0000000066151b7b: function: x",
            "At .412229, \"High\" does a futex lock (system call 240, parameters: 11524, 86,)",
        ] {
            assert_eq!(first(Style::Ftrace, line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes(
            line in prop::collection::vec(
                prop_oneof![
                    any::<u8>(),
                    prop::sample::select(b"-[]():./ 0123us+dh".to_vec()),
                ],
                0..60,
            ),
            from in 0usize..60,
        ) {
            for colon in memchr_iter(b':', &line).filter(|colon| *colon >= from) {
                for style in [Style::Ftrace, Style::Perf] {
                    if let Some(head) = head(style, &line, from, false, colon) {
                        prop_assert!(head.start >= from && head.body <= line.len());
                    }
                }
            }
        }
    }
}
