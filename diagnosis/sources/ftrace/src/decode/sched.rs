//! The scheduler's events.

use super::{Known, Record, State};
use std::collections::BTreeMap;
use tardy_kernel::folded;
use tardy_model::event::{
    FOR_IO, FRAME_SEPARATOR, Migrate, Priority, Stack, Switch, Taken, TaskState, Waking, Woken,
    WokenNew,
};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, TaskId};

const WOKEN: &[&str] = &["pid", "comm", "prio", "target_cpu"];

const fn sched(
    event: &'static str,
    fields: &'static [&'static str],
    decode: super::Handler,
) -> Known {
    Known { group: "sched", event, variant: 0, fields, decode }
}

pub(super) const EVENTS: &[Known] = &[
    sched("sched_waking", WOKEN, waking),
    Known { variant: NEW, ..sched("sched_wakeup_new", WOKEN, waking) },
    sched(
        "sched_switch",
        &["prev_pid", "prev_comm", "prev_prio", "prev_state", "next_pid", "next_comm", "next_prio"],
        switch,
    ),
    sched("sched_migrate_task", &["pid", "comm", "orig_cpu", "dest_cpu"], migrate),
    sched("sched_pi_setprio", &["pid", "comm", "oldprio", "newprio"], pi_setprio),
];

/// Tasks' way to a queue in traces of others, which need not tell of migrations: the kernel tells of it
/// when the task is on its queue, and on which. Before 4.3 there was nothing else, and traces may have
/// only this: then it begins the wakeup too. `success` is of kernels before 4.14.
pub(super) const IMPORTED_EVENTS: &[Known] = &[
    sched("sched_wakeup", &["pid", "comm", "prio", "target_cpu", "success"], wakeup),
    // Android's, as long as kernels have had a way to tell it: of a stack the one function that matters.
    sched("sched_blocked_reason", &["pid", "caller", "io_wait"], blocked_reason),
];

const NEW: u32 = 1;

fn wakeup(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    if record.number(4) == Some(0) {
        state.nothing_new = true;
        return None;
    }
    if !state.has_waking {
        let waking = waking_of(state, record, batch)?;
        batch.events.push(waking);
    }
    let (target, target_cpu, prio) = woken(state, record, batch)?;
    Some(record.event(Woken { target, target_cpu, prio }))
}

/// A task that had slept in state D is woken: in which function it had, and whether for I/O.
fn blocked_reason(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let of = TaskId(u32::try_from(record.number(0)?).ok()?);
    let caller = match record.text(1) {
        Some(name) => std::str::from_utf8(name).ok()?.to_owned(),
        None => state.definitions.function_name(record.number(1)?),
    };
    let caller = folded(Taken::Slept, [caller.as_str()]);
    let for_io = record.number(2).is_some_and(|io_wait| io_wait != 0);
    let folded = match (caller, for_io) {
        (Some(caller), true) => [&caller, FOR_IO].join(FRAME_SEPARATOR),
        (Some(caller), false) => caller,
        (None, true) => FOR_IO.to_owned(),
        (None, false) => {
            state.nothing_new = true;
            return None;
        }
    };
    let frames = state.definitions.name(&folded, batch);
    Some(record.event(Stack { taken: Taken::Slept, of, late_ns: 0, frames }))
}

fn waking(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    state.has_waking |= record.variant != NEW;
    waking_of(state, record, batch)
}

fn waking_of(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let (target, target_cpu, prio) = woken(state, record, batch)?;
    Some(record.event(if record.variant == NEW {
        Kind::from(WokenNew { target, target_cpu, prio })
    } else {
        Waking { target, target_cpu, prio }.into()
    }))
}

/// Who is woken, where, and its priority.
fn woken(
    state: &mut State,
    record: &Record<'_>,
    batch: &mut Batch,
) -> Option<(TaskId, CpuId, Prio)> {
    let target = state.tasks.see(record, 0, 1, batch)?;
    let target_cpu = record.number(3).map_or(CpuId::UNKNOWN, |cpu| CpuId(cpu as u16));
    Some((target, target_cpu, Prio(record.number(2)? as i16)))
}

fn switch(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let prev = state.tasks.see(record, 0, 1, batch)?;
    let next = state.tasks.see(record, 4, 5, batch)?;
    state.idle_switches.count(record.cpu, prev, next);
    if next == TaskId::IDLE {
        state.entered.outside(record.cpu, next, record.time_ns);
    }
    let (prev_state, preempted) = match record.text(3) {
        // Texts made from a raw recording show the bits.
        Some(letters) => match number_of(letters) {
            Some(bits) => state.states.read(bits),
            None => state_of_letters(letters),
        },
        None => state.states.read(record.number(3)?),
    };
    let switch = Switch {
        prev_state,
        prev_prio: Prio(record.number(2)? as i16),
        preempted,
        next,
        next_prio: Prio(record.number(6)? as i16),
    };
    Some(record.event_of(prev, switch))
}

fn migrate(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let target = state.tasks.see(record, 0, 1, batch)?;
    let (from, to) = (CpuId(record.number(2)? as u16), CpuId(record.number(3)? as u16));
    Some(record.event(Migrate { target, from, to }))
}

fn pi_setprio(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let target = state.tasks.see(record, 0, 1, batch)?;
    let (old, new) = (Prio(record.number(2)? as i16), Prio(record.number(3)? as i16));
    // Numbers are smaller the higher the priority.
    Some(record.event(Priority { target, old, new, released: new > old }))
}

/// Each CPU's switches to and from its idle task.
#[derive(Default)]
pub(super) struct IdleSwitches(BTreeMap<CpuId, (u64, u64)>);

impl IdleSwitches {
    fn count(&mut self, cpu: CpuId, prev: TaskId, next: TaskId) {
        let (to, from) = self.0.entry(cpu).or_default();
        *to += u64::from(next == TaskId::IDLE);
        *from += u64::from(prev == TaskId::IDLE);
    }

    pub(super) fn silent(&self) -> Vec<CpuId> {
        // A few might be the recording's edge or a loss.
        let silent = self.0.iter().filter(|(_, (to, from))| *to >= 10 && *from == 0);
        silent.map(|(cpu, _)| *cpu).collect()
    }
}

/// A state by the letter that traces show.
fn state_of_letter(letter: u8) -> TaskState {
    match letter {
        b'S' => TaskState::Interruptible,
        b'T' | b't' => TaskState::Stopped,
        b'X' | b'x' | b'Z' => TaskState::Dead,
        b'P' => TaskState::Parked,
        // trace-cmd's older plugins show as `W` the bit that kernels since 4.14 use for `I`; a task
        // never leaves a CPU in the state that had it before.
        b'I' | b'W' => TaskState::Idle,
        _ => TaskState::Uninterruptible,
    }
}

/// The bits of a state that is shown as a number.
fn number_of(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A state as a text shows it, and whether the task was preempted: `S`, `R+`, `D|K`.
fn state_of_letters(letters: &[u8]) -> (TaskState, bool) {
    match letters {
        [b'R', rest @ ..] => (TaskState::Running, rest.contains(&b'+')),
        // perf's own way to write it.
        [] => (TaskState::Running, false),
        [letter, ..] => (state_of_letter(*letter), letters.contains(&b'+')),
    }
}

/// What the bits of `prev_state` mean on the recorded kernel; they moved between versions, and the
/// event's print format has them: `{ 0x00000001, "S" }`.
pub(super) struct StateTable(Vec<(u64, TaskState)>);

impl Default for StateTable {
    /// As kernels since 4.14 have them.
    fn default() -> Self {
        Self::parse(
            r#"{0x1,"S"},{0x2,"D"},{0x4,"T"},{0x8,"t"},{0x10,"X"},{0x20,"Z"},{0x40,"P"},{0x80,"I"}"#,
        )
    }
}

/// Bits of a 64-bit state.
const STATES_MAX: usize = 64;

impl StateTable {
    pub(super) fn parse(print: &str) -> Self {
        let pair = |text: &str| {
            let (bit, letter) = text.split('}').next()?.split_once(',')?;
            let bit = match bit.trim().strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok()?,
                None => bit.trim().parse().ok()?,
            };
            let letter = letter.trim().trim_matches('"').bytes().next()?;
            Some((bit, state_of_letter(letter)))
        };
        let mut bits: Vec<_> = print.split('{').skip(1).filter_map(pair).take(STATES_MAX).collect();
        bits.sort_by_key(|(bit, _)| *bit);
        if bits.is_empty() { Self::default() } else { Self(bits) }
    }

    /// The state, and whether the task was preempted: then the kernel sets a bit above all others.
    fn read(&self, bits: u64) -> (TaskState, bool) {
        match self.0.iter().find(|(bit, _)| bits & bit != 0) {
            Some((_, state)) => (*state, false),
            None => (TaskState::Running, bits != 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_as_texts_show_them() {
        for (letters, state, preempted) in [
            ("R", TaskState::Running, false),
            ("R+", TaskState::Running, true),
            ("S", TaskState::Interruptible, false),
            ("D|K", TaskState::Uninterruptible, false),
            ("t", TaskState::Stopped, false),
            ("X|Z", TaskState::Dead, false),
            ("I", TaskState::Idle, false),
            ("W", TaskState::Idle, false),
        ] {
            assert_eq!(state_of_letters(letters.as_bytes()), (state, preempted), "{letters}");
        }
    }

    #[test]
    fn states_as_numbers_in_texts() {
        for (text, bits) in
            [("0", Some(0)), ("4096", Some(4096)), ("S", None), ("R+", None), ("", None)]
        {
            assert_eq!(number_of(text.as_bytes()), bits, "{text}");
        }
        assert_eq!(StateTable::default().read(4096), (TaskState::Running, true));
    }

    #[test]
    fn state_letters_of_two_generations_of_kernels() {
        let today = StateTable::default();
        for (bits, state, preempted) in [
            (0, TaskState::Running, false),
            (0x100, TaskState::Running, true),
            (1, TaskState::Interruptible, false),
            (2, TaskState::Uninterruptible, false),
            (8, TaskState::Stopped, false),
            (0x20, TaskState::Dead, false),
            (0x40, TaskState::Parked, false),
            (0x80, TaskState::Idle, false),
        ] {
            assert_eq!(today.read(bits), (state, preempted), "{bits:#x}");
        }
        let old = StateTable::parse(
            r#"prev_state=%s", REC->prev_state & (1024-1) ? __print_flags(REC->prev_state & (1024-1), "|",
            { 1, "S"} , { 2, "D" }, { 4, "T" }, { 16, "Z" }, { 128, "K" }, { 512, "P" }) : "R""#,
        );
        assert_eq!(old.read(16), (TaskState::Dead, false));
        assert_eq!(old.read(2 | 128), (TaskState::Uninterruptible, false));
        assert_eq!(old.read(512), (TaskState::Parked, false));
        assert_eq!(old.read(1024), (TaskState::Running, true));
    }
}
