//! Whether memory can be paged out.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let total_kb = probe.root.text("proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("SwapTotal:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    match total_kb {
        None => Finding::unknown("not told", "A page that was swapped out costs milliseconds."),
        Some(0) => Finding::good(
            "none",
            "Anonymous memory stays; a program's code may still be dropped and read again, unless \
             it is locked.",
        ),
        Some(kb) => Finding::notice(
            format!("{} MiB", kb / 1024),
            "A thread that touches a page which was swapped out waits for the disk for \
             milliseconds, unless its process locked its memory.",
        )
        .change("mlockall(MCL_CURRENT | MCL_FUTURE) in the program")
        .change("swapoff -a")
        .fix("--only swappiness"),
    }
}
