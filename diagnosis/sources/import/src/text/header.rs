//! Lines that say something of the whole trace.

use super::fields::decimal;
use crate::Origin;

/// Takes from a line what it says of the trace's origin.
pub(crate) fn read(line: &[u8], origin: &mut Origin) {
    let Ok(line) = std::str::from_utf8(line) else { return };
    if let Some(cpus) = line.strip_prefix("cpus=").and_then(|cpus| cpus.trim().parse().ok()) {
        origin.cpus = cpus;
        name("trace-cmd report", origin);
        return;
    }
    let Some(remark) = line.strip_prefix('#').map(str::trim) else { return };
    if remark.starts_with("tracer:") {
        name("ftrace", origin);
    }
    if let Some((_, cpus)) = remark.split_once("#P:") {
        let digits = cpus.bytes().take_while(u8::is_ascii_digit).count();
        origin.cpus = cpus[..digits].parse().unwrap_or(origin.cpus);
    }
    if let Some((_, release)) = remark.split_once(" latency trace v1.1.5 on ") {
        release.trim().clone_into(&mut origin.kernel_release);
    }
    // `event : name = …, clockid = 1`, of perf.
    if remark.starts_with("event :")
        && let Some((_, clock)) = remark.split_once(" clockid = ")
    {
        let number = clock.split([',', ' ']).next().unwrap_or_default();
        posix_clock(number).clone_into(&mut origin.clock);
    }
    let Some((key, value)) = remark.split_once(':') else { return };
    let (key, value) = (key.trim(), value.trim());
    match key {
        "clock" | "trace_clock" => value.clone_into(&mut origin.clock),
        // perf's words, and those of tardy's own export.
        "hostname" | "host" => value.clone_into(&mut origin.host),
        "os release" | "kernel" => value.clone_into(&mut origin.kernel_release),
        "arch" | "machine" => value.clone_into(&mut origin.machine),
        "hz" => origin.hz = value.parse().unwrap_or(0),
        "written by" => value.clone_into(&mut origin.written_by),
        "perf version" => origin.written_by = format!("perf {value}"),
        "nrcpus online" => origin.cpus = value.parse().unwrap_or(origin.cpus),
        _ => {}
    }
}

fn name(program: &str, origin: &mut Origin) {
    if origin.written_by.is_empty() {
        program.clone_into(&mut origin.written_by);
    }
}

/// The kernel's clocks by number, as `trace_clock` calls them.
fn posix_clock(number: &str) -> &'static str {
    match number {
        "1" => "mono",
        "4" => "mono_raw",
        "7" => "boot",
        "11" => "tai",
        _ => "",
    }
}

/// Events that a line says were lost: on which CPU, and how many where it tells.
///
/// `CPU:1 [LOST 123 EVENTS]` and `CPU:1 [LOST EVENTS]` are the kernel's, `CPU:1 [123 EVENTS DROPPED]`
/// and `CPU:1 [EVENTS DROPPED]` are trace-cmd's. `##### CPU 1 buffer started ####` says that what was
/// before on that CPU is not in the text.
pub(crate) fn lost(line: &[u8]) -> Option<(u16, u32)> {
    let line = line.trim_ascii();
    let cpu = |digits: &[u8]| u16::try_from(decimal(digits)?).ok();
    if let Some(rest) = line.strip_prefix(b"##### CPU ") {
        let digits = rest.strip_suffix(b" buffer started ####")?;
        return Some((cpu(digits)?, u32::MAX));
    }
    let rest = line.strip_prefix(b"CPU:")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let inside = rest[digits..].strip_prefix(b" [")?.strip_suffix(b"]")?;
    let mut words = inside.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let (mut count, mut is_loss) = (u32::MAX, false);
    for word in words.by_ref() {
        match word {
            b"LOST" | b"DROPPED" => is_loss = true,
            b"EVENTS" => {}
            word => count = u32::try_from(decimal(word)?).unwrap_or(u32::MAX - 1),
        }
    }
    is_loss.then_some((cpu(&rest[..digits])?, count))
}

/// `PERF_RECORD_LOST lost 5`: what is behind the name.
pub(crate) fn lost_by_perf(body: &[u8]) -> u32 {
    let word = body.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    decimal(word).map_or(u32::MAX, |count| u32::try_from(count).unwrap_or(u32::MAX - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses() {
        for (line, expected) in [
            ("##### CPU 1 buffer started ####", Some((1, u32::MAX))),
            ("CPU:1 [LOST 123 EVENTS]", Some((1, 123))),
            ("CPU:12 [LOST EVENTS]", Some((12, u32::MAX))),
            ("CPU:0 [7 EVENTS DROPPED]", Some((0, 7))),
            ("CPU:0 [EVENTS DROPPED]", Some((0, u32::MAX))),
            ("CPU:0 [99999999999 EVENTS DROPPED]", Some((0, u32::MAX - 1))),
            ("CPU:0 [EVENTS]", None),
            ("CPU:x [LOST EVENTS]", None),
            ("CPU 0 is empty", None),
        ] {
            assert_eq!(lost(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(lost_by_perf(b" lost 5"), 5);
        assert_eq!(lost_by_perf(b""), u32::MAX);
    }

    #[test]
    fn what_headers_say() {
        let mut origin = Origin::default();
        for line in [
            "# tracer: nop",
            "# nop latency trace v1.1.5 on 6.18.44",
            "# latency: 0 us, #6891/6891, CPU#0 | (M:PREEMPT(none) VP:0, KP:0, SP:0 HP:0 #P:2)",
            "# trace_clock: mono",
        ] {
            read(line.as_bytes(), &mut origin);
        }
        let expected = Origin {
            clock: "mono".to_owned(),
            kernel_release: "6.18.44".to_owned(),
            cpus: 2,
            written_by: "ftrace".to_owned(),
            ..Origin::default()
        };
        assert_eq!(origin, expected);

        let mut origin = Origin::default();
        for line in [
            "# captured on    : Sat Nov 21 15:05:43 2026",
            "# hostname : box",
            "# os release : 6.1.0",
            "# perf version : 6.1.187",
            "# arch : x86_64",
            "# nrcpus online : 4",
            "# event : name = sched:sched_switch, , id = { 1 }, use_clockid = 1, clockid = 1",
        ] {
            read(line.as_bytes(), &mut origin);
        }
        let expected = Origin {
            clock: "mono".to_owned(),
            host: "box".to_owned(),
            kernel_release: "6.1.0".to_owned(),
            machine: "x86_64".to_owned(),
            cpus: 4,
            hz: 0,
            written_by: "perf 6.1.187".to_owned(),
        };
        assert_eq!(origin, expected);
    }
}
