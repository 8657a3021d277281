//! System calls, by the two events that all of them share.

use super::{Known, Record, State};
use rustc_hash::FxHashMap;
use tardy_kernel::{Abi, futex2};
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

/// The number where only the name is told.
const NOT_NUMBERED: u32 = u32::MAX;

/// The number of those that have one everywhere and mean something by it.
fn number_named(name: &[u8]) -> u32 {
    match name {
        b"futex_waitv" => 449,
        b"futex_wake" => 454,
        b"futex_wait" => 455,
        b"futex_requeue" => 456,
        _ => NOT_NUMBERED,
    }
}

/// What a call of this name is for; those that take other kinds of times are the same.
fn call_named(name: &[u8]) -> Call {
    let name = [b"_time64".as_slice(), b"_time32"]
        .into_iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    match name {
        b"futex" | b"futex_waitv" | b"futex_wake" | b"futex_wait" | b"futex_requeue" => Call::Futex,
        b"clock_nanosleep" => Call::ClockNanosleep,
        b"nanosleep" => Call::Nanosleep,
        b"poll" | b"ppoll" => Call::Poll,
        b"select" | b"pselect6" => Call::Select,
        b"epoll_wait" | b"epoll_pwait" | b"epoll_pwait2" => Call::Epoll,
        b"timerfd_settime" => Call::Timerfd,
        b"timer_settime" => Call::PosixTimer,
        b"setitimer" | b"alarm" => Call::Itimer,
        b"sched_yield" => Call::Yield,
        _ => Call::Other,
    }
}

fn enter(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let arguments = [1, 2, 3].map(|field| record.number(field).unwrap_or(0));
    // Events of single calls, as texts show them, tell the name.
    let (number, call) = if let Some(name) = record.text(0) {
        (number_named(name), call_named(name))
    } else {
        let number = record.number(0)? as u32;
        if state.abi == Abi::Unknown {
            state.abi = Abi::guess(number, arguments[0], arguments[1]);
        }
        (number, state.abi.call(number))
    };
    set_call(state, record, call, batch);
    state.entered.outside(record.cpu, record.current, record.time_ns);
    let (op, value, argument) = match call {
        Call::Futex => {
            let (op, value) = futex2(number, [arguments[0], arguments[1]])
                .unwrap_or((arguments[1] as u16, arguments[2] as u16));
            (op, value, arguments[0])
        }
        // Of the time only the address is known.
        Call::ClockNanosleep => (arguments[1] as u16, 0, 0),
        Call::Nanosleep => (0, 0, 0),
        _ => (0, 0, arguments[0]),
    };
    Some(record.event(SyscallEnter { call, number, op, value, argument }))
}

fn exit(state: &mut State, record: &Record<'_>, batch: &mut Batch) -> Option<Event> {
    let number = match record.text(0) {
        Some(name) => number_named(name),
        None => record.number(0)? as u32,
    };
    let result = record.number(1)? as i64;
    set_call(state, record, Call::Unknown, batch);
    state.entered.outside(record.cpu, record.current, record.time_ns);
    Some(record.event(SyscallExit { number, result }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_of_calls_mean_the_same() {
        for (name, number) in [
            ("futex", 202),
            ("clock_nanosleep", 230),
            ("nanosleep", 35),
            ("ppoll", 271),
            ("pselect6", 270),
            ("epoll_pwait2", 441),
            ("timerfd_settime", 286),
            ("timer_settime", 223),
            ("alarm", 37),
            ("sched_yield", 24),
            ("read", 0),
        ] {
            assert_eq!(call_named(name.as_bytes()), Abi::X86_64.call(number), "{name}");
        }
        assert_eq!(call_named(b"futex_time64"), Call::Futex);
        for name in [&b"futex_waitv"[..], b"futex_wake", b"futex_wait", b"futex_requeue"] {
            assert_eq!(call_named(name), Call::Futex);
            assert!(futex2(number_named(name), [0; 2]).is_some());
        }
    }
}
