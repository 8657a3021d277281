//! Every event by itself.

use super::*;

/// Android's word on where a task was held up: the function is a symbol's number, or an address where the trace has no
/// symbols, and it comes between the waking and the switch.
#[test]
fn who_was_held_up_has_the_function_in_which_it_slept() {
    let symbol = |iid, name: &str| InternedString { iid: Some(iid), str: text(name) };
    let interned = InternedData {
        kernel_symbols: vec![symbol(1, "folio_wait_bit_common"), symbol(2, "down_read.cfi_jt")],
        ..InternedData::default()
    };
    let reason = |time, pid, caller, io_wait| {
        event!(time, 7, sched_blocked_reason: SchedBlockedReason {
            pid: Some(pid), caller: Some(caller), io_wait: Some(io_wait),
        })
    };
    let mut bundle = bundle(
        0,
        vec![
            reason(10, 42, 1, 1),
            reason(11, 43, 2, 0),
            reason(12, 44, 0xffff_ffff_81a3_c3b1, 0),
            reason(13, 45, 3, 1),
        ],
    );
    bundle.interned_data = Some(interned);
    let read = read_packets(vec![bundle]);
    let told = read.events.iter().filter_map(|event| match event.kind() {
        Kind::Stack(stack) => {
            let frames = read.tables.name(stack.frames);
            Some((event.time_ns, stack.of.0, stack.taken, frames))
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    let expected = [
        (10, 42, Taken::Slept, "folio_wait_bit_common<-[I/O]"),
        (11, 43, Taken::Slept, "down_read"),
        (13, 45, Taken::Slept, "[I/O]"),
    ];
    assert_eq!(told, expected);
}

#[test]
#[expect(clippy::too_many_lines, reason = "there are many")]
fn every_event_that_there_is_a_message_for() {
    let prio = |prio| Some(prio);
    let symbol = |iid, name: &str| InternedString { iid: Some(iid), str: text(name) };
    let interned = InternedData {
        kernel_symbols: vec![symbol(1, "hrtimer_wakeup"), symbol(2, "delayed_work_timer_fn")],
        ..InternedData::default()
    };
    let mut events = vec![
        event!(10, 7, sys_enter: SysEnter { id: Some(202), args: vec![0x7000, 0x89, 5] }),
        event!(11, 7, hrtimer_start: HrtimerStart {
            hrtimer: Some(0xaa), function: Some(1), expires: Some(1_050), softexpires: Some(1_000),
            mode: Some(1),
        }),
        event!(12, 7, timer_start: TimerStart {
            timer: Some(0xbb), function: Some(2), expires: Some(4_294_937_400),
            now: Some(4_294_937_398), flags: Some(0x0010_0000), bucket_expiry: Some(4_294_937_401),
        }),
        event!(13, 7, hrtimer_cancel: HrtimerCancel { hrtimer: Some(0xaa) }),
        event!(14, 7, timer_cancel: TimerCancel { timer: Some(0xbb) }),
        event!(15, 7, sched_switch: SchedSwitch {
            prev_comm: text("seven"), prev_pid: Some(7), prev_prio: prio(19), prev_state: Some(1),
            next_comm: text("swapper/0"), next_pid: Some(0), next_prio: prio(120),
        }),
        event!(16, 0, cpu_idle: CpuIdle { state: Some(2), cpu_id: Some(0) }),
        event!(1_001, 0, cpu_idle: CpuIdle { state: Some(u32::MAX), cpu_id: Some(0) }),
        event!(1_002, 0, local_timer_entry: LocalTimerEntry { vector: Some(236) }),
        event!(1_003, 0, hrtimer_expire_entry: HrtimerExpireEntry {
            hrtimer: Some(0xaa), now: Some(1_002), function: Some(1),
        }),
        event!(1_004, 0, sched_waking: SchedWaking {
            comm: text("seven"), pid: Some(7), prio: prio(19), success: Some(1), target_cpu: Some(1),
        }),
        event!(1_005, 0, sched_wakeup: SchedWakeup {
            comm: text("seven"), pid: Some(7), prio: prio(19), success: Some(1), target_cpu: Some(1),
        }),
        event!(1_006, 0, hrtimer_expire_exit: HrtimerExpireExit { hrtimer: Some(0xaa) }),
        event!(1_007, 0, softirq_raise: SoftirqRaise { vec: Some(1) }),
        event!(1_008, 0, local_timer_exit: LocalTimerExit { vector: Some(236) }),
        event!(1_009, 0, softirq_entry: SoftirqEntry { vec: Some(1) }),
        event!(1_010, 0, timer_expire_entry: TimerExpireEntry {
            timer: Some(0xbb), now: Some(0), function: Some(2),
        }),
        event!(1_011, 0, timer_expire_exit: TimerExpireExit { timer: Some(0xbb) }),
        event!(1_012, 0, softirq_exit: SoftirqExit { vec: Some(1) }),
        event!(1_013, 0, irq_handler_entry: IrqHandlerEntry { irq: Some(26), name: text("eth0") }),
        event!(1_014, 0, irq_handler_exit: IrqHandlerExit { irq: Some(26), ret: Some(1) }),
        event!(1_015, 0, sched_migrate_task: SchedMigrateTask {
            comm: text("seven"), pid: Some(7), prio: prio(19), orig_cpu: Some(1), dest_cpu: Some(0),
        }),
        event!(1_016, 0, sched_switch: SchedSwitch {
            prev_comm: text("swapper/0"), prev_pid: Some(0), prev_prio: prio(120),
            prev_state: Some(0), next_comm: text("seven"), next_pid: Some(7), next_prio: prio(-1),
        }),
        event!(1_017, 7, sys_exit: SysExit { id: Some(202), ret: Some(-110) }),
        event!(1_018, 7, sched_pi_setprio: SchedPiSetprio {
            comm: text("seven"), newprio: prio(10), oldprio: prio(19), pid: Some(7),
        }),
        event!(1_019, 7, task_newtask: TaskNewtask {
            pid: Some(8), comm: text("seven"), clone_flags: Some(0x0001_0000),
        }),
        event!(1_020, 7, sched_wakeup_new: SchedWakeupNew {
            comm: text("seven"), pid: Some(8), prio: prio(120), success: Some(1),
            target_cpu: Some(1),
        }),
        event!(1_021, 8, task_rename: TaskRename {
            pid: Some(8), oldcomm: text("seven"), newcomm: text("eight"),
        }),
        event!(1_022, 8, sched_process_exec: SchedProcessExec {
            filename: text("/bin/true"), pid: Some(8), old_pid: Some(8),
        }),
        event!(1_023, 8, sched_process_exit: SchedProcessExit {
            comm: text("eight"), pid: Some(8), tgid: Some(8), prio: prio(120),
        }),
        event!(1_024, 9, workqueue_execute_start: WorkqueueExecuteStart {
            work: Some(1), function: Some(0xffff_ffff_8100_0000),
        }),
        event!(1_025, 9, workqueue_execute_end: WorkqueueExecuteEnd {
            work: Some(1), function: Some(0xffff_ffff_8100_0000),
        }),
        event!(1_026, 9, signal_deliver: SignalDeliver { sig: Some(15) }),
        generic(1_027, 9, "page_fault_user", &[("address", 0xdead), ("ip", 1)]),
        generic(1_028, 9, "reschedule_entry", &[("vector", 253)]),
        generic(1_029, 9, "somebody_elses", &[("vector", 253)]),
    ];
    // Fields of events that nobody knows are passed over.
    let unknown = FtraceEvent { timestamp: Some(1_030), pid: Some(9), ..FtraceEvent::default() };
    events.push(unknown);
    let system = SystemInfo {
        utsname: Some(Utsname {
            release: text("6.12.1"),
            machine: text("x86_64"),
            ..Utsname::default()
        }),
        tracing_service_version: text("Perfetto v50"),
        num_cpus: Some(4),
        ..SystemInfo::default()
    };
    let mut with_events = bundle(0, events);
    with_events.interned_data = Some(interned);
    let read = read_packets(vec![
        TracePacket { system_info: Some(system), ..TracePacket::default() },
        snapshot(&[(clock::BOOTTIME, 5), (clock::MONOTONIC, 5)]),
        with_events,
    ]);

    assert_eq!(read.error, None);
    let names: Vec<String> = read
        .events
        .iter()
        .map(|event| {
            let kind = format!("{:?}", event.kind());
            format!("{} {} {}", event.time_ns, event.task, kind.split('(').next().unwrap())
        })
        .collect();
    let expected = "10 7 TaskInfo|10 7 SyscallEnter|11 7 TimerArm|12 7 TimerArm|13 7 TimerCancel|\
        14 7 TimerCancel|15 7 TaskName|15 7 Switch|16 0 IdleEnter|1001 0 IdleExit|1002 0 IrqBegin|\
        1003 0 ExpireBegin|1004 0 Waking|1005 0 Woken|1006 0 ExpireEnd|1007 0 SoftirqRaise|1008 0 IrqEnd|\
        1009 0 SoftirqBegin|1010 0 ExpireBegin|1011 0 ExpireEnd|1012 0 SoftirqEnd|1013 0 IrqBegin|\
        1014 0 IrqEnd|1015 0 Migrate|1016 0 Switch|1017 7 SyscallExit|1018 7 Priority|\
        1019 8 TaskName|1019 8 TaskInfo|1020 7 WokenNew|1021 8 TaskName|1022 8 TaskInfo|\
        1023 8 TaskExit|1024 9 WorkBegin|1025 9 WorkEnd|1026 9 Signal|1027 9 PageFault|\
        1028 9 IrqBegin";
    assert_eq!(names.join("|"), expected);

    let find = |time_ns| read.events.iter().rev().find(|event| event.time_ns == time_ns).unwrap();
    let Kind::TimerArm(arm) = find(11).kind() else { panic!() };
    let sleeper = read.tables.timer(arm.timer);
    assert_eq!((arm.soft_ns, arm.slack_ns, arm.mode.0, arm.call), (1000, 50, 1, Call::Futex));
    assert_eq!((sleeper.address, sleeper.owner), (1, TaskId(7)));
    assert_eq!(read.tables.function(arm.timer), "hrtimer_wakeup");
    let Kind::TimerArm(wheel) = find(12).kind() else { panic!() };
    assert_eq!(read.tables.timer(wheel.timer).class, TimerClass::TimerList);
    assert_eq!(read.tables.function(wheel.timer), "delayed_work_timer_fn");
    assert_eq!(wheel.mode.0, TimerMode::SOFT | TimerMode::PINNED);
    let Kind::ExpireBegin(expire) = find(1_003).kind() else { panic!() };
    assert_eq!((expire.timer, expire.soft_ns, expire.slack_ns), (arm.timer, 1000, 50));
    let Kind::Switch(switch) = find(1_016).kind() else { panic!() };
    assert_eq!((switch.next, switch.next_prio), (TaskId(7), Prio(-1)));
    assert_eq!(find(1_016).cpu, CpuId(0));
    assert_eq!(find(1_017).kind(), SyscallExit { number: 202, result: -110 }.into());
    assert_eq!(find(1_027).kind(), PageFault { address: 0xdead }.into());
    let Kind::WorkBegin(work) = find(1_024).kind() else { panic!() };
    assert_eq!(read.tables.name(work.function), "0x…000");
    let Kind::IrqEnd(IrqEnd { irq: Irq::Line(26, name) }) = find(1_014).kind() else { panic!() };
    assert_eq!(read.tables.name(name), "eth0");
    let Kind::IrqBegin(vector) = find(1_028).kind() else { panic!() };
    assert_eq!(vector.irq, Irq::Vector(Vector::RESCHEDULE));

    let origin = Origin {
        clock: "mono".to_owned(),
        kernel_release: "6.12.1".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 4,
        written_by: "Perfetto v50".to_owned(),
        ..Origin::default()
    };
    let notes = vec!["2 of the file's 37 events are of kinds that mean nothing here".to_owned()];
    let closing = Closing { events: 37, silent: 2, notes, ..Closing::default() };
    assert_eq!((read.origin, read.closing), (origin, closing));
}
