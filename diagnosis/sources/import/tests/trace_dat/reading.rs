//! Reading a file to its end, and what `trace-cmd` counts in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tardy_import::{Closing, ImportError, Options, Origin};
use tardy_model::{Batch, Event, Kind, Tables};

/// All that a file yields.
pub(crate) struct Whole {
    pub(crate) origin: Origin,
    pub(crate) closing: Closing,
    pub(crate) events: Vec<Event>,
    pub(crate) tables: Tables,
}

pub(crate) fn read(path: &Path) -> Result<Whole, ImportError> {
    let (format, mut import) = tardy_import::open(path, &Options::default())?;
    assert_eq!(format.name(), "trace.dat");
    let (mut events, mut tables, mut batch) = (Vec::new(), Tables::default(), Batch::default());
    while import.next_batch(&mut batch).expect("reads to the end") {
        batch.define(&mut tables);
        events.append(&mut batch.events);
        batch.clear();
    }
    assert!(events.is_sorted_by_key(|event| event.time_ns), "in time order");
    Ok(Whole { origin: import.origin(), closing: import.closing(), events, tables })
}

/// Reads bytes as a file.
pub(crate) fn read_bytes(bytes: &[u8]) -> Result<Whole, ImportError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read(file.path())
}

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Kernel events of which each is one of the model's.
type Same = (&'static [&'static str], fn(&Kind) -> bool);

const SAME: [Same; 14] = [
    (&["sched_switch"], |kind| matches!(kind, Kind::Switch(_))),
    (&["sched_waking"], |kind| matches!(kind, Kind::Waking(_))),
    (&["sched_migrate_task"], |kind| matches!(kind, Kind::Migrate(_))),
    (&["hrtimer_start", "timer_start"], |kind| matches!(kind, Kind::TimerArm(_))),
    (&["hrtimer_cancel", "timer_cancel"], |kind| matches!(kind, Kind::TimerCancel(_))),
    (&["hrtimer_expire_entry", "timer_expire_entry"], |kind| matches!(kind, Kind::ExpireBegin(_))),
    (&["hrtimer_expire_exit", "timer_expire_exit"], |kind| matches!(kind, Kind::ExpireEnd(_))),
    (&["irq_handler_entry", "local_timer_entry"], |kind| matches!(kind, Kind::IrqBegin(_))),
    (&["softirq_raise"], |kind| matches!(kind, Kind::SoftirqRaise(_))),
    (&["softirq_entry"], |kind| matches!(kind, Kind::SoftirqBegin(_))),
    (&["cpu_idle"], |kind| matches!(kind, Kind::IdleEnter(_) | Kind::IdleExit(_))),
    (&["sys_enter"], |kind| matches!(kind, Kind::SyscallEnter(_))),
    (&["sys_exit"], |kind| matches!(kind, Kind::SyscallExit(_))),
    (&["workqueue_execute_start"], |kind| matches!(kind, Kind::WorkBegin(_))),
];

/// Whether there are as many of each event as `trace-cmd report` shows.
pub(crate) fn assert_counts(whole: &Whole, counts: &BTreeMap<String, u64>) {
    let mut all = 0;
    for (names, is_it) in SAME {
        let theirs: u64 = names.iter().filter_map(|name| counts.get(*name)).sum();
        let ours = whole.events.iter().filter(|event| is_it(&event.kind())).count();
        assert_eq!(ours as u64, theirs, "{names:?}");
        all += ours;
    }
    assert!(all > 100, "{all} events");
}
