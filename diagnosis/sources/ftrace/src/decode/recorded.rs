//! Which kinds of events a set of the kernel's events tells, where all of them are recorded.

use tardy_model::event::{
    ExpireBegin, ExpireEnd, IdleEnter, IdleExit, IrqBegin, IrqEnd, Loss, Migrate, Priority,
    Recorded, Signal, SoftirqBegin, SoftirqEnd, SoftirqRaise, Switch, TaskExit, TaskInfo, TaskName,
    TimerArm, TimerCancel, TimerPending, Waking, WokenNew, WorkBegin, WorkEnd,
};

/// A kind, and the events that must all be there for it to be told whenever it happens. Vectors of
/// interrupts that are seldom (errors, temperature) may be left out by a kernel's configuration.
const NEEDED: &[(u8, &[&str])] = &[
    (TimerArm::TAG, &["hrtimer_start", "timer_start"]),
    (TimerCancel::TAG, &["hrtimer_cancel", "timer_cancel"]),
    (TimerPending::TAG, &["timer_pending"]),
    (ExpireBegin::TAG, &["hrtimer_expire_entry", "timer_expire_entry"]),
    (ExpireEnd::TAG, &["hrtimer_expire_exit", "timer_expire_exit"]),
    (
        IrqBegin::TAG,
        &[
            "irq_handler_entry",
            "local_timer_entry",
            "reschedule_entry",
            "call_function_entry",
            "call_function_single_entry",
        ],
    ),
    (
        IrqEnd::TAG,
        &[
            "irq_handler_exit",
            "local_timer_exit",
            "reschedule_exit",
            "call_function_exit",
            "call_function_single_exit",
        ],
    ),
    (SoftirqRaise::TAG, &["softirq_raise"]),
    (SoftirqBegin::TAG, &["softirq_entry"]),
    (SoftirqEnd::TAG, &["softirq_exit"]),
    (Waking::TAG, &["sched_waking"]),
    (WokenNew::TAG, &["sched_wakeup_new"]),
    (Switch::TAG, &["sched_switch"]),
    (Migrate::TAG, &["sched_migrate_task"]),
    (Priority::TAG, &["sched_pi_setprio"]),
    (IdleEnter::TAG, &["cpu_idle"]),
    (IdleExit::TAG, &["cpu_idle"]),
    (Signal::TAG, &["signal_deliver"]),
    (WorkBegin::TAG, &["workqueue_execute_start"]),
    (WorkEnd::TAG, &["workqueue_execute_end"]),
    (TaskName::TAG, &["task_newtask", "task_rename"]),
    (TaskInfo::TAG, &["task_newtask", "sched_process_exec"]),
    (TaskExit::TAG, &["sched_process_exit"]),
    (Loss::TAG, &[]),
];

/// What is told where `is_recorded` of the events.
pub fn recorded(is_recorded: impl Fn(&str) -> bool) -> Recorded {
    let told = NEEDED.iter().filter(|(_, events)| events.iter().all(|event| is_recorded(event)));
    Recorded { kinds: told.fold(0, |kinds, (tag, _)| kinds | 1 << tag) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{EventId, wanted};

    #[test]
    fn a_kind_is_recorded_when_all_that_tells_it_is() {
        for event in NEEDED.iter().flat_map(|(_, events)| *events) {
            assert!(EventId::of(event).is_some(), "{event}");
        }
        let all = recorded(|event| wanted().any(|(_, wanted)| wanted == event));
        assert!(NEEDED.iter().all(|(tag, _)| all.has(*tag)));
        let some = recorded(|event| event != "timer_start" && event != "reschedule_entry");
        assert!(some.has(Switch::TAG) && some.has(IrqEnd::TAG));
        assert!(!some.has(TimerArm::TAG) && !some.has(IrqBegin::TAG));
    }
}
