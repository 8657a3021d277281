//! Whether the kernel rearranges memory behind a thread's back.

use super::Finding;
use crate::probe::Probe;

pub(super) fn check(probe: &Probe) -> Finding {
    let Some(modes) = probe.root.word("sys/kernel/mm/transparent_hugepage/enabled") else {
        // PREEMPT_RT excludes them.
        return if probe.preemption.realtime || probe.config.lacks("TRANSPARENT_HUGEPAGE") {
            Finding::good("not in this kernel", "Pages stay as small as they were faulted in.")
        } else {
            Finding::unknown("not told", "Merging pages stops the threads that use them.")
        };
    };
    let chosen = modes
        .split_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
        .unwrap_or(&modes);
    match chosen {
        "never" => Finding::good("never", "Pages are not merged."),
        "madvise" => Finding::good("madvise", "Only memory whose program asked for it is merged."),
        "always" => Finding::notice(
            "always",
            "khugepaged merges pages of running programs: it holds the memory map's lock and \
             interrupts every CPU that uses them, and a first touch clears 2 MiB at once. Locking \
             memory does not prevent it.",
        )
        .change("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        .fix("--only thp"),
        other => Finding::unknown(other, "tardy does not know this mode."),
    }
}
