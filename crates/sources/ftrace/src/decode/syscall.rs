//! System calls, by the two events that all of them share.

use super::{Known, Record, State};
use rustc_hash::FxHashMap;
use tardy_kernel::Abi;
use tardy_model::event::{Call, SyscallEnter, SyscallExit, TaskInfo};
use tardy_model::{Batch, Event, TaskId};

pub(super) const EVENTS: &[Known] = &[
    Known {
        group: "raw_syscalls",
        event: "sys_enter",
        variant: 0,
        fields: &["id", "args[0]", "args[1]", "args[2]"],
        decode: enter,
    },
    Known {
        group: "raw_syscalls",
        event: "sys_exit",
        variant: 0,
        fields: &["id", "ret"],
        decode: exit,
    },
];

/// The call that each task is in, of those whose calls are recorded. At most [`TASKS_MAX`]; of those
/// beyond it is not told, and their wakeups end at the switch to them.
#[derive(Default)]
pub(super) struct Syscalls(FxHashMap<TaskId, Call>);

impl Syscalls {
    /// The call that a task is in.
    pub(super) fn of(&self, task: TaskId) -> Call {
        self.0.get(&task).copied().unwrap_or_default()
    }
}

const TASKS_MAX: usize = 1 << 20;

/// The current task is in `call` now; the first time, tells that its calls are recorded.
fn set_call(state: &mut State, record: &Record<'_>, call: Call, batch: &mut Batch) {
    let task = record.current;
    if let Some(known) = state.syscalls.0.get_mut(&task) {
        *known = call;
    } else if state.syscalls.0.len() < TASKS_MAX {
        state.syscalls.0.insert(task, call);
        let info = state.tasks.add_flags(task, TaskInfo::SYSCALLS);
        batch.events.push(record.event(info));
    }
}

fn enter(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let number = record.number(0)? as u32;
    let arguments = [1, 2, 3].map(|field| record.number(field).unwrap_or(0));
    if state.abi == Abi::Unknown {
        state.abi = Abi::guess(number, arguments[0], arguments[1]);
    }
    let call = state.abi.call(number);
    set_call(state, record, call, batch);
    let (op, value, argument) = match call {
        Call::Futex => (arguments[1] as u16, arguments[2] as u16, arguments[0]),
        // Of the time only the address is known.
        Call::ClockNanosleep => (arguments[1] as u16, 0, 0),
        Call::Nanosleep => (0, 0, 0),
        _ => (0, 0, arguments[0]),
    };
    Some(record.event(SyscallEnter { call, number, op, value, argument }))
}

fn exit(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let number = record.number(0)? as u32;
    let result = record.number(1)? as i64;
    set_call(state, record, Call::Unknown, batch);
    Some(record.event(SyscallExit { number, result }))
}
