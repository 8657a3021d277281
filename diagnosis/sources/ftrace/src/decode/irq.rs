//! Interrupts, the x86 vectors, and softirqs.

use super::{Known, Record, State};
use tardy_model::event::{
    Irq, IrqBegin, IrqEnd, SoftirqBegin, SoftirqEnd, SoftirqRaise, Vector, softirq,
};
use tardy_model::{Batch, Event, Kind};

const fn irq(event: &'static str, decode: super::Handler) -> Known {
    Known { group: "irq", event, variant: 0, fields: &["irq", "name"], decode }
}

const fn softirq_row(event: &'static str, variant: u32) -> Known {
    Known { group: "irq", event, variant, fields: &["vec"], decode: softirq_event }
}

const RAISE: u32 = 0;
const BEGIN: u32 = 1;
const END: u32 = 2;

pub(super) const EVENTS: &[Known] = &[
    irq("irq_handler_entry", handler_entry),
    irq("irq_handler_exit", handler_exit),
    softirq_row("softirq_raise", RAISE),
    softirq_row("softirq_entry", BEGIN),
    softirq_row("softirq_exit", END),
];

macro_rules! vectors {
    ($($number:literal $name:literal),* $(,)?) => {
        /// Both events of each vector; the variant is its number and, lowest, whether it ends.
        pub(super) const VECTOR_EVENTS: &[Known] = &[$(
            Known {
                group: "irq_vectors",
                event: concat!($name, "_entry"),
                variant: $number << 1,
                fields: &[],
                decode: vector_event,
            },
            Known {
                group: "irq_vectors",
                event: concat!($name, "_exit"),
                variant: $number << 1 | 1,
                fields: &[],
                decode: vector_event,
            },
        )*];
    };
}

vectors! {
    0 "local_timer",
    1 "reschedule",
    2 "call_function",
    3 "call_function_single",
    4 "irq_work",
    5 "x86_platform_ipi",
    6 "thermal_apic",
    7 "threshold_apic",
    8 "deferred_error_apic",
    9 "error_apic",
    10 "spurious_apic",
}

/// ARM tells of inter-processor interrupts by a reason (`arch/arm64/kernel/smp.c`); the variant says whether it
/// ends.
pub(super) const IMPORTED_EVENTS: &[Known] = &[
    Known { group: "ipi", event: "ipi_entry", variant: 0, fields: &["reason"], decode: ipi },
    Known { group: "ipi", event: "ipi_exit", variant: 1, fields: &["reason"], decode: ipi },
];

/// The reasons that x86 has a vector of its own for; all others count as one.
const REASONS: [(&[u8], Vector); 3] = [
    (b"Rescheduling interrupts", Vector::RESCHEDULE),
    (b"Function call interrupts", Vector::CALL_FUNCTION),
    (b"IRQ work interrupts", Vector::IRQ_WORK),
];

fn ipi(_: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let reason = record.text(0)?;
    let known = REASONS.iter().find(|(known, _)| *known == reason);
    let irq = Irq::Vector(known.map_or(Vector::PLATFORM_IPI, |(_, vector)| *vector));
    let ends = record.variant != 0;
    Some(record.event(if ends { Kind::from(IrqEnd { irq }) } else { IrqBegin { irq }.into() }))
}

fn handler_entry(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let number = record.number(0)? as u32;
    let text = record.text(1)?;
    let name = state.definitions.handler(number, &String::from_utf8_lossy(text), batch);
    state.entered.interrupt(record.cpu, Some(record.time_ns));
    Some(record.event(IrqBegin { irq: Irq::Line(number, name) }))
}

fn handler_exit(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let number = record.number(0)? as u32;
    // Its end does not tell the name.
    let name = state.definitions.known_line(number);
    state.entered.interrupt(record.cpu, None);
    Some(record.event(IrqEnd { irq: Irq::Line(number, name) }))
}

#[expect(clippy::unnecessary_wraps, reason = "it has a handler's type")]
fn vector_event(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let irq = Irq::Vector(Vector(record.variant >> 1));
    let ends = record.variant & 1 != 0;
    if irq == Irq::Vector(Vector::LOCAL_TIMER) {
        state.entered.interrupt(record.cpu, (!ends).then_some(record.time_ns));
    }
    Some(record.event(if ends { Kind::from(IrqEnd { irq }) } else { IrqBegin { irq }.into() }))
}

fn softirq_event(state: &mut State, record: &Record<'_>, _: &mut Batch) -> Option<Event> {
    let vector = record.number(0)? as u32;
    if vector == softirq::HRTIMER && record.variant != RAISE {
        let begun_ns = (record.variant == BEGIN).then_some(record.time_ns);
        state.entered.timer_softirq(record.cpu, begun_ns);
    }
    Some(record.event(match record.variant {
        RAISE => Kind::from(SoftirqRaise { vector }),
        BEGIN => SoftirqBegin { vector }.into(),
        _ => SoftirqEnd { vector }.into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_numbered_as_in_the_model() {
        for known in VECTOR_EVENTS {
            let name = Vector(known.variant >> 1).name();
            let end = if known.variant & 1 != 0 { "exit" } else { "entry" };
            assert_eq!(known.event, format!("{name}_{end}"));
        }
        assert_eq!(VECTOR_EVENTS.len(), 2 * Vector::NAMES.len());
    }
}
