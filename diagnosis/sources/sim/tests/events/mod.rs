//! What a simulation tells.

use tardy_model::{Batch, Event, Source};

/// All events of a source, which is read to its end.
pub(crate) fn events(source: &mut impl Source) -> Vec<Event> {
    let (mut events, mut batch) = (Vec::new(), Batch::default());
    while source.next_batch(&mut batch).expect("it goes on") {
        events.append(&mut batch.events);
        batch.clear();
    }
    events
}
