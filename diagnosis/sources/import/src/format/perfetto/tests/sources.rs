//! Traces into which several data sources wrote.

use super::*;

fn by(sequence_id: u32, cpu: u32, event: Vec<FtraceEvent>) -> TracePacket {
    TracePacket { trusted_packet_sequence_id: Some(sequence_id), ..bundle(cpu, event) }
}

fn switch(time: u64, from: i32, to: i32) -> FtraceEvent {
    event!(time, from as u32, sched_switch: SchedSwitch {
        prev_pid: Some(from),
        prev_prio: Some(120),
        prev_state: Some(1),
        next_pid: Some(to),
        next_prio: Some(120),
    })
}

fn waking(time: u64, target: i32) -> FtraceEvent {
    event!(time, 0, sched_waking: SchedWaking {
        pid: Some(target),
        prio: Some(120),
        target_cpu: Some(1),
    })
}

#[test]
fn bundles_of_several_data_sources_are_merged_and_what_both_have_is_taken_once() {
    let read = read_packets(vec![
        by(3, 0, vec![idle(90, 1), idle(110, u32::MAX), waking(115, 7), idle(310, 2)]),
        by(2, 0, vec![switch(120, 0, 7), waking(200, 9), switch(300, 7, 0)]),
        by(3, 1, vec![idle(100, 1)]),
        by(2, 0, vec![waking(400, 7), switch(420, 0, 7)]),
        // The second of them has this too, and the first has it in compact form.
        by(4, 0, vec![switch(120, 0, 7), idle(310, 2), switch(500, 7, 0)]),
    ]);
    let names: Vec<String> = read
        .kinds()
        .into_iter()
        .map(|(time_ns, cpu, _, kind)| {
            format!("{time_ns} {cpu} {}", format!("{kind:?}").split('(').next().unwrap())
        })
        .collect();
    assert_eq!(
        names.join("|"),
        "90 0 IdleEnter|100 1 IdleEnter|110 0 IdleExit|115 0 Waking|120 0 Switch|200 0 Waking|\
         300 0 Switch|310 0 IdleEnter|400 0 Waking|420 0 Switch|500 0 Switch"
    );
    let notes = read.closing.notes.join("|");
    assert!(notes.contains("2 events that occur in more than one of them"), "{notes}");
}

#[test]
fn what_is_compact_in_one_data_source_is_the_same_in_another() {
    let mut columns = packet(FtraceEventBundle {
        cpu: Some(3),
        compact_sched: Some(compact()),
        ..FtraceEventBundle::default()
    });
    columns.trusted_packet_sequence_id = Some(9);
    // The compact form has switches at 100, 120 and 150 to 7, 8 and 0, wakings at 90 and 110.
    let plain = by(2, 3, vec![switch(99, 5, 0), waking(110, 8), switch(120, 7, 8)]);
    let read = read_packets(vec![plain, columns]);
    let times: Vec<_> = read
        .events
        .iter()
        .filter(|event| matches!(event.kind(), Kind::Switch(_) | Kind::Waking(_)))
        .map(|event| event.time_ns)
        .collect();
    // Who was current at 90 is not known.
    assert_eq!(times, [99, 100, 110, 120, 150], "{:?}", read.kinds());
}
