//! Who is watched of the tasks that begin while it is recorded: small traces, with what they must
//! mean.

use std::fmt::Write;
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::event::TaskInfo;
use tardy_model::{Batch, CpuId, Event, Kind, TaskId};

/// `CLONE_THREAD`.
const THREAD: u64 = 0x0001_0000;
const PROCESS: u64 = 0;

/// Each of these tasks begins a new one; returns what is told of the new ones.
fn play(decoder: &mut Decoder, begun: &[(u8, u64, u64)]) -> Vec<(u32, TaskInfo)> {
    let mut text = "name: task_newtask\nID: 3\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        .to_owned();
    for (at, field) in ["u64 pid", "char comm[8]", "u64 clone_flags"].iter().enumerate() {
        writeln!(text, "\tfield:{field};\toffset:{};\tsize:8;\tsigned:0;", 8 + 8 * at).unwrap();
    }
    assert!(decoder.learn("task", &EventFormat::parse(&text).unwrap()));
    let mut batch = Batch::default();
    for (by, task, clone_flags) in begun {
        let mut bytes = vec![3, 0, 0, 0, *by, 0, 0, 0];
        for field in [*task, u64::from_le_bytes(*b"worker\0\0"), *clone_flags] {
            bytes.extend(field.to_le_bytes());
        }
        decoder.decode(100, CpuId(0), &bytes, &mut batch);
    }
    assert_eq!(decoder.undecoded(), 0);
    let infos = batch.events.iter().filter_map(|event| match event.kind() {
        Kind::TaskInfo(info) => Some((event.task.0, info)),
        _ => None,
    });
    infos.collect()
}

/// Process 10 with its other thread 11, and process 20.
fn decoder() -> Decoder {
    let clocks = ClockOffsets::default();
    let mut decoder = Decoder::new(Endian::Little, clocks, 4_000_000, Symbols::default());
    let known = [(10, 10), (11, 10), (20, 20)].map(|(task, process)| {
        let info = TaskInfo { process: TaskId(process), flags: 0 };
        Event::new(50, CpuId(0), TaskId(task), Kind::TaskInfo(info))
    });
    decoder.introduce(&known);
    decoder
}

fn info(process: u32, flags: u8) -> TaskInfo {
    TaskInfo { process: TaskId(process), flags }
}

const WATCHED: u8 = TaskInfo::WATCHED;

#[test]
fn new_threads_of_a_watched_process_are_watched_and_its_children_are_not() {
    let mut decoder = decoder();
    decoder.watch([TaskId(10)], None);
    let told = play(&mut decoder, &[(11, 30, THREAD), (11, 31, PROCESS), (20, 32, THREAD)]);
    assert_eq!(told, [(30, info(10, WATCHED)), (31, info(31, 0)), (32, info(20, 0))]);
}

#[test]
fn children_of_a_process_are_watched_with_theirs_until_their_id_is_anothers() {
    let mut decoder = decoder();
    decoder.watch([], Some(TaskId(10)));
    let begun = [
        (10, 30, THREAD),
        (11, 31, PROCESS),
        (31, 32, THREAD),
        (32, 33, PROCESS),
        (20, 34, PROCESS),
        (20, 31, PROCESS),
        (31, 35, THREAD),
    ];
    let expected = [
        (30, info(10, 0)),
        (31, info(31, WATCHED)),
        (32, info(31, WATCHED)),
        (33, info(33, WATCHED)),
        (34, info(34, 0)),
        (31, info(31, 0)),
        (35, info(31, 0)),
    ];
    assert_eq!(play(&mut decoder, &begun), expected);
}
