//! Traces as text: small ones of every dialect, and what real programs wrote.
//!
//! In `../data/`, `trace-*` and `perf-*` were recorded on one x86-64 machine (Linux 6.18, trace-cmd
//! 3.1.6, perf 6.1), two CPUs busy with compilers and a cyclictest; files that differ in an option's
//! name only are of the same events.

mod broken;
mod dialects;
mod follows;
mod mail;
mod order;
mod recorded;
mod stacks;

use std::io::Write;
use tardy_import::{Closing, Options, Origin};
use tardy_model::event::{ExpireBegin, TimerArm};
use tardy_model::{Batch, Event, Kind, Tables};

/// What a file means.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) format: &'static str,
    pub(crate) events: Vec<Event>,
    pub(crate) tables: Tables,
    pub(crate) origin: Origin,
    pub(crate) closing: Closing,
}

impl Read {
    /// Events without those that say who tasks are.
    pub(crate) fn of_kinds(&self) -> Vec<Event> {
        let is_other =
            |event: &&Event| !matches!(event.kind(), Kind::TaskName(_) | Kind::TaskInfo(_));
        self.events.iter().filter(is_other).copied().collect()
    }

    /// The names that a task is given, in order.
    pub(crate) fn names_of(&self, task: u32) -> Vec<String> {
        let of_task = self.events.iter().filter(|event| event.task.0 == task);
        of_task
            .filter_map(|event| match event.kind() {
                Kind::TaskName(name) => Some(name.comm.to_string()),
                _ => None,
            })
            .collect()
    }
}

/// The same without expiries, which are placed by all of the kernel's clock readings in a trace: so
/// they depend on how exactly its times are shown, and on where it ends.
pub(crate) fn without_expiry(event: &Event) -> Event {
    let kind = match event.kind() {
        Kind::TimerArm(arm) => TimerArm { soft_ns: 0, ..arm }.into(),
        Kind::ExpireBegin(begin) => ExpireBegin { soft_ns: 0, ..begin }.into(),
        kind => kind,
    };
    Event::new(event.time_ns, event.cpu, event.task, kind)
}

/// Reads a text as a file.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Read {
    try_read(text, None).expect("a trace")
}

pub(crate) fn try_read(
    text: impl AsRef<[u8]>,
    format: Option<&str>,
) -> Result<Read, Box<dyn std::error::Error + Send + Sync>> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(text.as_ref())?;
    let options = Options { format: format.map(str::to_owned), ..Options::default() };
    let (format, mut import) = tardy_import::open(file.path(), &options)?;
    let (mut events, mut tables) = (Vec::new(), Tables::default());
    let mut batch = Batch::default();
    while import.next_batch(&mut batch)? {
        batch.define(&mut tables);
        events.append(&mut batch.events);
        batch.clear();
    }
    assert!(events.is_sorted_by_key(|event| event.time_ns), "events come in time order");
    let (origin, closing) = (import.origin(), import.closing());
    Ok(Read { format: format.name(), events, tables, origin, closing })
}
