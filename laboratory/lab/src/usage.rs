//! What the kernel counted against a thread while it measured.

use nix::sys::resource::{UsageWho, getrusage};

/// Page faults and context switches of one thread, as `getrusage(RUSAGE_THREAD)` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Page faults that were served from memory.
    pub minor_faults: u64,
    /// Page faults that had to read from a disk.
    pub major_faults: u64,
    /// How often it went to sleep.
    pub voluntary_switches: u64,
    /// How often it was made to give the CPU away.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// The calling thread's, since it began. One system call. `None` where the kernel does not tell:
    /// `RUSAGE_THREAD` is there since Linux 2.6.26.
    pub fn now() -> Option<Self> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        Some(Self {
            minor_faults: usage.minor_page_faults() as u64,
            major_faults: usage.major_page_faults() as u64,
            voluntary_switches: usage.voluntary_context_switches() as u64,
            involuntary_switches: usage.involuntary_context_switches() as u64,
        })
    }

    /// What has come since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
        }
    }

    /// Page faults of both kinds.
    pub fn faults(&self) -> u64 {
        self.minor_faults + self.major_faults
    }
}

/// The note on page faults of `threads` (name, what was counted) while they measured; `None` where
/// there was none.
pub(crate) fn fault_note<'a>(
    threads: impl IntoIterator<Item = (&'a str, Option<ThreadUsage>)>,
    is_locked: bool,
) -> Option<String> {
    let mut all = ThreadUsage::default();
    let mut names = vec![];
    for (name, usage) in threads {
        let usage = usage.unwrap_or_default();
        if usage.faults() > 0 {
            all.minor_faults += usage.minor_faults;
            all.major_faults += usage.major_faults;
            names.push(format!("{name} {}", usage.faults()));
        }
    }
    let faults = match all.faults() {
        0 => return None,
        1 => "1 page fault".to_owned(),
        more => format!("{more} page faults"),
    };
    let major = match all.major_faults {
        0 => String::new(),
        more => format!(", {more} of them from disk"),
    };
    let remedy = if is_locked {
        "memory was locked, but compaction and NUMA balancing move locked pages too"
    } else {
        "memory was not locked, which needs CAP_IPC_LOCK or `ulimit -l unlimited`"
    };
    Some(format!(
        "{faults} while measuring ({}){major}: they may count as latency; {remedy}.",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_touched_first_and_a_sleep_are_counted() {
        let before = ThreadUsage::now().unwrap();
        // Far above what an allocator keeps: the kernel has only promised it.
        let mut pages = vec![0u8; 64 << 20];
        for page in pages.chunks_mut(4096) {
            page[0] = 1;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        let used = ThreadUsage::now().unwrap().since(before);
        std::hint::black_box(&pages);
        assert!(used.faults() > 0 && used.voluntary_switches > 0, "{used:?}");
        assert_eq!(before.since(before), ThreadUsage::default());
    }

    #[test]
    fn the_note_says_who_how_many_and_what_would_help() {
        let quiet = Some(ThreadUsage { voluntary_switches: 9, ..ThreadUsage::default() });
        assert_eq!(fault_note([("a", quiet), ("b", None)], false), None);
        let two = Some(ThreadUsage { minor_faults: 1, major_faults: 1, ..ThreadUsage::default() });
        let one = Some(ThreadUsage { minor_faults: 1, ..ThreadUsage::default() });
        let note = fault_note([("a", two), ("b", quiet), ("c", one)], false).unwrap();
        let said = "3 page faults while measuring (a 2, c 1), 1 of them from disk: they may count \
                    as latency; memory was not locked, ";
        assert!(note.starts_with(said), "{note}");
        let note = fault_note([("c", one)], true).unwrap();
        assert!(note.starts_with("1 page fault while") && note.contains("was locked"), "{note}");
    }
}
