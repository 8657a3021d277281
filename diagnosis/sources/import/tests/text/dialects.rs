//! The same event in the words of several programs and kernels.

use super::read;
use tardy_model::Kind;

/// Lines of task 7 on CPU 1 at 5.000001 s that mean the same, and what.
const SAME: &[(&[&str], &str)] = &[
    (
        &[
            "sched_switch: High-prio******:1312 [40] S ==> Busy-loop******:1313 [41]",
            "sched_switch: prev_comm=High-prio****** prev_pid=1312 prev_prio=40 prev_state=S ==> \
             next_comm=Busy-loop****** next_pid=1313 next_prio=41",
            "sched_switch: task High-prio******:1312 [40] (S) ==> Busy-loop******:1313 [41]",
        ],
        "Switch(Switch { prev_state: Interruptible, prev_prio: Prio(40), preempted: false, \
         next: TaskId(1313), next_prio: Prio(41) })",
    ),
    (
        &[
            "sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=b: [1]=c \
           next_pid=8 next_prio=-1",
        ],
        "Switch(Switch { prev_state: Running, prev_prio: Prio(120), preempted: true, \
         next: TaskId(8), next_prio: Prio(-1) })",
    ),
    (
        &["sched_waking: comm=High-prio****** pid=1312 prio=40 target_cpu=001"],
        "Waking(Waking { target: TaskId(1312), target_cpu: CpuId(1), prio: Prio(40) })",
    ),
    (
        &[
            "sched_wakeup: High-prio******:1312 [40] success=1 CPU:001",
            "sched_wakeup: High-prio******:1312 [40] CPU:001",
            "sched_wakeup: comm=High-prio****** pid=1312 prio=40 success=1 target_cpu=001",
            "sched_wakeup: comm=High-prio****** pid=1312 prio=40 target_cpu=001",
            "sched_wakeup: task High-prio******:1312 [40] success=1 [001]",
        ],
        "Woken(Woken { target: TaskId(1312), target_cpu: CpuId(1), prio: Prio(40) })",
    ),
    (
        &["ipi_send_cpu: cpu=3 callsite=smp_call_function_single+0x1/0x2 \
             callback=generic_smp_call_function_single_interrupt+0x0/0x10"],
        "IpiSend(IpiSend { targets: 1, first: CpuId(3), function: NameId(1) })",
    ),
    (
        &[
            "ipi_send_cpumask: cpumask=80 callsite=x+0x1/0x2 callback=flush_tlb_func+0x0/0x10",
            "ipi_send_cpumask: cpumask=00000000,00000080 callsite=x+0x1/0x2 callback=flush_tlb_func",
            "ipi_raise: target_mask=00000000,00000080 (Function call interrupts)",
        ],
        "IpiSend(IpiSend { targets: 128, first: CpuId(0), function: NameId(1) })",
    ),
    (
        &["ipi_send_cpu: cpu=3 callsite=native_smp_send_reschedule+0x1/0x2 callback=0x0"],
        "IpiSend(IpiSend { targets: 1, first: CpuId(3), function: NameId(0) })",
    ),
    (
        &["nmi_handler: perf_event_nmi_handler() delta_ns: 2345 handled: 1"],
        "Nmi(Nmi { ns: 2345, handler: NameId(1) })",
    ),
    (
        &["irq_disable: caller=_raw_spin_lock_irq+0x1c/0x60 parent=do_x+0x2/0x10"],
        "SectionBegin(SectionBegin { section: IrqsOff, caller: NameId(1) })",
    ),
    (
        &["preempt_enable: caller=rcu_read_unlock+0x1c/0x60 parent=0x0"],
        "SectionEnd(SectionEnd { section: PreemptOff, caller: NameId(1) })",
    ),
    (
        &[
            "sched_wakeup_new: load.sh:5305 [130] CPU:000",
            "sched_wakeup_new: comm=load.sh pid=5305 prio=130 target_cpu=000",
        ],
        "WokenNew(WokenNew { target: TaskId(5305), target_cpu: CpuId(0), prio: Prio(130) })",
    ),
    (
        &["sched_migrate_task: comm=a b pid=9 prio=130 orig_cpu=0 dest_cpu=1"],
        "Migrate(Migrate { target: TaskId(9), from: CpuId(0), to: CpuId(1) })",
    ),
    (
        &["sched_pi_setprio: comm=Low-prio****** pid=1311 oldprio=120 newprio=40"],
        "Priority(Priority { target: TaskId(1311), old: Prio(120), new: Prio(40), released: false })",
    ),
    (
        &["sys_enter: NR 240 (11524, 86, 1, 0, 11524, b6e06920)"],
        "SyscallEnter(SyscallEnter { call: Futex, number: 240, op: 134, value: 1, argument: 70948 })",
    ),
    (&["sys_exit: NR 240 = -110"], "SyscallExit(SyscallExit { number: 240, result: -110 })"),
    (
        &[
            "sys_futex(uaddr: 11524, op: 86, val: 1, utime: 0, uaddr2: 11524, val3: b6e06920)",
            "sys_enter_futex: uaddr: 0x00011524, op: 0x00000086, val: 0x00000001",
            "sys_enter_futex:      op=FUTEX_LOCK_PI|FUTEX_PRIVATE_FLAG uaddr=0x11524 val=1",
        ],
        "SyscallEnter(SyscallEnter { call: Futex, number: 4294967295, op: 134, value: 1, \
         argument: 70948 })",
    ),
    (
        &["sys_futex -> 0xffffffffffffff92", "sys_exit_futex: 0xffffffffffffff92"],
        "SyscallExit(SyscallExit { number: 4294967295, result: -110 })",
    ),
    (
        &[
            "hrtimer_start: hrtimer=0xc9000383bdf8 function=hrtimer_wakeup/0x0 expires=5300 \
             softexpires=5000",
            "hrtimer_start: hrtimer=0000c9000383bdf8 function=hrtimer_wakeup expires=5300 \
             softexpires=5000 mode=ABS was_armed=0",
        ],
        "TimerArm(TimerArm { timer: TimerId(1), soft_ns: 5000, slack_ns: 300, mode: TimerMode(0), \
         call: Unknown })",
    ),
    (
        &[
            "hrtimer_start: hrtimer=0x1 function=f expires=5000 softexpires=5000 mode=REL|PINNED|SOFT",
            "hrtimer_start: hrtimer=0x1 function=f expires=5000 softexpires=5000 mode=0x7",
        ],
        "TimerArm(TimerArm { timer: TimerId(1), soft_ns: 5000, slack_ns: 0, mode: TimerMode(7), \
         call: Unknown })",
    ),
    (
        &[
            "hrtimer_expire_entry: hrtimer=0x1 function=f now=5000000999",
            "hrtimer_expire_entry: hrtimer=0x1 now=5000000999 function=f/0x0",
        ],
        "ExpireBegin(ExpireBegin { timer: TimerId(1), soft_ns: 5000000999, slack_ns: 0, \
         mode: TimerMode(0) })",
    ),
    (&["hrtimer_expire_exit: hrtimer=0x1"], "ExpireEnd(ExpireEnd { timer: TimerId(0) })"),
    (
        &["hrtimer_cancel: hrtimer=0x1", "timer_cancel: timer=0x1"],
        "TimerCancel(TimerCancel { timer: TimerId(0) })",
    ),
    (
        &[
            "irq_handler_entry: irq=36 name=virtio1-req.0",
            "irq_handler_entry: irq=36 handler=virtio1-req.0",
        ],
        "IrqBegin(IrqBegin { irq: Line(36, NameId(1)) })",
    ),
    (
        &["irq_handler_exit: irq=36 ret=handled", "irq_handler_exit: irq=36 return=handled"],
        "IrqEnd(IrqEnd { irq: Line(36, NameId(0)) })",
    ),
    (
        &["softirq_entry: vec=1 [action=TIMER]", "softirq_entry: softirq=1 action=TIMER"],
        "SoftirqBegin(SoftirqBegin { vector: 1 })",
    ),
    (&["softirq_raise: vec=8 [action=HRTIMER]"], "SoftirqRaise(SoftirqRaise { vector: 8 })"),
    (&["local_timer_entry: vector=236"], "IrqBegin(IrqBegin { irq: Vector(Vector(0)) })"),
    (
        &["cpu_idle: state=2 cpu_id=1"],
        "IdleEnter(IdleEnter { state: 2, polls: false, only: false })",
    ),
    (&["cpu_idle: state=4294967295 cpu_id=1"], "IdleExit(IdleExit)"),
    (
        &[
            "workqueue_execute_start: work struct 0xffff888102: function blk_mq_run_work_fn",
            "workqueue_execute_start: work struct 0000000066151b7b: function blk_mq_run_work_fn [blk]",
        ],
        "WorkBegin(WorkBegin { function: NameId(1) })",
    ),
    (
        &["workqueue_execute_end: work struct 0xffff888102"],
        "WorkEnd(WorkEnd { function: NameId(0) })",
    ),
    (
        &["signal_deliver: sig=14 errno=0 code=-6 sa_handler=55de3a71cc20 sa_flags=14000000"],
        "Signal(Signal { number: 14 })",
    ),
    (
        &["page_fault_user: address=0x7f3c98e79240 ip=0x7f3cae58c0ba error_code=0x6"],
        "PageFault(PageFault { address: 139898240078400 })",
    ),
    (
        &["sched_process_exec: filename=/tmp/a pid=1 b pid=7 old_pid=7"],
        "TaskInfo(TaskInfo { process: TaskId(7), flags: 0 })",
    ),
    (&["sched_process_exit: comm=opt cgu.7 pid=7 prio=130 group_dead=false"], "TaskExit(TaskExit)"),
    (
        &["task_newtask: pid=8 comm=load.sh clone_flags=3d0f00 oom_score_adj=0"],
        "TaskInfo(TaskInfo { process: TaskId(7), flags: 0 })",
    ),
    (
        &["task_rename: pid=7 oldcomm=a newcomm=b c: [x]=d oom_score_adj=-5"],
        "TaskName(TaskName { comm: \"b c: [x]=d\" })",
    ),
];

/// What the last event of a one-line trace means.
fn meaning(line: &str) -> String {
    let read = read(format!("# trace_clock: mono\n{line}\n"));
    let last = read.events.last().unwrap_or_else(|| panic!("no event: {line}: {:?}", read.closing));
    assert_eq!(last.time_ns, 5_000_001_000, "{line}");
    // Names are nobody's CPU's.
    assert!(last.cpu.0 == 1 || matches!(last.kind(), Kind::TaskName(_)), "{line}");
    format!("{:?}", last.kind())
}

#[test]
fn every_dialect_of_every_event_in_ftrace_lines() {
    for (lines, expected) in SAME {
        for line in *lines {
            for head in [
                "me-7 [001] 5.000001: ",
                "              me-7     [001] d.h1. 5.000001000: ",
                "   my: [3] me-2-7     (    7) [001]     5.000001: ",
                "           <...>-7     (-----) [001] ....     5.000001: ",
                "me-7 1dNh2. 5000001us+: ",
            ] {
                assert_eq!(meaning(&format!("{head}{line}")), *expected, "{head}{line}");
            }
        }
    }
}

#[test]
fn every_dialect_of_every_event_in_perf_lines() {
    for (lines, expected) in SAME {
        // perf has no events named as calls, with what they are called with in brackets.
        for line in lines.iter().filter(|line| {
            line.split_once(": ").is_some_and(|(name, _)| !name.contains(['(', ' ']))
        }) {
            for head in ["me 7 [001] 5.000001: ", "  me 2 x 9/7 [001] 5.000001000:    1   "] {
                assert_eq!(meaning(&format!("{head}group:{line}")), *expected, "{head}{line}");
            }
        }
    }
}

#[test]
fn a_failed_wakeup_is_none() {
    let read = read("me-7 [001] 5.000001: sched_wakeup: High:12 [40] success=0 CPU:001\n");
    assert_eq!(read.of_kinds(), []);
    assert_eq!(read.closing.notes.iter().filter(|note| note.contains("read")).count(), 0);
}

#[test]
fn names_beside_events_do_not_replace_better_ones() {
    // The latency format cuts names; the first column may tell a name of another time.
    let read = read(
        "cyclicte-7 1d.... 5.000001: sys_exit: NR 230 = 0\n\
         cyclicte-7 1d.... 5.000002: sched_switch: cyclictest:7 [19] S ==> other:8 [120]\n\
         other-8 1d.... 5.000003: sched_switch: other:8 [120] S ==> cyclictest:7 [19]\n\
         cyclicte-7 1d.... 5.000004: sys_exit: NR 230 = 0\n\
         <...>-9 1d.... 5.000005: sys_exit: NR 230 = 0\n\
         <idle>-0 1d.... 5.000006: sys_exit: NR 230 = 0\n",
    );
    assert_eq!(read.names_of(7), ["cyclicte", "cyclictest"]);
    assert_eq!(read.names_of(8), ["other"]);
    assert_eq!(read.names_of(9), Vec::<String>::new());
    assert_eq!(read.names_of(0), Vec::<String>::new());
}

#[test]
fn events_of_single_calls_tell_nothing_beside_those_of_all_calls() {
    let read = read(
        "a-7 [001] ..... 5.000001: sys_exit: NR 202 = 0\n\
         a-7 [001] ..... 5.000001: sys_futex -> 0x0\n",
    );
    let calls = read.events.iter().filter(|event| matches!(event.kind(), Kind::SyscallExit(_)));
    assert_eq!(calls.count(), 1);
}
