//! What the stream has where the kernel did not tell of a switch: small traces, with what they must
//! mean.

use tardy_model::event::{Loss, Mark, Switch, TaskState};
use tardy_model::{Batch, CpuId, Event, Kind, Prio, TaskId};
use tardy_tracefs::decode::Decoder;
use tardy_tracefs::format::{Endian, EventFormat};
use tardy_tracefs::{ClockOffsets, Symbols};

const WAKING: u16 = 1;
const SWITCH: u16 = 2;
const RAISE: u16 = 3;

/// A field with its bytes; every record has room for all of them.
const FIELDS: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
    \tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:int prio;\toffset:12;\tsize:4;\tsigned:1;\n\
    \tfield:int target_cpu;\toffset:16;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_prio;\toffset:12;\tsize:4;\tsigned:1;\n\
    \tfield:int prev_state;\toffset:16;\tsize:4;\tsigned:1;\n\
    \tfield:int next_pid;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:int next_prio;\toffset:12;\tsize:4;\tsigned:1;\n\
    \tfield:char comm[1];\toffset:20;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n";

fn decoder(with_switches: bool) -> Decoder {
    let clocks = ClockOffsets::default();
    let mut decoder = Decoder::new(Endian::Little, clocks, 4_000_000, Symbols::default());
    let events = [
        ("sched", "sched_waking", WAKING),
        ("sched", "sched_switch", SWITCH),
        ("irq", "softirq_raise", RAISE),
    ];
    for (group, name, id) in events {
        if id != SWITCH || with_switches {
            let text = format!("name: {name}\nID: {id}\nformat:\n{FIELDS}");
            assert!(decoder.learn(group, &EventFormat::parse(&text).unwrap()));
        }
    }
    decoder
}

/// A record on CPU 1: time, event, the current task, and the other task with its priority.
fn record(decoder: &mut Decoder, batch: &mut Batch, it: (u64, u16, u32, u32)) {
    let (time_ns, event, current, other) = it;
    let mut bytes = u32::from(event).to_le_bytes().to_vec();
    for field in [current, other, 19, 1, 0] {
        bytes.extend(field.to_le_bytes());
    }
    decoder.decode(time_ns, CpuId(1), &bytes, batch);
}

fn told(batch: &Batch) -> Vec<(u64, u32, Kind)> {
    let all = batch.events.iter().filter(|event| !matches!(event.kind(), Kind::TaskName(_)));
    all.map(|event| (event.time_ns, event.task.0, event.kind())).collect()
}

fn loss(since_ns: u64) -> Kind {
    Loss { since_ns, count: 1 }.into()
}

/// A switch that nobody told of: of its priorities only that of a thread that was woken is known.
fn seen_late(next: u32, next_prio: i16) -> Kind {
    let switch = Switch {
        prev_state: TaskState::Running,
        prev_prio: Prio(120),
        preempted: false,
        next: TaskId(next),
        next_prio: Prio(next_prio),
    };
    switch.into()
}

fn mark(time_ns: u64, task: u32, cpu: u16) -> Event {
    let mark = Mark { expiry_ns: 1, sequence: 0 };
    Event::new(time_ns, CpuId(cpu), TaskId(task), mark.into())
}

#[test]
fn a_mark_gives_away_the_switch_from_the_idle_task() {
    let (mut decoder, mut batch) = (decoder(true), Batch::default());
    record(&mut decoder, &mut batch, (100, SWITCH, 7, 0));
    record(&mut decoder, &mut batch, (200, WAKING, 0, 7));
    record(&mut decoder, &mut batch, (210, RAISE, 0, 1));
    decoder.pass(mark(250, 7, 1), &mut batch);
    record(&mut decoder, &mut batch, (260, SWITCH, 7, 0));
    let told = told(&batch);
    assert_eq!(told[3..5], [(250, 0, loss(210)), (250, 0, seen_late(7, 19))]);
    assert!(matches!(told[5], (250, 7, Kind::Mark(_))));
    assert!(matches!(told[6], (260, 7, Kind::Switch(_))), "{told:?}");
    assert_eq!(told.len(), 7);
    assert_eq!(decoder.untold_switches().collect::<Vec<_>>(), [(CpuId(1), 1)]);
}

#[test]
fn any_record_gives_away_who_runs() {
    let (mut decoder, mut batch) = (decoder(true), Batch::default());
    record(&mut decoder, &mut batch, (100, SWITCH, 7, 0));
    record(&mut decoder, &mut batch, (300, RAISE, 8, 1));
    record(&mut decoder, &mut batch, (310, RAISE, 8, 1));
    let told = told(&batch);
    assert_eq!(told[1..3], [(300, 0, loss(100)), (300, 0, seen_late(8, 120))]);
    assert_eq!(told.len(), 5);
}

#[test]
fn what_is_told_already_is_not_told_again() {
    let (mut decoder, mut batch) = (decoder(true), Batch::default());
    // A loss that the kernel tells of itself may have had the switch in it.
    record(&mut decoder, &mut batch, (100, SWITCH, 7, 0));
    let lost = Event::new(300, CpuId(1), TaskId::IDLE, loss(100));
    decoder.pass(lost, &mut batch);
    record(&mut decoder, &mut batch, (300, RAISE, 8, 1));
    // A thread that moved while it marked, and is known to run.
    decoder.pass(mark(350, 8, 0), &mut batch);
    assert_eq!(told(&batch).len(), 4);
    assert_eq!(decoder.untold_switches().count(), 0);
}

#[test]
fn nothing_follows_where_switches_are_not_recorded() {
    let (mut decoder, mut batch) = (decoder(false), Batch::default());
    record(&mut decoder, &mut batch, (100, RAISE, 7, 1));
    record(&mut decoder, &mut batch, (200, RAISE, 8, 1));
    assert_eq!(told(&batch).len(), 2);
    assert_eq!(decoder.untold_switches().count(), 0);
}
