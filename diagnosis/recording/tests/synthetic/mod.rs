//! Events made up for tests, and a whole recording in memory.
#![allow(dead_code)]

use std::path::Path;
use tardy_model::event::{Mark, Pack as _};
use tardy_model::{Batch, CpuId, Event, Kind, NameId, TaskId, TimerClass, TimerDef, TimerId};
use tardy_recording::{Recording, Torn};

/// One thing in a recording's stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Name(NameId, String),
    Timer(TimerDef),
    Event(Event),
}

/// An event that carries its number in the stream.
pub(crate) fn numbered(number: u64) -> Event {
    let mark = Mark { expiry_ns: number, sequence: number as u32 };
    Event::new(1000 + number * 100, CpuId((number % 2) as u16), TaskId(7), mark.into())
}

/// The number that [`numbered`] put into an event.
pub(crate) fn number(event: &Event) -> Option<u64> {
    match event.kind() {
        Kind::Mark(_) => Some(Mark::unpack(event.payload()).expiry_ns),
        _ => None,
    }
}

/// Events `from..to`.
pub(crate) fn numbered_batch(from: u64, to: u64) -> Batch {
    Batch { events: (from..to).map(numbered).collect(), ..Batch::default() }
}

/// A batch with a name, a timer and two events that use them.
pub(crate) fn defining_batch(from: u64) -> Batch {
    let id = from as u32 + 1;
    let timer = TimerDef {
        id: TimerId(id),
        address: 0xffff_8880_0000_0000 + from,
        function: NameId(id),
        owner: TaskId(7),
        class: TimerClass::TimerList,
    };
    Batch {
        names: vec![(NameId(id), format!("function_{from}"))],
        timers: vec![timer],
        events: vec![numbered(from), numbered(from + 1)],
    }
}

/// A batch's content in the order in which it counts.
pub(crate) fn items(batch: &Batch) -> impl Iterator<Item = Item> {
    let names = batch.names.iter().map(|(id, name)| Item::Name(*id, name.clone()));
    let timers = batch.timers.iter().map(|timer| Item::Timer(*timer));
    let events = batch.events.iter().map(|event| Item::Event(*event));
    names.chain(timers).chain(events)
}

/// Everything that a recording yields, and where it stopped.
pub(crate) fn read_all(dir: &Path) -> (Vec<Item>, Option<Torn>) {
    let mut recording = Recording::open(dir).unwrap();
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    while recording.read(&mut batch).unwrap() {
        all.extend(items(&batch));
        batch.clear();
    }
    assert!(!recording.read(&mut batch).unwrap() && batch.is_empty(), "the end stays the end");
    (all, recording.stopped_at().cloned())
}
