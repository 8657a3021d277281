//! What a task does on its own way or for others: page faults, signals, pieces of work.

use super::{Known, Record, State};
use tardy_model::event::{PageFault, Signal, WorkBegin, WorkEnd};
use tardy_model::{Batch, Event, NameId};

pub(super) const EVENTS: &[Known] = &[
    Known {
        group: "workqueue",
        event: "workqueue_execute_start",
        variant: 0,
        fields: &["function"],
        decode: begin,
    },
    Known {
        group: "workqueue",
        event: "workqueue_execute_end",
        variant: 0,
        fields: &["function"],
        decode: end,
    },
    Known {
        group: "signal",
        event: "signal_deliver",
        variant: 0,
        fields: &["sig"],
        decode: signal,
    },
];

/// Page faults of all tasks are many: whoever wants them in a trace has switched them on himself.
pub(super) const IMPORTED_EVENTS: &[Known] = &[Known {
    group: "exceptions",
    event: "page_fault_user",
    variant: 0,
    fields: &["address"],
    decode: fault,
}];

fn function(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<NameId> {
    let function = state.function(record, 0, batch)?;
    Some(state.definitions.function(function, batch))
}

fn begin(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let function = function(state, record, batch)?;
    Some(record.event(WorkBegin { function }))
}

#[expect(clippy::unnecessary_wraps, reason = "it has a handler's type")]
fn end(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    // Kernels before 5.6 do not tell it here.
    let function = function(state, record, batch).unwrap_or(NameId::NONE);
    Some(record.event(WorkEnd { function }))
}

fn fault(_: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    Some(record.event(PageFault { address: record.number(0)? }))
}

fn signal(_: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    Some(record.event(Signal { number: record.number(0)? as u32 }))
}
