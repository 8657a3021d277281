//! Which CPUs there are, and how much memory their buffers may take together.

use std::path::Path;

/// What the buffers of all CPUs take at most where nobody asks for more: those of a machine with few CPUs are of
/// their usual size, of one with hundreds they are smaller.
pub const BUFFERS_BYTES_MAX: u64 = 512 << 20;

/// The most CPUs that are taken from a list: more than any kernel is built for.
const CPUS_MAX: u16 = 8192;

/// One more than the highest number of a CPU that is there, online or not. A kernel that allows for more (slots for
/// CPUs that are not plugged in) has no memory set aside for those.
pub fn present_end() -> u16 {
    end_of(Path::new("/sys/devices/system/cpu/present")).unwrap_or_else(available)
}

/// One more than the highest number of a CPU that is online.
pub fn online_end() -> u16 {
    end_of(Path::new("/sys/devices/system/cpu/online")).unwrap_or_else(available)
}

/// How many CPUs are online.
pub(crate) fn online_count() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    list.and_then(|list| count(&list)).unwrap_or_else(|| available().into())
}

/// Where sysfs does not say.
fn available() -> u16 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u16::try_from(cpus).unwrap_or(CPUS_MAX)
}

/// What one CPU's buffer takes of so many, where `usual` is what it would take.
pub fn buffer_bytes(usual: u64, cpus: u16) -> u64 {
    usual.min(BUFFERS_BYTES_MAX / u64::from(cpus.max(1)))
}

/// What a recorder says of CPUs that came after it had begun, for which it has no buffer: `recorded` is one more than
/// the highest number of those that have.
pub fn unrecorded_note(recorded: u16) -> Option<String> {
    let online = online_end();
    (online > recorded).then(|| {
        format!(
            "CPUs {recorded} to {} came after the recording had begun: nothing is recorded of them",
            online - 1
        )
    })
}

fn end_of(list: &Path) -> Option<u16> {
    end(&std::fs::read_to_string(list).ok()?)
}

/// Of `0-3,8` that is 9.
fn end(list: &str) -> Option<u16> {
    let highest = list.trim().rsplit([',', '-']).next()?.parse::<u16>().ok()?;
    Some(highest.min(CPUS_MAX - 1) + 1)
}

/// Of `0-3,8` that is 5.
fn count(list: &str) -> Option<u32> {
    let ranges = list.trim().split(',').map(|cpus| {
        let (from, until) = cpus.split_once('-').unwrap_or((cpus, cpus));
        let [from, until] = [from, until].map(str::parse::<u16>);
        Some(u32::from(until.ok()?.checked_sub(from.ok()?)?) + 1)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_a_list_are_counted() {
        assert_eq!(count("0-3,8\n"), Some(5));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-65535,0-65535"), Some(131_072));
        for none in ["", "3-1", "0-", "a"] {
            assert_eq!(count(none), None, "{none}");
        }
    }

    #[test]
    fn a_list_ends_after_its_highest_cpu() {
        for (list, expected) in [
            ("0\n", Some(1)),
            ("0-3,8\n", Some(9)),
            ("0-255", Some(256)),
            ("", None),
            ("a-b", None),
        ] {
            assert_eq!(end(list), expected, "{list:?}");
        }
        assert_eq!(end("0-65535"), Some(CPUS_MAX));
    }

    #[test]
    fn many_cpus_have_smaller_buffers() {
        assert_eq!(buffer_bytes(4 << 20, 2), 4 << 20);
        assert_eq!(buffer_bytes(4 << 20, 128), 4 << 20);
        assert_eq!(buffer_bytes(4 << 20, 256), 2 << 20);
        assert_eq!(buffer_bytes(4 << 20, 0), 4 << 20);
    }

    #[test]
    fn the_cpus_of_this_machine_are_counted() {
        assert!((1..=present_end()).contains(&online_end()));
        assert_eq!(unrecorded_note(present_end()), None);
        assert!(unrecorded_note(0).unwrap().starts_with("CPUs 0 to "));
    }
}
