//! Interrupts that nothing keeps off.

use super::{Known, Record, State};
use tardy_model::event::Nmi;
use tardy_model::{Batch, Event, NameId};

/// The kernel tells of each handler when it has returned, and how long it took.
pub(super) const EVENTS: &[Known] = &[Known {
    group: "nmi",
    event: "nmi_handler",
    variant: 0,
    fields: &["handler", "delta_ns"],
    decode: handled,
}];

fn handled(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let handler = match state.function(record, 0, batch) {
        Some(function) if function != 0 => state.definitions.function(function, batch),
        _ => NameId::NONE,
    };
    let ns = u64::try_from(record.number(1)? as i64).ok()?;
    Some(record.event(Nmi { ns, handler }))
}
