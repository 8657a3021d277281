//! The kernel's events. Fields of an event are called as in the kernel.

use crate::message::declare;

declare! {
    /// Events of one CPU, in the order in which its buffer held them.
    FtraceEventBundle = "FtraceEventBundle" {
        1 cpu: (uint32, optional) Option<u32>,
        2 event: (message, repeated) Vec<FtraceEvent>,
        3 lost_events: (bool, optional) Option<bool>,
        4 compact_sched: (message, optional) Option<CompactSched>,
        5 ftrace_clock: (int32, optional) Option<i32>,
        6 ftrace_timestamp: (int64, optional) Option<i64>,
        7 boot_timestamp: (int64, optional) Option<i64>,
        8 error: (message, repeated) Vec<FtraceError>,
        9 last_read_event_timestamp: (uint64, optional) Option<u64>,
        10 previous_bundle_end_timestamp: (uint64, optional) Option<u64>,
        11 generic_event_descriptors: (message, repeated) Vec<GenericEventDescriptor>,
    }

    /// A page of the kernel's that could not be read.
    FtraceError = "FtraceEventBundle.FtraceError" {
        1 timestamp: (uint64, optional) Option<u64>,
    }

    /// What an event is that the schema has no message for: a number above all others, and a
    /// `google.protobuf.DescriptorProto`.
    GenericEventDescriptor = "FtraceEventBundle.GenericEventDescriptor" {
        1 field_id: (int32, optional) Option<i32>,
        2 event_descriptor: (bytes = "vec", optional) Option<Vec<u8>>,
        3 group_name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// Switches and wakings as columns. Times are differences to the one before, names places in the
    /// table, and who left the CPU is who came last.
    CompactSched = "FtraceEventBundle.CompactSched" {
        1 switch_timestamp: (uint64, repeated, packed = "true") Vec<u64>,
        2 switch_prev_state: (int64, repeated, packed = "true") Vec<i64>,
        3 switch_next_pid: (int32, repeated, packed = "true") Vec<i32>,
        4 switch_next_prio: (int32, repeated, packed = "true") Vec<i32>,
        5 intern_table: (bytes = "vec", repeated) Vec<Vec<u8>>,
        6 switch_next_comm_index: (uint32, repeated, packed = "true") Vec<u32>,
        7 waking_timestamp: (uint64, repeated, packed = "true") Vec<u64>,
        8 waking_pid: (int32, repeated, packed = "true") Vec<i32>,
        9 waking_target_cpu: (int32, repeated, packed = "true") Vec<i32>,
        10 waking_prio: (int32, repeated, packed = "true") Vec<i32>,
        11 waking_comm_index: (uint32, repeated, packed = "true") Vec<u32>,
        12 waking_common_flags: (uint32, repeated, packed = "true") Vec<u32>,
    }

    /// One event; of the messages there is one.
    FtraceEvent = "FtraceEvent" {
        1 timestamp: (uint64, optional) Option<u64>,
        2 pid: (uint32, optional) Option<u32>,
        4 sched_switch: (message, optional) Option<SchedSwitch>,
        13 cpu_idle: (message, optional) Option<CpuIdle>,
        17 sched_wakeup: (message, optional) Option<SchedWakeup>,
        18 sched_blocked_reason: (message, optional) Option<SchedBlockedReason>,
        20 sched_waking: (message, optional) Option<SchedWaking>,
        21 ipi_entry: (message, optional) Option<IpiEntry>,
        22 ipi_exit: (message, optional) Option<IpiExit>,
        23 ipi_raise: (message, optional) Option<IpiRaise>,
        24 softirq_entry: (message, optional) Option<SoftirqEntry>,
        25 softirq_exit: (message, optional) Option<SoftirqExit>,
        26 softirq_raise: (message, optional) Option<SoftirqRaise>,
        36 irq_handler_entry: (message, optional) Option<IrqHandlerEntry>,
        37 irq_handler_exit: (message, optional) Option<IrqHandlerExit>,
        57 workqueue_execute_end: (message, optional) Option<WorkqueueExecuteEnd>,
        58 workqueue_execute_start: (message, optional) Option<WorkqueueExecuteStart>,
        67 cgroup_attach_task: (message, optional) Option<CgroupAttachTask>,
        114 sched_wakeup_new: (message, optional) Option<SchedWakeupNew>,
        235 task_newtask: (message, optional) Option<TaskNewtask>,
        236 task_rename: (message, optional) Option<TaskRename>,
        237 sched_process_exec: (message, optional) Option<SchedProcessExec>,
        238 sched_process_exit: (message, optional) Option<SchedProcessExit>,
        324 signal_deliver: (message, optional) Option<SignalDeliver>,
        327 generic: (message, optional) Option<GenericEvent>,
        329 sys_enter: (message, optional) Option<SysEnter>,
        330 sys_exit: (message, optional) Option<SysExit>,
        353 sched_pi_setprio: (message, optional) Option<SchedPiSetprio>,
        491 sched_migrate_task: (message, optional) Option<SchedMigrateTask>,
        551 hrtimer_start: (message, optional) Option<HrtimerStart>,
        552 hrtimer_cancel: (message, optional) Option<HrtimerCancel>,
        553 hrtimer_expire_entry: (message, optional) Option<HrtimerExpireEntry>,
        554 hrtimer_expire_exit: (message, optional) Option<HrtimerExpireExit>,
        555 timer_start: (message, optional) Option<TimerStart>,
        556 timer_cancel: (message, optional) Option<TimerCancel>,
        557 timer_expire_entry: (message, optional) Option<TimerExpireEntry>,
        558 timer_expire_exit: (message, optional) Option<TimerExpireExit>,
        559 local_timer_entry: (message, optional) Option<LocalTimerEntry>,
        560 local_timer_exit: (message, optional) Option<LocalTimerExit>,
    }

    /// An event that tells its own names.
    GenericEvent = "GenericFtraceEvent" {
        1 event_name: (bytes = "vec", optional) Option<Vec<u8>>,
        2 field: (message, repeated) Vec<GenericField>,
    }

    /// One field of it.
    GenericField = "GenericFtraceEvent.Field" {
        1 name: (bytes = "vec", optional) Option<Vec<u8>>,
        3 str_value: (bytes = "vec", optional) Option<Vec<u8>>,
        4 int_value: (int64, optional) Option<i64>,
        5 uint_value: (uint64, optional) Option<u64>,
    }

    /// The CPU goes from one task to another.
    SchedSwitch = "SchedSwitchFtraceEvent" {
        1 prev_comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 prev_pid: (int32, optional) Option<i32>,
        3 prev_prio: (int32, optional) Option<i32>,
        4 prev_state: (int64, optional) Option<i64>,
        5 next_comm: (bytes = "vec", optional) Option<Vec<u8>>,
        6 next_pid: (int32, optional) Option<i32>,
        7 next_prio: (int32, optional) Option<i32>,
    }

    /// A task that was held up is woken: where it had slept.
    SchedBlockedReason = "SchedBlockedReasonFtraceEvent" {
        1 pid: (int32, optional) Option<i32>,
        2 caller: (uint64, optional) Option<u64>,
        3 io_wait: (uint32, optional) Option<u32>,
    }

    /// A task is about to be woken.
    SchedWaking = "SchedWakingFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 prio: (int32, optional) Option<i32>,
        4 success: (int32, optional) Option<i32>,
        5 target_cpu: (int32, optional) Option<i32>,
    }

    /// A task is on its queue.
    SchedWakeup = "SchedWakeupFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 prio: (int32, optional) Option<i32>,
        4 success: (int32, optional) Option<i32>,
        5 target_cpu: (int32, optional) Option<i32>,
    }

    /// A new task is on its queue.
    SchedWakeupNew = "SchedWakeupNewFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 prio: (int32, optional) Option<i32>,
        4 success: (int32, optional) Option<i32>,
        5 target_cpu: (int32, optional) Option<i32>,
    }

    /// A task moves to another CPU.
    SchedMigrateTask = "SchedMigrateTaskFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 prio: (int32, optional) Option<i32>,
        4 orig_cpu: (int32, optional) Option<i32>,
        5 dest_cpu: (int32, optional) Option<i32>,
    }

    /// A priority is inherited, or not any more.
    SchedPiSetprio = "SchedPiSetprioFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 newprio: (int32, optional) Option<i32>,
        3 oldprio: (int32, optional) Option<i32>,
        4 pid: (int32, optional) Option<i32>,
    }

    /// A program begins.
    SchedProcessExec = "SchedProcessExecFtraceEvent" {
        1 filename: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 old_pid: (int32, optional) Option<i32>,
    }

    /// A task ends.
    SchedProcessExit = "SchedProcessExitFtraceEvent" {
        1 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        2 pid: (int32, optional) Option<i32>,
        3 tgid: (int32, optional) Option<i32>,
        4 prio: (int32, optional) Option<i32>,
    }

    /// A task begins.
    TaskNewtask = "TaskNewtaskFtraceEvent" {
        1 pid: (int32, optional) Option<i32>,
        2 comm: (bytes = "vec", optional) Option<Vec<u8>>,
        3 clone_flags: (uint64, optional) Option<u64>,
    }

    /// A task has another name.
    TaskRename = "TaskRenameFtraceEvent" {
        1 pid: (int32, optional) Option<i32>,
        2 oldcomm: (bytes = "vec", optional) Option<Vec<u8>>,
        3 newcomm: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// A device's interrupt begins.
    IrqHandlerEntry = "IrqHandlerEntryFtraceEvent" {
        1 irq: (int32, optional) Option<i32>,
        2 name: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// It ends.
    IrqHandlerExit = "IrqHandlerExitFtraceEvent" {
        1 irq: (int32, optional) Option<i32>,
        2 ret: (int32, optional) Option<i32>,
    }

    /// A softirq begins.
    SoftirqEntry = "SoftirqEntryFtraceEvent" {
        1 vec: (uint32, optional) Option<u32>,
    }

    /// It ends.
    SoftirqExit = "SoftirqExitFtraceEvent" {
        1 vec: (uint32, optional) Option<u32>,
    }

    /// It is asked for.
    SoftirqRaise = "SoftirqRaiseFtraceEvent" {
        1 vec: (uint32, optional) Option<u32>,
    }

    /// An interrupt that a CPU sent begins.
    IpiEntry = "IpiEntryFtraceEvent" {
        1 reason: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// It ends.
    IpiExit = "IpiExitFtraceEvent" {
        1 reason: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// A task is put into a control group.
    CgroupAttachTask = "CgroupAttachTaskFtraceEvent" {
        3 pid: (int32, optional) Option<i32>,
        7 dst_path: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// An interrupt is sent to other CPUs.
    IpiRaise = "IpiRaiseFtraceEvent" {
        1 target_cpus: (uint32, optional) Option<u32>,
        2 reason: (bytes = "vec", optional) Option<Vec<u8>>,
    }

    /// The local APIC's timer interrupts.
    LocalTimerEntry = "LocalTimerEntryFtraceEvent" {
        1 vector: (int32, optional) Option<i32>,
    }

    /// Its interrupt ends.
    LocalTimerExit = "LocalTimerExitFtraceEvent" {
        1 vector: (int32, optional) Option<i32>,
    }

    /// A high-resolution timer is armed.
    HrtimerStart = "HrtimerStartFtraceEvent" {
        1 hrtimer: (uint64, optional) Option<u64>,
        2 function: (uint64, optional) Option<u64>,
        3 expires: (int64, optional) Option<i64>,
        4 softexpires: (int64, optional) Option<i64>,
        5 mode: (uint32, optional) Option<u32>,
    }

    /// It is cancelled.
    HrtimerCancel = "HrtimerCancelFtraceEvent" {
        1 hrtimer: (uint64, optional) Option<u64>,
    }

    /// Its callback begins.
    HrtimerExpireEntry = "HrtimerExpireEntryFtraceEvent" {
        1 hrtimer: (uint64, optional) Option<u64>,
        2 now: (int64, optional) Option<i64>,
        3 function: (uint64, optional) Option<u64>,
    }

    /// Its callback has returned.
    HrtimerExpireExit = "HrtimerExpireExitFtraceEvent" {
        1 hrtimer: (uint64, optional) Option<u64>,
    }

    /// A timer of the wheel is armed.
    TimerStart = "TimerStartFtraceEvent" {
        1 timer: (uint64, optional) Option<u64>,
        2 function: (uint64, optional) Option<u64>,
        3 expires: (uint64, optional) Option<u64>,
        4 now: (uint64, optional) Option<u64>,
        6 flags: (uint32, optional) Option<u32>,
        7 bucket_expiry: (uint64, optional) Option<u64>,
    }

    /// It is cancelled.
    TimerCancel = "TimerCancelFtraceEvent" {
        1 timer: (uint64, optional) Option<u64>,
    }

    /// Its callback begins.
    TimerExpireEntry = "TimerExpireEntryFtraceEvent" {
        1 timer: (uint64, optional) Option<u64>,
        2 now: (uint64, optional) Option<u64>,
        3 function: (uint64, optional) Option<u64>,
    }

    /// Its callback has returned.
    TimerExpireExit = "TimerExpireExitFtraceEvent" {
        1 timer: (uint64, optional) Option<u64>,
    }

    /// A CPU goes to sleep or wakes.
    CpuIdle = "CpuIdleFtraceEvent" {
        1 state: (uint32, optional) Option<u32>,
        2 cpu_id: (uint32, optional) Option<u32>,
    }

    /// A system call begins.
    SysEnter = "SysEnterFtraceEvent" {
        1 id: (int64, optional) Option<i64>,
        2 args: (uint64, repeated, packed = "false") Vec<u64>,
    }

    /// It returns.
    SysExit = "SysExitFtraceEvent" {
        1 id: (int64, optional) Option<i64>,
        2 ret: (int64, optional) Option<i64>,
    }

    /// A piece of work begins.
    WorkqueueExecuteStart = "WorkqueueExecuteStartFtraceEvent" {
        1 work: (uint64, optional) Option<u64>,
        2 function: (uint64, optional) Option<u64>,
    }

    /// It is done.
    WorkqueueExecuteEnd = "WorkqueueExecuteEndFtraceEvent" {
        1 work: (uint64, optional) Option<u64>,
        2 function: (uint64, optional) Option<u64>,
    }

    /// A signal is delivered.
    SignalDeliver = "SignalDeliverFtraceEvent" {
        3 sig: (int32, optional) Option<i32>,
    }
}
