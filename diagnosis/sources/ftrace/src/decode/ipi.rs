//! Inter-processor interrupts, as who sends them tells.

use super::{Known, Record, State};
use tardy_model::event::IpiSend;
use tardy_model::{Batch, CpuId, Event, NameId};

/// Few kernels have them (x86 since 6.4), and who wants them in a trace has switched them on himself;
/// `ipi_raise` is 32-bit and 64-bit ARM's.
pub(super) const EVENTS: &[Known] = &[
    Known {
        group: "ipi",
        event: "ipi_send_cpu",
        variant: ONE,
        fields: &["cpu", "callback"],
        decode: send,
    },
    Known {
        group: "ipi",
        event: "ipi_send_cpumask",
        variant: MANY,
        fields: &["cpumask", "callback"],
        decode: send,
    },
    Known {
        group: "ipi",
        event: "ipi_raise",
        variant: RAISE,
        fields: &["target_cpus", "reason"],
        decode: send,
    },
];

const ONE: u32 = 0;
const MANY: u32 = 1;
const RAISE: u32 = 2;

const WHERE: usize = 0;
const WHAT_FOR: usize = 1;

/// CPUs beyond these are none (`NR_CPUS` is at most 8192).
const WORDS_MAX: usize = 8192 / 64;

fn send(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let function = what_for(state, record, batch);
    if record.variant == ONE {
        let cpu = CpuId(u16::try_from(record.number(WHERE)?).ok()?);
        return Some(record.event(IpiSend::to(cpu, function)));
    }
    let words = match (record.number(WHERE), record.text(WHERE)) {
        (Some(number), _) => vec![number],
        (None, Some(text)) if !record.values.is_packed() => words_of_text(text)?,
        _ => record.values.words(WHERE)?,
    };
    let words = (0u16..).zip(words).take(WORDS_MAX).filter(|(_, targets)| *targets != 0);
    let mut sends: Vec<Event> = words
        .map(|(word, targets)| IpiSend { targets, first: CpuId(word * 64), function })
        .map(|send| record.event(send))
        .collect();
    let last = sends.pop();
    // To nobody: nothing is sent.
    state.nothing_new |= last.is_none();
    batch.events.append(&mut sends);
    last
}

/// The function that is to be called there; of [`RAISE`], the reason in words.
fn what_for(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> NameId {
    if record.variant == RAISE {
        let Some(reason) = record.text(WHAT_FOR) else { return NameId::NONE };
        return state.definitions.name(&String::from_utf8_lossy(reason), batch);
    }
    match state.function(record, WHAT_FOR, batch) {
        // No callback is told of an interrupt that makes a CPU look for work.
        Some(0) | None => NameId::NONE,
        Some(function) => state.definitions.function(function, batch),
    }
}

/// A mask as the kernel prints it: `00000000,00000080`, the most significant first.
fn words_of_text(text: &[u8]) -> Option<Vec<u64>> {
    let text = std::str::from_utf8(text).ok()?;
    let halves: Option<Vec<u64>> = text
        .trim_start_matches("0x")
        .rsplit(',')
        .take(2 * WORDS_MAX)
        .map(|half| u32::from_str_radix(half, 16).ok().map(u64::from))
        .collect();
    let both = |halves: &[u64]| halves[0] | halves.get(1).copied().unwrap_or(0) << 32;
    Some(halves?.chunks(2).map(both).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_the_kernel_prints_them() {
        for (text, words) in [
            ("80", Some(vec![0x80])),
            ("00000001,00000080", Some(vec![0x1_0000_0080])),
            ("3,00000001,00000080", Some(vec![0x1_0000_0080, 3])),
            ("", None),
            ("7-9", None),
        ] {
            assert_eq!(words_of_text(text.as_bytes()), words, "{text}");
        }
    }
}
