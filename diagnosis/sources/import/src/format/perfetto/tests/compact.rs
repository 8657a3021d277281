//! The compact form of scheduler events.

use super::*;

#[test]
fn compact_switches_know_who_left_by_who_came_before() {
    let bundle = FtraceEventBundle {
        cpu: Some(3),
        compact_sched: Some(compact()),
        ..FtraceEventBundle::default()
    };
    let next = FtraceEventBundle {
        cpu: Some(3),
        compact_sched: Some(CompactSched {
            intern_table: vec![b"seven".to_vec()],
            switch_timestamp: vec![200],
            switch_prev_state: vec![0],
            switch_next_pid: vec![7],
            switch_next_prio: vec![19],
            switch_next_comm_index: vec![0],
            ..CompactSched::default()
        }),
        ..FtraceEventBundle::default()
    };
    let read = read_packets(vec![packet(bundle), packet(next)]);
    let switch = |prev_state, prev_prio, preempted, next, next_prio| {
        let (prev_prio, next, next_prio) = (Prio(prev_prio), TaskId(next), Prio(next_prio));
        Kind::from(Switch { prev_state, prev_prio, preempted, next, next_prio })
    };
    let name = |name| Kind::from(TaskName { comm: Comm::new(name) });
    let waking = Waking { target: TaskId(8), target_cpu: CpuId(3), prio: Prio(120) };
    let expected = [
        // At 90 nobody knows who is current, at 100 nobody who left.
        (110, 0, 8, name("eight")),
        (110, 3, 7, waking.into()),
        (120, 0, 7, name("seven")),
        (120, 3, 7, switch(TaskState::Running, 19, true, 8, 120)),
        (150, 3, 8, switch(TaskState::Uninterruptible, 120, false, 0, 120)),
        (200, 3, 0, switch(TaskState::Running, 120, false, 7, 19)),
    ];
    assert_eq!(read.kinds(), expected);
    assert!(read.closing.notes.iter().any(|note| note.contains("1 switches and 1 wakings")));
    assert!(read.closing.notes.iter().any(|note| note.contains("no clock snapshot")));
}

#[test]
fn columns_of_different_lengths_end_with_the_shortest() {
    let mut short = compact();
    short.switch_next_prio.truncate(2);
    short.waking_pid.clear();
    short.switch_next_comm_index[1] = 77;
    let bundle = FtraceEventBundle { compact_sched: Some(short), ..FtraceEventBundle::default() };
    let read = read_packets(vec![packet(bundle)]);
    let kinds: Vec<_> = read.events.iter().map(|event| (event.time_ns, event.tag())).collect();
    assert_eq!(kinds, [(120, TaskName::TAG), (120, TaskName::TAG), (120, Switch::TAG)]);
}
