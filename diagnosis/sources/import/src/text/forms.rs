//! Events whose text is no row of `key=value`, in some kernels and programs or in all.

use super::fields::{Fields, decimal, function, hex, number};
use memchr::memmem;
use tardy_ftrace::decode::Value;
use tardy_model::event::futex;

use super::head::COMM_BYTES_MAX;

/// `NAME:PID [PRIO]`, as trace-cmd and old kernels show a task, and what follows.
struct Task<'a> {
    comm: &'a [u8],
    pid: u64,
    prio: u64,
    rest: &'a [u8],
}

/// The task at the beginning of `text`. Its name may hold colons, so the last place counts at which
/// numbers follow one.
fn task(text: &[u8]) -> Option<Task<'_>> {
    let text = text.trim_ascii_start();
    let at = |colon: usize| {
        let behind = text.get(colon..)?.strip_prefix(b":")?;
        let pid_bytes = behind.iter().position(|byte| *byte == b' ')?;
        let inside = behind[pid_bytes + 1..].strip_prefix(b"[")?;
        let prio_bytes = inside.iter().position(|byte| *byte == b']')?;
        let (pid, prio) = (decimal(&behind[..pid_bytes])?, number(&inside[..prio_bytes])?);
        Some(Task { comm: &text[..colon], pid, prio, rest: &inside[prio_bytes + 1..] })
    };
    // Longer names are such as somebody has written over.
    (0..=COMM_BYTES_MAX).rev().chain(COMM_BYTES_MAX + 1..64).find_map(at)
}

/// Kernels before 2.6.32 put a word before.
fn without_task_word(comm: &[u8]) -> &[u8] {
    comm.strip_prefix(b"task ").unwrap_or(comm)
}

/// What stands between the two tasks of a switch.
const ARROW: &[u8] = b" ==> ";

/// `NAME:PID [PRIO] STATE ==> NAME:PID [PRIO]`.
pub(crate) fn switch(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    // Names may hold an arrow too: a task with its state stands before the one that is meant, a task behind.
    let at = |arrow: usize| {
        let (prev, next) = (task(&body[..arrow])?, task(&body[arrow + ARROW.len()..])?);
        let state = prev.rest.trim_ascii();
        let old = state.strip_prefix(b"(").and_then(|state| state.strip_suffix(b")"));
        let (state, comm) = match old {
            Some(state) => (state, without_task_word(prev.comm)),
            None => (state, prev.comm),
        };
        let is_state = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'|' | b'+');
        let is_whole = !state.is_empty() && state.iter().all(is_state);
        is_whole.then_some((prev, comm, state, next))
    };
    let Some((prev, comm, state, next)) = memmem::find_iter(body, ARROW).find_map(at) else {
        return fields;
    };
    let values = [
        Value::Number(prev.pid),
        Value::Text(comm),
        Value::Number(prev.prio),
        Value::Text(state),
        Value::Number(next.pid),
        Value::Text(next.comm),
        Value::Number(next.prio),
    ];
    fields.values[..values.len()].copy_from_slice(&values);
    fields
}

/// `NAME:PID [PRIO] success=1 CPU:001`, and in the oldest kernels `[001]` at the end.
pub(crate) fn wakeup(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    let Some(Task { comm, pid, prio, rest }) = task(body) else { return fields };
    let mut comm = comm;
    let mut cpu = Value::Missing;
    for word in rest.split(|byte| *byte == b' ') {
        let old = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"));
        if let Some(success) = word.strip_prefix(b"success=").and_then(decimal) {
            fields.set(4, Value::Number(success));
        } else if let Some(number) = word.strip_prefix(b"CPU:").and_then(decimal) {
            cpu = Value::Number(number);
            break;
        } else if let Some(number) = old.and_then(decimal) {
            cpu = Value::Number(number);
            comm = without_task_word(comm);
            break;
        } else if !word.is_empty() {
            break;
        }
    }
    fields.set(0, Value::Number(pid));
    fields.set(1, Value::Text(comm));
    fields.set(2, Value::Number(prio));
    fields.set(3, cpu);
    fields
}

/// `work struct 0x…: function NAME`.
pub(crate) fn work(body: &[u8]) -> Fields<'_> {
    const WORD: &[u8] = b"function";
    let mut fields = Fields::default();
    if let Some(at) = memmem::find(body, WORD) {
        let behind = body[at + WORD.len()..].trim_ascii_start();
        let behind = behind.strip_prefix(b"=").unwrap_or(behind);
        let word = behind.split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
        fields.set(0, function(word));
    }
    fields
}

/// `(Rescheduling interrupts)`.
pub(crate) fn reason(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    let body = body.trim_ascii();
    if let Some(reason) = body.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")) {
        fields.set(0, Value::Text(reason));
    }
    fields
}

/// `target_mask=00000000,00000080 (Function call interrupts)`.
pub(crate) fn ipi(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    if let Some(rest) = body.trim_ascii().strip_prefix(b"target_mask=")
        && let Some(mask) = rest.split(|byte| *byte == b' ').next().filter(|mask| !mask.is_empty())
    {
        fields.set(0, Value::Text(mask));
        let reason = rest[mask.len()..].trim_ascii();
        if let Some(reason) = reason.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")) {
            fields.set(1, Value::Text(reason));
        }
    }
    fields
}

/// `perf_event_nmi_handler() delta_ns: 2345 handled: 1`.
pub(crate) fn nmi(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    let body = body.trim_ascii_start();
    let Some(paren) = memmem::find(body, b"()") else { return fields };
    fields.set(0, function(&body[..paren]));
    if let Some(rest) = body[paren + 2..].trim_ascii_start().strip_prefix(b"delta_ns:")
        && let Some(ns) =
            number(rest.trim_ascii_start().split(|byte| *byte == b' ').next().unwrap_or_default())
    {
        fields.set(1, Value::Number(ns));
    }
    fields
}

/// `NR 240 (11524, 86, 1, 0, 11524, b6e06920)`: hexadecimal.
pub(crate) fn enter(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    let Some((id, rest)) = numbered(body) else { return fields };
    let Some(mut rest) = rest.strip_prefix(b"(") else { return fields };
    for field in 1..=3 {
        let bytes = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let Some(argument) = hex(&rest[..bytes]) else { return fields };
        fields.set(field, Value::Number(argument));
        rest = &rest[bytes..];
        rest = rest.strip_prefix(b",").unwrap_or(rest);
        rest = rest.trim_ascii_start();
    }
    // Without its arguments it may be anything.
    fields.set(0, Value::Number(id));
    fields
}

/// `NR 240 = 0`.
pub(crate) fn exit(body: &[u8]) -> Fields<'_> {
    let mut fields = Fields::default();
    if let Some((id, rest)) = numbered(body)
        && let Some(rest) = rest.strip_prefix(b"= ")
    {
        let word = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
        if let Some(result) = number(word) {
            fields.set(0, Value::Number(id));
            fields.set(1, Value::Number(result));
        }
    }
    fields
}

/// `NR 240 `, and what follows.
fn numbered(body: &[u8]) -> Option<(u64, &[u8])> {
    let behind = body.trim_ascii_start().strip_prefix(b"NR ")?;
    let bytes = behind.iter().position(|byte| *byte == b' ')?;
    Some((number(&behind[..bytes])?, &behind[bytes + 1..]))
}

/// `(uaddr: 0x7f…, op: 0x81, val: 1)`, hexadecimal with `0x` or without; trace-cmd shows some calls as
/// `op=FUTEX_WAKE|FUTEX_PRIVATE_FLAG uaddr=0x7f… val=1`.
pub(crate) fn single_enter<'a>(call: &'a [u8], body: &'a [u8]) -> Fields<'a> {
    let mut fields = Fields::default();
    fields.set(0, Value::Text(call));
    let is_end = |byte: &u8| matches!(byte, b' ' | b',' | b'(' | b')');
    let mut words = body.split(is_end).filter(|word| !word.is_empty());
    let mut place = 1;
    while let Some(word) = words.next() {
        let (name, value) = if let Some(name) = word.strip_suffix(b":") {
            let word = words.next().unwrap_or_default();
            (name, hex(word.strip_prefix(b"0x").unwrap_or(word)))
        } else if let Some(equals) = word.iter().position(|byte| *byte == b'=') {
            let (name, word) = (&word[..equals], &word[equals + 1..]);
            (name, number(word).or_else(|| futex_op(word)))
        } else {
            continue;
        };
        let field = match (call, name) {
            (b"futex" | b"futex_time64", b"uaddr") => 1,
            (b"futex" | b"futex_time64", b"op") => 2,
            (b"futex" | b"futex_time64", b"val") => 3,
            (b"futex" | b"futex_time64", _) => continue,
            _ => place,
        };
        place += 1;
        if let Some(value) = value.filter(|_| field <= 3) {
            fields.set(field, Value::Number(value));
        }
    }
    fields
}

/// `FUTEX_WAKE|FUTEX_PRIVATE_FLAG`.
fn futex_op(words: &[u8]) -> Option<u64> {
    words.split(|byte| *byte == b'|').try_fold(0, |op, word| {
        let name = word.strip_prefix(b"FUTEX_")?;
        let bits = match name {
            b"PRIVATE_FLAG" => 0x80,
            b"CLOCK_REALTIME" => 0x100,
            // The list in `linux/futex.h` ends below 16.
            name => (0..16).find(|op| futex::name(*op).as_bytes() == name)?.into(),
        };
        Some(op | bits)
    })
}

/// ` -> 0x0`, or the result alone.
pub(crate) fn single_exit<'a>(call: &'a [u8], body: &'a [u8]) -> Fields<'a> {
    let mut fields = Fields::default();
    let body = body.trim_ascii();
    let body = body.strip_prefix(b"-> ").unwrap_or(body);
    let word = body.split(|byte| *byte == b' ').next().unwrap_or_default();
    if let Some(result) = number(word) {
        fields.set(0, Value::Text(call));
        fields.set(1, Value::Number(result));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values as a reader would write them, up to the last that is there.
    fn shown(fields: &Fields<'_>) -> String {
        let value = |value: &Value<'_>| match value {
            Value::Missing => "-".to_owned(),
            Value::Number(number) => (*number as i64).to_string(),
            Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        };
        let shown: Vec<String> = fields.values.iter().map(value).collect();
        shown.join(",").trim_end_matches(['-', ',']).to_owned()
    }

    #[test]
    fn switches_of_trace_cmd_and_old_kernels() {
        for (body, expected) in [
            (
                "High-prio******:1312 [40] S ==> Busy-loop******:1313 [41]",
                "1312,High-prio******,40,S,1313,Busy-loop******,41",
            ),
            (
                "  kworker/0:1:17 [120] R+ ==> a:b:18 [-1] and more",
                "17,kworker/0:1,120,R+,18,a:b,-1",
            ),
            ("a:1 [2] b:3 [120] D|K ==> swapper/0:0 [120]", "3,a:1 [2] b,120,D|K,0,swapper/0,120"),
            ("task bash:7 [120] (R) ==> events/0:9 [115]", "7,bash,120,R,9,events/0,115"),
            ("task bash:7 [120] ==> events/0:9 [115]", ""),
            ("a ==> b:7 [120] S ==> sh:8 [120]", "7,a ==> b,120,S,8,sh,120"),
            ("sh:8 [120] R+ ==> a ==> b:7 [120]", "8,sh,120,R+,7,a ==> b,120"),
            (" ==> :7 [120] S ==>  ==> :8 [120]", "7,==> ,120,S,8,==> ,120"),
            ("a ==> b:7 [120] ==> sh:8 [120]", ""),
            ("bash:7 [120] S ==>", ""),
            ("bash:x [120] S ==> sh:8 [120]", ""),
        ] {
            assert_eq!(shown(&switch(body.as_bytes())), expected, "{body}");
        }
    }

    #[test]
    fn wakeups_of_trace_cmd_and_old_kernels() {
        for (body, expected) in [
            ("High:1312 [40] success=1 CPU:001", "1312,High,40,1,1"),
            ("coordinator:5336 [19] CPU:000", "5336,coordinator,19,0"),
            ("task bash:7 [120] success=0 [003]", "7,bash,120,3,0"),
            ("bash:7 [120] and more CPU:001", "7,bash,120"),
            ("bash", ""),
        ] {
            assert_eq!(shown(&wakeup(body.as_bytes())), expected, "{body}");
        }
    }

    #[test]
    fn calls() {
        for (fields, expected) in [
            (enter(b" NR 240 (11524, 86, 1, 0, 11524, b6e06920)"), "240,70948,134,1"),
            (enter(b"NR -1 (0, 0, 0, 0, 0, 0)"), "-1,0,0,0"),
            (enter(b"NR 240 (11524, 86"), "-,70948,134"),
            (enter(b"NR 240"), ""),
            (exit(b" NR 240 = 0"), "240,0"),
            (exit(b" NR 202 = -11 and more"), "202,-11"),
            (exit(b" NR 202 ="), ""),
            (
                single_enter(b"futex", b"(uaddr: 0x10, op: 0x81, val: 2, utime: 0)"),
                "futex,16,129,2",
            ),
            (single_enter(b"futex", b"(uaddr: 10, op: 86, val: 2)"), "futex,16,134,2"),
            (
                single_enter(b"futex", b" op=FUTEX_LOCK_PI|FUTEX_PRIVATE_FLAG uaddr=0x10 val=17"),
                "futex,16,134,17",
            ),
            (
                single_enter(
                    b"clock_nanosleep",
                    b" which_clock: 0x00000001, flags: 0x1, rqtp: 0x7f",
                ),
                "clock_nanosleep,1,1,127",
            ),
            (single_enter(b"getpid", b"()"), "getpid"),
            (single_exit(b"futex", b" -> 0xfffffffffffffff5"), "futex,-11"),
            (single_exit(b"futex", b"  0x0"), "futex,0"),
            (single_exit(b"futex", b" -> "), ""),
        ] {
            assert_eq!(shown(&fields), expected);
        }
    }

    #[test]
    fn interrupts_between_cpus_and_those_that_nothing_keeps_off() {
        for (fields, expected) in [
            (
                ipi(b" target_mask=00000000,00000080 (Function call interrupts)"),
                "00000000,00000080,Function call interrupts",
            ),
            (ipi(b"target_mask=80"), "80"),
            (ipi(b"target_mask= (Rescheduling interrupts)"), ""),
            (
                nmi(b" perf_event_nmi_handler() delta_ns: 2345 handled: 1"),
                "perf_event_nmi_handler,2345",
            ),
            (nmi(b"perf_event_nmi_handler() delta"), "perf_event_nmi_handler"),
            (nmi(b"x"), ""),
        ] {
            assert_eq!(shown(&fields), expected);
        }
    }

    #[test]
    fn pieces_of_work() {
        for (body, expected) in [
            (" work struct 0000000066151b7b: function blk_mq_run_work_fn", "blk_mq_run_work_fn"),
            (" work struct 0xffff88: function vmstat_update [module]", "vmstat_update"),
            (" work struct 0xffff88", ""),
        ] {
            assert_eq!(shown(&work(body.as_bytes())), expected, "{body}");
        }
    }
}
