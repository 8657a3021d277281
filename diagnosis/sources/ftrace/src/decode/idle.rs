//! Idle states.

use super::{Known, Record, State};
use tardy_model::event::{IdleEnter, IdleExit};
use tardy_model::{Batch, Event};

pub(super) const EVENTS: &[Known] = &[Known {
    group: "power",
    event: "cpu_idle",
    variant: 0,
    fields: &["state"],
    decode: cpu_idle,
}];

/// `PWR_EVENT_EXIT`.
const EXIT: u32 = u32::MAX;

fn cpu_idle(system: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let state = record.number(0)? as u32;
    system.entered.outside(record.cpu, record.current, record.time_ns);
    Some(if state == EXIT {
        record.event(IdleExit)
    } else {
        let states = &system.idle_states;
        let (polls, only) = (states.polls(state), states.is_without_choice());
        record.event(IdleEnter { state, polls, only })
    })
}
