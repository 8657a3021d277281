//! Order, losses, clocks, tasks, names: what only the trace as a whole tells.

use super::*;

#[test]
fn cpus_in_any_order_come_in_order_of_time() {
    let times = |from: u64, step: u64| {
        (0..50_u64).map(move |at| idle(from + at * step, 1)).collect::<Vec<_>>()
    };
    let read = read_packets(vec![
        bundle(1, times(10_000, 7)),
        bundle(0, times(5, 300)),
        bundle(2, times(400, 1)),
        bundle(1, times(11_000, 3)),
        bundle(0, times(20_000, 1)),
    ]);
    assert_eq!(read.events.len(), 250);
    assert!(read.events.is_sorted_by_key(|event| event.time_ns));
    let on_cpu = |cpu| read.events.iter().filter(|event| event.cpu == CpuId(cpu)).count();
    assert_eq!([on_cpu(0), on_cpu(1), on_cpu(2)], [100, 100, 50]);
}

#[test]
fn a_loss_begins_where_the_cpu_was_last_heard_of() {
    let lost = |time, previous_end| FtraceEventBundle {
        cpu: Some(0),
        event: vec![idle(time, 1)],
        lost_events: Some(true),
        previous_bundle_end_timestamp: previous_end,
        ..FtraceEventBundle::default()
    };
    // At the beginning of all, nothing was there that could be missing.
    let read = read_packets(vec![
        packet(lost(100, None)),
        packet(lost(200, Some(150))),
        packet(lost(300, None)),
        bundle(1, vec![idle(110, 1)]),
        packet(FtraceEventBundle {
            lost_events: Some(true),
            cpu: Some(1),
            ..FtraceEventBundle::default()
        }),
        bundle(1, vec![idle(400, 1)]),
        bundle(2, vec![idle(90, 1)]),
        packet(FtraceEventBundle { cpu: Some(3), ..lost(500, Some(450)) }),
    ]);
    let told: Vec<_> = read
        .kinds()
        .into_iter()
        .filter_map(|(time_ns, cpu, _, kind)| match kind {
            Kind::Loss(told) => Some((time_ns, cpu, told.since_ns, told.is_counted())),
            _ => None,
        })
        .collect();
    let expected = [
        (100, 0, 90, false),
        (200, 0, 150, false),
        (300, 0, 200, false),
        (400, 1, 110, false),
        (500, 3, 450, false),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_lost_packet_may_have_been_any_cpus() {
    let dropped = |mut packet: TracePacket| {
        packet.previous_packet_dropped = Some(1);
        packet
    };
    let read = read_packets(vec![
        // The first packet of each sequence says so, and nothing is missing.
        dropped(bundle(0, vec![idle(10, 1)])),
        bundle(1, vec![idle(11, 1)]),
        dropped(bundle(0, vec![idle(20, 1)])),
        bundle(1, vec![idle(21, 1)]),
        bundle(1, vec![idle(31, 1)]),
    ]);
    let losses: Vec<_> =
        read.kinds().into_iter().filter(|event| matches!(event.3, Kind::Loss(_))).collect();
    let loss = |since_ns| Loss { since_ns, count: u32::MAX }.into();
    assert_eq!(losses, [(20, 0, 0, loss(10)), (21, 1, 0, loss(11))]);
}

#[test]
fn stamps_and_expiries_are_put_on_one_clock() {
    let second = 1_000_000_000;
    let start = event!(107 * second, 7, hrtimer_start: HrtimerStart {
        hrtimer: Some(1), function: Some(9), expires: Some(8 * second as i64),
        softexpires: Some(8 * second as i64),
    });
    let read = read_packets(vec![
        snapshot(&[(clock::BOOTTIME, 105 * second), (clock::MONOTONIC, 5 * second)]),
        bundle(0, vec![start]),
    ]);
    let (time_ns, _, _, Kind::TimerArm(arm)) = read.kinds()[0] else { panic!() };
    assert_eq!((time_ns, arm.soft_ns), (7 * second, 8 * second));
    assert_eq!(read.origin.clock, "mono");

    let global = FtraceEventBundle {
        event: vec![idle(50 * second, 1)],
        ftrace_clock: Some(ftrace_clock::GLOBAL),
        ftrace_timestamp: Some(40 * second as i64),
        boot_timestamp: Some(140 * second as i64),
        ..FtraceEventBundle::default()
    };
    let raw = FtraceEventBundle {
        cpu: Some(1),
        event: vec![idle(70 * second, 1)],
        ftrace_clock: Some(ftrace_clock::MONO_RAW),
        ..FtraceEventBundle::default()
    };
    let read = read_packets(vec![
        snapshot(&[
            (clock::BOOTTIME, 105 * second),
            (clock::MONOTONIC, 5 * second),
            (clock::MONOTONIC_RAW, 6 * second),
        ]),
        packet(global),
        packet(raw),
    ]);
    let times: Vec<_> = read.events.iter().map(|event| event.time_ns / second).collect();
    assert_eq!(times, [50, 69]);
}

#[test]
fn process_trees_name_threads_and_processes_once() {
    let process = |pid, ppid| Process { pid: Some(pid), ppid: Some(ppid), ..Process::default() };
    let thread =
        |tid, tgid, name: &str| Thread { tid: Some(tid), tgid: Some(tgid), name: text(name) };
    let tree = |timestamp| TracePacket {
        timestamp: Some(timestamp),
        process_tree: Some(ProcessTree {
            processes: vec![process(5, 1), process(17, 2)],
            threads: vec![thread(6, 5, "worker"), thread(17, 17, "kworker/0:1")],
        }),
        ..TracePacket::default()
    };
    let read = read_packets(vec![tree(20), tree(300), bundle(0, vec![idle(100, 1), idle(400, 1)])]);
    let name = |name| Kind::from(TaskName { comm: Comm::new(name) });
    let info = |process, flags| Kind::from(TaskInfo { process: TaskId(process), flags });
    let expected = [
        // Nothing is told before the first event.
        (100, 0, 5, info(5, 0)),
        (100, 0, 17, info(17, TaskInfo::KERNEL)),
        (100, 0, 6, name("worker")),
        (100, 0, 6, info(5, 0)),
        (100, 0, 17, name("kworker/0:1")),
        (100, 0, 0, IdleEnter { state: 1, polls: false, only: false }.into()),
        (400, 0, 0, IdleEnter { state: 1, polls: false, only: false }.into()),
    ];
    assert_eq!(read.kinds(), expected);
}

#[test]
fn symbols_of_a_sequence_that_began_anew_are_other_ones() {
    let with_symbol = |name: &str, flags, time| {
        let mut packet = bundle(
            0,
            vec![
                event!(time, 9, workqueue_execute_start: WorkqueueExecuteStart { function: Some(1) }),
            ],
        );
        packet.sequence_flags = Some(flags);
        packet.interned_data = Some(InternedData {
            kernel_symbols: vec![InternedString { iid: Some(1), str: text(name) }],
            ..InternedData::default()
        });
        packet
    };
    let read = read_packets(vec![
        with_symbol("first", sequence::INCREMENTAL_STATE_CLEARED, 10),
        with_symbol("second", sequence::INCREMENTAL_STATE_CLEARED, 20),
    ]);
    let names: Vec<_> = read
        .kinds()
        .into_iter()
        .map(|(_, _, _, kind)| match kind {
            Kind::WorkBegin(begin) => read.tables.name(begin.function),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["first", "second"]);
}

#[test]
fn own_events() {
    let own = |time, pid, name, fields: &[(&str, u64)]| generic(time, pid, name, fields);
    let read = read_packets(vec![bundle(
        0,
        vec![
            own(10, 7, own::TASK, &[(own::PROCESS, 5), (own::FLAGS, 12)]),
            own(20, 7, own::MARK, &[(own::EXPIRY, 15), (own::SEQUENCE, 3)]),
            own(
                30,
                7,
                own::PRIORITY,
                &[(own::PID, 7), (own::OLD_PRIO, 19), (own::NEW_PRIO, 19), (own::RELEASED, 1)],
            ),
            own(40, 7, own::LOSS, &[(own::SINCE, 35), (own::COUNT, 9)]),
            own(50, 0, own::POLLS, &[(own::STATE, 0)]),
            idle(50, 0),
            own(60, 7, own::MARK, &[(own::EXPIRY, 15)]),
            own(60, 7, "tardy_of_tomorrow", &[(own::EXPIRY, 15)]),
        ],
    )]);
    let expected: [(u64, u16, u32, Kind); 5] = [
        (10, 0, 7, TaskInfo { process: TaskId(5), flags: 12 }.into()),
        (20, 0, 7, Mark { expiry_ns: 15, sequence: 3 }.into()),
        (
            30,
            0,
            7,
            Priority { target: TaskId(7), old: Prio(19), new: Prio(19), released: true }.into(),
        ),
        (40, 0, 7, Loss { since_ns: 35, count: 9 }.into()),
        (50, 0, 0, IdleEnter { state: 0, polls: true, only: false }.into()),
    ];
    assert_eq!(read.kinds(), expected);
}
