//! Reads a source to its end and holds its events against what every source promises.

use std::path::Path;
use tardy_import::{Input, Options, formats};
use tardy_model::{Batch, Event, Source, Tables};

/// Batches without events that may come one after the other: each is progress all the same.
const EMPTY_BATCHES_MAX: u32 = 1 << 16;

/// Reads `source` to its end; how many events there were. With `in_order`, none may be earlier than
/// the one before.
pub(crate) fn drain<S: Source + ?Sized>(source: &mut S, in_order: bool) -> usize {
    let mut tables = Tables::default();
    let mut batch = Batch::default();
    let (mut last_ns, mut empty_batches, mut events) = (0, 0, 0);
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch);
        batch.define(&mut tables);
        empty_batches = if batch.is_empty() { empty_batches + 1 } else { 0 };
        assert!(empty_batches < EMPTY_BATCHES_MAX, "it never ends, and yields nothing");
        events += batch.events.len();
        for event in &batch.events {
            assert!(
                !in_order || event.time_ns >= last_ns,
                "times go back from {last_ns}: {event:?}"
            );
            last_ns = event.time_ns;
            assert_eq!(Event::from_bytes(&event.to_bytes()), *event, "it does not fit its record");
            let again = Event::new(event.time_ns, event.cpu, event.task, event.kind());
            assert_eq!(again.kind(), event.kind(), "it does not come back from its record");
        }
        match more {
            Ok(true) => {}
            Ok(false) => return events,
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error says what is wrong");
                return events;
            }
        }
    }
}

/// Reads a trace in the format of this name; how many events it has.
pub(crate) fn import(format: &str, bytes: &[u8]) -> usize {
    let format = formats().find(|known| known.name() == format).expect("a format of that name");
    let input = Input::from_bytes(Path::new("input"), bytes.to_vec());
    let _ = format.recognises(input.head());
    match format.open(input, &Options::default()) {
        Ok(mut import) => {
            let events = drain(&mut *import, true);
            let _ = (import.origin(), import.closing());
            events
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            0
        }
    }
}
