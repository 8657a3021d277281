//! Findings to test with: two measuring threads under a storm of timers, on a guest with two CPUs.

use crate::data::{Context, Data};
use crate::shares::apportion;
use std::collections::BTreeMap;
use tardy_explain::{
    Advice, CauseFinding, CulpritFinding, Explainer, Explanation, Found, GapFinding, Group,
    GroupFinding, Instance, Label, Lane, LaneSpan, Options, PatternFinding, Patterns, StackFinding,
    VictimFinding, WorstGroup, WorstWakeup,
};
use tardy_lab::cyclic::OwnCost;
use tardy_lab::{Measurement, Policy, ThreadMeasurement, ThreadUsage};
use tardy_model::event::{
    Call, Comm, Irq, Priority, Switch, SyscallEnter, SyscallExit, TaskInfo, TaskName, TaskState,
    Vector, Waking, futex,
};
use tardy_model::{
    Batch, Cause, CpuId, Culprit, Event, Kind, NameId, Prio, Segment, TaskId, TimerId, Wakeup,
    WakeupKind,
};
use tardy_stats::{Blocking, Latencies};

/// A name that tries to command a terminal and to be markup.
pub(crate) const HOSTILE: &str = "\u{1b}[31m<b>\"x\"&'";

const START_NS: u64 = 1_000_000_000_000;

/// A sentence and a command.
type AdviceRow = (&'static str, Option<&'static str>);

/// Cause, meaning, weight over all, weight in the worst 1 %, wakeups, advice.
type CauseRow = (&'static str, &'static str, u64, u64, u64, Option<AdviceRow>);

const CAUSES: [CauseRow; 8] = [
    (
        "stacked_timers",
        "other timers' callbacks ran first in the same interrupt",
        41,
        52,
        6_704,
        Some((
            "The sleep timers of storm-* (3 threads) expire in the same interrupt. Put the two on different CPUs.",
            Some("taskset -acp 2,3 4999"),
        )),
    ),
    (
        "idle_exit",
        "the CPU slept and had to wake first",
        23,
        4,
        9_120,
        Some(("CPUs sleep too deeply to wake up in time: forbid deep idle states.", None)),
    ),
    ("callback", "from the timer's callback until the thread was runnable", 12, 2, 9_998, None),
    ("irq_delay", "the timer interrupt itself came late", 9, 11, 9_641, None),
    ("higher_priority", "tasks that may run first ran", 7, 24, 311, None),
    ("own_kernel_work", "the thread's own way through the kernel", 5, 1, 9_998, None),
    ("interrupts", "other interrupts and softirqs were served", 2, 5, 488, None),
    ("unexplained", "what no cause claims", 1, 1, 74, None),
];

/// Kind, name, pid, cause, weight, wakeups.
type CulpritRow = (&'static str, &'static str, Option<u32>, &'static str, u64, u64);

const CULPRITS: [CulpritRow; 15] = [
    ("timer", "storm-07", Some(5007), "stacked_timers", 190, 3_312),
    ("idle_state", "C2", None, "idle_exit", 170, 7_410),
    ("function", "hrtimer_wakeup", None, "callback", 120, 9_998),
    ("irq", "local_timer", None, "irq_delay", 92, 9_641),
    ("timer", "storm-03", Some(5003), "stacked_timers", 88, 2_018),
    ("task", "migration/1", Some(23), "higher_priority", 71, 204),
    ("idle_state", "C1E", None, "idle_exit", 62, 1_710),
    ("function", "do_nanosleep", None, "own_kernel_work", 50, 9_998),
    (
        "timer",
        "a-name-much-longer-than-any-comm-could-be-in-the-kernel",
        Some(5012),
        "stacked_timers",
        44,
        1_122,
    ),
    ("timer", "tick_nohz_handler", None, "stacked_timers", 38, 4_981),
    ("task", HOSTILE, Some(6_666), "higher_priority", 21, 107),
    ("irq", "virtio1-input.0", None, "interrupts", 19, 391),
    ("unknown", "", None, "unexplained", 14, 74),
    ("softirq", "NET_RX", None, "interrupts", 11, 97),
    ("cpu", "CPU 1", None, "irq_delay", 10, 33),
];

pub(crate) fn context() -> Context {
    Context {
        title: "tardy run".to_owned(),
        command_line: "tardy run --load storm:40 -D 10s".to_owned(),
        kernel: "6.18.5 SMP PREEMPT_DYNAMIC".to_owned(),
        host: "lab-3".to_owned(),
        hypervisor: Some("KVM".to_owned()),
        load: Some("storm:40".to_owned()),
        source: "live (eBPF)".to_owned(),
        recording: Some("storm.tardy".into()),
        recorded_command: String::new(),
        policy_refused: None,
        is_cut_short: false,
        whom: String::new(),
        ended: std::collections::BTreeSet::new(),
        again: "tardy explain storm.tardy".to_owned(),
        caught: None,
        page: Some("storm.tardy/report.html".into()),
        notes: vec!["System calls were not recorded; lateness ends at the switch.".to_owned()],
        duration_ns: 10_000_000_000,
    }
}

pub(crate) fn measurement() -> Measurement {
    let threads = (0..2).map(|number| ThreadMeasurement {
        name: format!("cyclic-{number}"),
        pid: 4_101 + number,
        policy: Policy::Fifo,
        prio: 80,
        cpu: Some(number as u16),
        interval_ns: 1_000_000,
        latencies: latencies(number.into()),
        overruns: number.into(),
        blocking: blocking(number.into()),
        usage: Some(ThreadUsage { voluntary_switches: 4_998, ..ThreadUsage::default() }),
        own_cost: Some(OwnCost {
            samples: 5_000,
            min_ns: 30,
            median_ns: 41,
            sleeps: 64,
            slept_median_ns: 95,
        }),
    });
    Measurement {
        threads: threads.collect(),
        broken_by: None,
        notes: Vec::new(),
        histograms: Vec::new(),
    }
}

/// 4,999 latencies: a body near 10 µs, a shoulder, and a tail that no worst wakeup below exceeds.
fn latencies(seed: u64) -> Latencies {
    let mut latencies = Latencies::default();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let tail: &[u64] = if seed == 0 { &[287_310] } else { &[412_307, 190_044] };
    for &ns in tail {
        latencies.record(ns);
    }
    while latencies.count() < 4_999 {
        let body = 5_500.0 + 2_500.0 * (uniform() + uniform() + uniform());
        let storm = if uniform() < 0.3 { 9_000.0 + 6_000.0 * uniform() } else { 0.0 };
        let tail = if uniform() < 0.02 { 20_000.0 / (uniform() + 0.13) } else { 0.0 };
        latencies.record((body + storm + tail) as u64);
    }
    latencies
}

/// The order in time of something like those latencies: half of each is half of the one before.
fn blocking(seed: u64) -> Blocking {
    let mut blocking = Blocking::default();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut ns = 10_000;
    for _ in 0..4_999 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ns = ns / 2 + (state >> 51);
        blocking.record(ns);
    }
    blocking
}

pub(crate) fn explanation() -> Explanation {
    let each = [latencies(0), latencies(1)];
    let mut all = each[0].clone();
    all.merge(&each[1]);
    let total_ns = all.sum_ns() as u64;
    let worst_ns = 9_876_543;
    let share = |ns: u64, of: u64| ns as f64 / of as f64;

    let ns = apportion(total_ns, &CAUSES.map(|row| row.2));
    let worst = apportion(worst_ns, &CAUSES.map(|row| row.3));
    let causes =
        CAUSES.iter().zip(ns.into_iter().zip(worst)).map(|(row, (ns, in_worst_ns))| CauseFinding {
            cause: Cause(row.0),
            meaning: row.1,
            ns,
            share: share(ns, total_ns),
            wakeups: row.4,
            worst_ns: in_worst_ns,
            worst_share: share(in_worst_ns, worst_ns),
            advice: row.5.map(|(text, _)| text.to_owned()),
        });
    let causes: Vec<CauseFinding> = causes.collect();
    let advised = CAUSES.iter().zip(&causes).filter_map(|(row, cause)| {
        let (text, command) = row.5?;
        Some(Advice {
            changes: Vec::new(),
            cause: cause.cause,
            text: text.to_owned(),
            command: command.map(str::to_owned),
            gain: cause.share,
            worst_gain: cause.worst_share,
        })
    });
    let advice: Vec<Advice> = advised.collect();
    let ns = apportion(total_ns, &CULPRITS.map(|row| row.4));
    let culprits = CULPRITS.iter().zip(ns).map(|(row, ns)| CulpritFinding {
        label: Label { kind: row.0, name: row.1.to_owned(), pid: row.2 },
        who: row.2.map_or(Culprit::Nobody, |pid| Culprit::Task(TaskId(pid))),
        process: row.2.map(|_| 4_999),
        group: 0,
        main_cause: Cause(row.3),
        causes: vec![(Cause(row.3), ns)],
        ns,
        share: share(ns, total_ns),
        wakeups: row.5,
        stacks: Vec::new(),
    });
    let (mut groups, culprits) = grouped(culprits.collect());
    for group in &mut groups {
        if group.main_cause == Cause("not_preemptible") {
            let (cause, frames, ns) = (group.main_cause, FRAMES.to_owned(), group.ns / 5 * 4);
            group.stacks.push(StackFinding { cause, frames, ns });
        }
    }
    let victims = each.into_iter().enumerate().map(|(number, latencies)| VictimFinding {
        label: victim(number as u32),
        latencies,
        process: Some(4_100),
        prio: Some(Prio(19)),
        measures: true,
        has_exited: false,
    });
    Explanation {
        gaps: GapFinding::default(),
        lost_uncounted: 0,
        events: 1_204_311,
        lost: 212,
        start_ns: START_NS,
        span_ns: 10_000_000_000,
        latencies: all,
        touched_by_loss: 3,
        near_loss: 3,
        victims: victims.collect(),
        causes,
        culprits,
        groups,
        advice,
        worst_group: WorstGroup { wakeups: 101, from_ns: 61_215, ns: worst_ns },
        patterns: vec![stacking()],
        worst: vec![stacked(), preempted(), touched(), boosted().worst.remove(0)],
        ..Explanation::default()
    }
}

/// The storm's timers are one, everybody else is by itself.
fn grouped(mut culprits: Vec<CulpritFinding>) -> (Vec<GroupFinding>, Vec<CulpritFinding>) {
    let is_storm =
        |found: &CulpritFinding| found.label.kind == "timer" && found.label.pid.is_some();
    let storm: Vec<usize> = (0..culprits.len()).filter(|at| is_storm(&culprits[*at])).collect();
    let alone = (0..culprits.len()).filter(|at| !is_storm(&culprits[*at])).map(|at| vec![at]);
    let mut groups: Vec<GroupFinding> = alone
        .chain([storm])
        .map(|members| {
            let first = &culprits[members[0]];
            let ns = members.iter().map(|at| culprits[*at].ns).sum();
            let name =
                if members.len() > 1 { "sleep timers of storm-*" } else { &first.label.name };
            GroupFinding {
                group: Group {
                    kind: first.label.kind,
                    name: name.to_owned(),
                    threads: u64::from(first.label.pid.is_some()) * members.len() as u64,
                    processes: u64::from(first.label.pid.is_some()),
                    pid: first.label.pid.filter(|_| members.len() == 1),
                },
                ns,
                share: members.iter().map(|at| culprits[*at].share).sum(),
                main_cause: first.main_cause,
                causes: vec![(first.main_cause, ns)],
                stacks: Vec::new(),
                members,
            }
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.ns));
    for (at, group) in groups.iter().enumerate() {
        group.members.iter().for_each(|member| culprits[*member].group = at);
    }
    (groups, culprits)
}

/// A call for a lock whose owner is boosted twice, as it is explained.
pub(crate) fn boosted() -> Explanation {
    const HIGH: TaskId = TaskId(1_312);
    const LOW: TaskId = TaskId(1_311);
    const TRACER: TaskId = TaskId(1_308);
    const BUSY: TaskId = TaskId(1_313);
    let mut batch = Batch::default();
    let mut event = |us: u64, cpu: u16, task: TaskId, kind: Kind| {
        let time_ns = START_NS + 412_000_000 + us * 1_000;
        batch.events.push(Event::new(time_ns, CpuId(cpu), task, kind));
    };
    for (task, name) in [(HIGH, "high"), (LOW, "low"), (TRACER, "trace-cmd"), (BUSY, "busy")] {
        let flags = if task == HIGH { TaskInfo::WATCHED | TaskInfo::SYSCALLS } else { 0 };
        event(228, 0, task, Kind::TaskName(TaskName { comm: Comm::new(name) }));
        event(228, 0, task, Kind::TaskInfo(TaskInfo { process: TaskId(1_310), flags }));
    }
    let futex = |op| {
        let (call, number, value, argument) = (Call::Futex, 240, 0, 0x11524);
        Kind::SyscallEnter(SyscallEnter { call, number, op, value, argument })
    };
    let switch = |prev_state, prev_prio, next, next_prio| {
        let (prev_prio, next_prio) = (Prio(prev_prio), Prio(next_prio));
        let preempted = prev_state == TaskState::Running;
        Kind::Switch(Switch { prev_state, prev_prio, preempted, next, next_prio })
    };
    let prio = |old, new, released| {
        let (old, new) = (Prio(old), Prio(new));
        Kind::Priority(Priority { target: LOW, old, new, released })
    };
    let wake = Kind::Waking(Waking { target: HIGH, target_cpu: CpuId(1), prio: Prio(40) });
    let (running, sleeping) = (TaskState::Running, TaskState::Interruptible);
    event(229, 1, HIGH, futex(futex::LOCK_PI | 0x80));
    event(243, 0, LOW, switch(running, 120, TRACER, 120));
    event(248, 1, HIGH, prio(120, 40, false));
    event(266, 1, HIGH, switch(sleeping, 40, BUSY, 41));
    event(268, 0, TRACER, switch(running, 120, LOW, 40));
    event(280, 0, LOW, futex(futex::UNLOCK_PI | 0x80));
    event(295, 0, LOW, wake);
    event(300, 0, LOW, prio(40, 120, true));
    event(301, 1, BUSY, switch(running, 41, HIGH, 40));
    event(316, 0, LOW, switch(running, 120, TRACER, 120));
    event(321, 1, HIGH, prio(120, 40, false));
    event(337, 1, HIGH, switch(TaskState::Uninterruptible, 40, BUSY, 41));
    event(340, 0, TRACER, switch(running, 120, LOW, 40));
    event(352, 0, LOW, wake);
    event(356, 0, LOW, prio(40, 120, true));
    event(356, 1, BUSY, switch(running, 41, HIGH, 40));
    event(370, 1, HIGH, Kind::SyscallExit(SyscallExit { number: 240, result: 0 }));
    let mut explainer = Explainer::new(Options::default(), ());
    explainer.batch(&batch);
    explainer.finish().0
}

/// What is told of the storm.
fn stacking() -> PatternFinding {
    let found = Found {
        wakeups: 6_704,
        of_wakeups: 9_998,
        ns: 44_000_000,
        share: 0.41,
        worst: Some(Instance {
            victim: victim(1),
            expiry_ns: START_NS + 3_214_567_000,
            lateness_ns: 412_307,
            ns: 355_600,
            at_ns: START_NS + 3_214_600_307,
            prio: None,
        }),
        worst_share: 0.86,
        count_max: 20,
        count_mean: 11.2,
        culprits: vec![(label("timer", HOSTILE, Some(5_007)), 19_000_000)],
        culprits_count: 20,
        groups: vec![(
            Group { kind: "timer", name: HOSTILE.to_owned(), threads: 20, ..Group::default() },
            19_000_000,
        )],
        watched: Vec::new(),
    };
    PatternFinding {
        name: "timer_stacking",
        title: "timers stacked in one interrupt",
        words: format!("In 6704 of 9998 wakeups other timers ran first; they belong to {HOSTILE}."),
        reference: "linux-rt-users, Gratian Crisan, \"latency induced by hrtimer stacking\"",
        found,
    }
}

/// All of the above, as a caller would hand it over.
pub(crate) fn with_data<R>(test: impl FnOnce(&Data<'_>) -> R) -> R {
    let (context, explanation, measurement) = (context(), explanation(), measurement());
    let mut data = Data::new(&context);
    data.explanation = Some(&explanation);
    data.measurement = Some(&measurement);
    test(&data)
}

/// The same with nothing but a measurement.
pub(crate) fn with_measurement_only<R>(test: impl FnOnce(&Data<'_>) -> R) -> R {
    let context = Context {
        recording: None,
        page: None,
        recorded_command: String::new(),
        policy_refused: None,
        is_cut_short: false,
        whom: String::new(),
        ended: std::collections::BTreeSet::new(),
        again: String::new(),
        notes: Vec::new(),
        hypervisor: None,
        ..context()
    };
    let measurement = measurement();
    let mut data = Data::new(&context);
    data.measurement = Some(&measurement);
    test(&data)
}

fn victim(number: u32) -> Label {
    label("task", &format!("cyclic-{number}"), Some(4_101 + number))
}

fn label(kind: &'static str, name: &str, pid: Option<u32>) -> Label {
    Label { kind, name: name.to_owned(), pid }
}

/// Cause, culprit, its name, nanoseconds.
type Part = (&'static str, Culprit, Label, u64);

fn worst_wakeup(number: u32, at_ns: u64, parts: Vec<Part>, touched_by_loss: bool) -> WorstWakeup {
    let cpu = CpuId(number as u16);
    let expiry_ns = START_NS + at_ns;
    let victim = victim(number);
    let mut labels = BTreeMap::new();
    let mut segments = Vec::new();
    let mut lane = Lane {
        cpu,
        spans: vec![span(expiry_ns - 60_000, expiry_ns, label("idle_state", "C2", None))],
    };
    let mut end_ns = expiry_ns;
    for (cause, culprit, name, ns) in parts {
        let (cause, start_ns, stack) = (Cause(cause), end_ns, NameId::NONE);
        segments.push(Segment { cause, culprit, start_ns, ns, stretch: 0, stack });
        lane.spans.push(span(end_ns, end_ns + ns, name.clone()));
        labels.insert(culprit, name);
        end_ns += ns;
    }
    lane.spans.push(span(end_ns, end_ns + 30_000, victim.clone()));
    let other = Lane {
        cpu: CpuId(1 - cpu.0),
        spans: vec![
            span(expiry_ns - 60_000, expiry_ns - 12_000, label("task", "storm-load", Some(4_999))),
            span(expiry_ns - 12_000, expiry_ns - 9_000, label("irq", "local_timer", None)),
            // Between the two, nothing is known.
            span(expiry_ns + 8_000, end_ns + 30_000, label("task", "storm-load", Some(4_999))),
        ],
    };
    let wakeup = Wakeup {
        task: TaskId(4_101 + number),
        cpu,
        prio: Prio(19),
        kind: WakeupKind::Timer,
        timer: TimerId(1 + number),
        expiry_ns,
        lateness_ns: end_ns - expiry_ns,
        to_user: true,
        touched_by_loss,
        near_loss: touched_by_loss,
        segments,
        stretches: Vec::new(),
        boosts: Vec::new(),
        lock: None,
        chain: Vec::new(),
        slept_in: NameId::NONE,
    };
    assert!(wakeup.is_balanced());
    let mut lanes = vec![lane, other];
    lanes.sort_by_key(|lane| lane.cpu);
    WorstWakeup { wakeup, victim, patterns: Patterns::default(), steps: Vec::new(), labels, lanes }
}

fn span(start_ns: u64, end_ns: u64, label: Label) -> LaneSpan {
    LaneSpan { start_ns, end_ns, label }
}

fn idle(ns: u64) -> Part {
    ("idle_exit", Culprit::IdleState(2), label("idle_state", "C2", None), ns)
}

fn late_irq(ns: u64) -> Part {
    let culprit = Culprit::Irq(Irq::Vector(Vector::LOCAL_TIMER));
    ("irq_delay", culprit, label("irq", "local_timer", None), ns)
}

fn storm(number: u32, ns: u64) -> Part {
    let culprit = Culprit::Timer(TimerId(100 + number), TaskId(5_000 + number));
    let name = label("timer", &format!("storm-{number:02}"), Some(5_000 + number));
    ("stacked_timers", culprit, name, ns)
}

fn callback(ns: u64) -> Part {
    let culprit = Culprit::Function(NameId(1));
    ("callback", culprit, label("function", "hrtimer_wakeup", None), ns)
}

fn task(cause: &'static str, pid: u32, name: &str, ns: u64) -> Part {
    (cause, Culprit::Task(TaskId(pid)), label("task", name, Some(pid)), ns)
}

fn stacked() -> WorstWakeup {
    let mut parts = vec![idle(31_207), late_irq(2_100)];
    parts.extend((0..40).map(|number| storm(number % 20, 8_500 + u64::from(number) * 20)));
    parts.push(callback(5_400));
    parts.push(task("higher_priority", 23, "migration/1", 12_000));
    parts.push(task("own_kernel_work", 4_102, "cyclic-1", 6_000));
    worst_wakeup(1, 3_214_567_000, parts, false)
}

/// Where it was, by a name that is no better than its own.
const FRAMES: &str = "zap_pte_range<-unmap\u{1b}[31m<b>_range<-unmap_vmas<-__x64_sys_munmap";
const STACK: NameId = NameId(900);

fn preempted() -> WorstWakeup {
    let parts = vec![
        late_irq(1_310),
        callback(2_000),
        task("not_preemptible", 6_666, HOSTILE, 40_000),
        (
            "interrupts",
            Culprit::Irq(Irq::Line(28, NameId(2))),
            label("irq", "virtio1-input.0", None),
            24_000,
        ),
        task("not_preemptible", 6_666, HOSTILE, 20_000),
        task("higher_priority", 23, "migration/1", 190_000),
        task("own_kernel_work", 4_101, "cyclic-0", 10_000),
    ];
    let mut worst = worst_wakeup(0, 7_000_120_000, parts, false);
    worst.labels.insert(Culprit::Function(STACK), label("function", FRAMES, None));
    for segment in &mut worst.wakeup.segments {
        if segment.cause == Cause("not_preemptible") {
            segment.stack = STACK;
        }
    }
    worst
}

fn touched() -> WorstWakeup {
    let parts = vec![
        idle(50_044),
        late_irq(10_000),
        ("unexplained", Culprit::Nobody, Label::default(), 120_000),
        callback(4_000),
        task("own_kernel_work", 4_102, "cyclic-1", 6_000),
    ];
    worst_wakeup(1, 9_100_000_000, parts, true)
}
