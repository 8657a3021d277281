//! What tardy's own export writes into a text beside the kernel's events.

use super::fields::decimal;
use tardy_model::TaskId;
use tardy_model::event::{Mark, TaskInfo};

/// The event in which programs write into a trace.
pub(crate) const MARK_EVENT: &[u8] = b"tracing_mark_write";

/// `# tardy: task pid=7 process=5 flags=4`: what is known of a thread.
pub(crate) fn task(line: &[u8]) -> Option<(TaskId, TaskInfo)> {
    let rest = line.strip_prefix(b"# tardy: task ")?;
    let number = |key: &[u8]| u32::try_from(value(rest, key)?).ok();
    let info = TaskInfo {
        process: TaskId(number(b"process=")?),
        flags: u8::try_from(number(b"flags=")?).ok()?,
    };
    Some((TaskId(number(b"pid=")?), info))
}

/// `tardy: mark expiry_ns=1000 sequence=3`: a thread's own reading.
pub(crate) fn mark(body: &[u8]) -> Option<Mark> {
    let rest = body.trim_ascii_start().strip_prefix(b"tardy: mark ")?;
    let sequence = u32::try_from(value(rest, b"sequence=")?).ok()?;
    Some(Mark { expiry_ns: value(rest, b"expiry_ns=")?, sequence })
}

fn value(text: &[u8], key: &[u8]) -> Option<u64> {
    let mut words = text.split(u8::is_ascii_whitespace);
    decimal(words.find_map(|word| word.strip_prefix(key))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tardys_own() {
        let info = TaskInfo { process: TaskId(5), flags: 12 };
        assert_eq!(task(b"# tardy: task pid=7 process=5 flags=12"), Some((TaskId(7), info)));
        assert_eq!(task(b"# tardy: task pid=7 process=5"), None);
        assert_eq!(task(b"# tardy: task pid=7 process=5 flags=300"), None);
        let expected = Some(Mark { expiry_ns: 18_446_744_073_709_551_615, sequence: 4 });
        let text = b" tardy: mark expiry_ns=18446744073709551615 sequence=4";
        assert_eq!(mark(text), expected);
        assert_eq!(mark(b"tardy: mark expiry_ns=99999999999999999999 sequence=4"), None);
        assert_eq!(mark(b"anything at all"), None);
    }
}
