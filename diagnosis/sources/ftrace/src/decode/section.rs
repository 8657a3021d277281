//! Stretches in which a CPU takes no interrupts, or does not preempt.

use super::{Known, Record, State};
use tardy_model::event::{Section, SectionBegin, SectionEnd};
use tardy_model::{Batch, Event, Kind, NameId};

const fn section(event: &'static str, variant: u32) -> Known {
    Known { group: "preemptirq", event, variant, fields: &["caller", "caller_offs"], decode: told }
}

/// They are very many: whoever wants them in a trace has switched them on himself, and the kernel must
/// be built for it (`CONFIG_PREEMPTIRQ_TRACEPOINTS`).
pub(super) const IMPORTED_EVENTS: &[Known] = &[
    section("irq_disable", IRQS | BEGINS),
    section("irq_enable", IRQS),
    section("preempt_disable", BEGINS),
    section("preempt_enable", 0),
];

const BEGINS: u32 = 1;
const IRQS: u32 = 2;

#[expect(clippy::unnecessary_wraps, reason = "it has a handler's type")]
fn told(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let section = if record.variant & IRQS != 0 { Section::IrqsOff } else { Section::PreemptOff };
    let caller = caller(state, record, batch);
    Some(record.event(if record.variant & BEGINS != 0 {
        Kind::from(SectionBegin { section, caller })
    } else {
        SectionEnd { section, caller }.into()
    }))
}

/// Texts show its name; records have its distance from where the kernel begins.
fn caller(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> NameId {
    if let Some(function) = state.function(record, 0, batch) {
        if function == 0 {
            return NameId::NONE;
        }
        return state.definitions.caller(function, batch);
    }
    let (Some(offset), Some(begin)) = (record.number(1), state.definitions.symbols().text_begin())
    else {
        return NameId::NONE;
    };
    state.definitions.caller(begin.wrapping_add_signed(i64::from(offset as i32)), batch)
}
