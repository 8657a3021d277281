//! The same trace on machines of any byte order and word size, in every kind of file, and what only
//! some files have: losses, several instances, clocks.

use crate::reading::{Whole, read_bytes};
use crate::writer::{Instance, MACHINES, Machine, PAGE_BYTES, Packing, Record, Value};
use tardy_model::event::{Call, Comm};
use tardy_model::{CpuId, Event, Kind, TaskId};

const TIMER: u64 = 0xc200_0000;
const WAKEUP: u64 = 0xc000_1000;
/// `clock_nanosleep` on ARM.
const NANOSLEEP: u64 = 265;

fn numbers(numbers: &[u64]) -> Vec<Value> {
    numbers.iter().copied().map(Value::Number).collect()
}

fn switch(time: u64, from: (&'static str, u64), to: (&'static str, u64), state: u64) -> Record {
    let number = Value::Number;
    let values = vec![
        Value::Text(from.0),
        number(from.1),
        number(120),
        number(state),
        Value::Text(to.0),
        number(to.1),
        number(19),
    ];
    (time, "sched_switch", from.1 as u32, values)
}

/// A sleep of task 7 that begins on CPU 0 at `from` and ends on CPU 1 100 µs later, 3 µs late, on a
/// trace clock that is behind the timers' by `ahead_ns`, and 1 µs before the reading is an event.
fn sleep(from: u64, ahead_ns: u64) -> [Vec<Record>; 2] {
    let soft = from + 100_000 + ahead_ns;
    let enter = [NANOSLEEP, 1, 0, 0, 0, 0, 0];
    let waking =
        vec![Value::Text("sleeper"), Value::Number(7), Value::Number(19), Value::Number(1)];
    [
        vec![
            (from - 2000, "sys_enter", 7, numbers(&enter)),
            (from, "hrtimer_start", 7, numbers(&[TIMER, WAKEUP, soft, soft, 0])),
            switch(from + 1000, ("sleeper", 7), ("swapper/0", 0), 1),
        ],
        vec![
            (from + 103_000, "hrtimer_expire_entry", 8, numbers(&[TIMER, soft + 2000, WAKEUP])),
            (from + 104_000, "sched_waking", 8, waking),
            (from + 105_000, "hrtimer_expire_exit", 8, numbers(&[TIMER])),
            switch(from + 106_000, ("waker", 8), ("sleeper", 7), 0),
            (from + 107_000, "sys_exit", 7, numbers(&[NANOSLEEP, 0])),
        ],
    ]
}

/// Two CPUs, a page per sleep and CPU.
fn instance(machine: Machine, name: &'static str, sleeps: u64, ahead_ns: u64) -> Instance {
    let mut cpus = vec![Vec::new(), Vec::new()];
    for at in 0..sleeps {
        let parts = sleep(1_000_000_000 + at * 4_000_000, ahead_ns);
        for (cpu, records) in cpus.iter_mut().zip(parts) {
            cpu.push(machine.page(&records, None));
        }
    }
    Instance { name, cpus }
}

fn kinds(whole: &Whole) -> Vec<(u64, CpuId, TaskId, Kind)> {
    let parts = |event: &Event| (event.time_ns, event.cpu, event.task, event.kind());
    whole.events.iter().map(parts).collect()
}

#[test]
fn the_same_trace_from_every_machine_in_every_kind_of_file() {
    let mut first: Option<Vec<_>> = None;
    for machine in MACHINES {
        let instances = [instance(machine, "", 5, 0)];
        let mut files = vec![("6", machine.v6("mono", &[], &instances))];
        for packing in [Packing::None, Packing::Zstd, Packing::Zlib, Packing::Gzip] {
            files.push(("7", machine.v7("mono", &[], packing, &instances)));
        }
        for (version, bytes) in files {
            let whole = read_bytes(&bytes).unwrap();
            assert_eq!(whole.origin.machine, "armv7l");
            assert_eq!(whole.origin.host, "board");
            assert_eq!(whole.closing.notes, Vec::<String>::new(), "{machine:?} {version}");
            let events = kinds(&whole);
            let expected = first.get_or_insert_with(|| events.clone());
            assert_eq!(&events, expected, "{machine:?} {version}");
        }
    }
    let events = first.unwrap();
    let of = |is_it: fn(&Kind) -> bool| events.iter().filter(|event| is_it(&event.3)).count();
    assert_eq!(of(|kind| matches!(kind, Kind::Switch(_))), 10);
    let is_sleep =
        |kind: &Kind| matches!(kind, Kind::SyscallEnter(it) if it.call == Call::ClockNanosleep);
    assert_eq!(of(is_sleep), 5);
    let names: Vec<_> = events
        .iter()
        .filter_map(|event| match event.3 {
            Kind::TaskName(name) => Some((event.2, name.comm)),
            _ => None,
        })
        .collect();
    assert_eq!(names, [(TaskId(7), Comm::new("sleeper")), (TaskId(8), Comm::new("waker"))]);
    let late: Vec<_> = events
        .iter()
        .filter_map(|event| match event.3 {
            Kind::ExpireBegin(begin) => Some(event.0 - begin.soft_ns),
            _ => None,
        })
        .collect();
    assert_eq!(late, [3000; 5]);
}

#[test]
fn what_a_page_says_was_lost_is_a_loss_before_its_first_event() {
    for machine in MACHINES {
        let [before, after] = [1_000_000_000, 2_000_000_000].map(|from| sleep(from, 0));
        let pages = vec![machine.page(&before[0], None), machine.page(&after[0], Some(42))];
        let instances = [Instance { name: "", cpus: vec![pages] }];
        let whole = read_bytes(&machine.v6("mono", &[], &instances)).unwrap();
        let loss = whole.events.iter().position(|event| matches!(event.kind(), Kind::Loss(_)));
        let at = loss.unwrap();
        let Kind::Loss(loss) = whole.events[at].kind() else { unreachable!() };
        assert_eq!((loss.count, loss.since_ns), (42, 1_000_001_000), "{machine:?}");
        assert_eq!(whole.events[at].time_ns, 1_999_998_000);
        assert_eq!(whole.events[at + 1].time_ns, 1_999_998_000);
    }
}

#[test]
fn one_instance_is_read_and_the_others_are_told() {
    let machine = MACHINES[0];
    let empty = Instance { name: "", cpus: vec![Vec::new(), Vec::new()] };
    for version in [6, 7] {
        let file = |instances: &[Instance]| {
            let bytes = match version {
                6 => machine.v6("mono", &[], instances),
                _ => machine.v7("mono", &[], Packing::Zstd, instances),
            };
            let whole = read_bytes(&bytes)?;
            let switches =
                whole.events.iter().filter(|event| matches!(event.kind(), Kind::Switch(_))).count();
            Ok((switches, whole.closing.notes.join("; ")))
        };
        let error =
            |result: Result<_, tardy_import::ImportError>| result.err().unwrap().to_string();
        let (top, one) = (instance(machine, "", 2, 0), instance(machine, "one", 3, 0));
        let two = instance(machine, "two", 1, 0);

        let (switches, notes) = file(&[top, one.clone()]).unwrap();
        assert_eq!(switches, 4, "version {version}");
        assert!(notes.contains("the top one was read; left out are `one`"), "{notes}");

        let (switches, notes) = file(&[empty.clone(), one, two]).unwrap();
        assert_eq!(switches, 6, "version {version}");
        assert!(notes.contains("`one` was read; left out are `two`"), "{notes}");

        let why = error(file(std::slice::from_ref(&empty)));
        assert!(why.contains("no event is in it"), "{why}");
    }
}

#[test]
fn events_behind_later_ones_of_their_cpu_are_lost() {
    let machine = MACHINES[0];
    let [one, _] = sleep(1_000_000_000, 0);
    let [two, _] = sleep(2_000_000_000, 0);
    let pages = vec![machine.page(&two, None), machine.page(&one, None)];
    let instances = [Instance { name: "", cpus: vec![pages] }];
    let whole = read_bytes(&machine.v6("mono", &[], &instances)).unwrap();
    let losses = whole.events.iter().filter(|event| matches!(event.kind(), Kind::Loss(_))).count();
    assert_eq!(losses, 3);
    assert!(whole.closing.notes.iter().any(|note| note.starts_with("3 events come after")));
}

#[test]
fn expiries_are_moved_to_the_traces_clock() {
    let machine = MACHINES[1];
    let lateness = |bytes: &[u8]| -> Vec<i64> {
        let whole = read_bytes(bytes).unwrap();
        let late = whole.events.iter().filter_map(|event| match event.kind() {
            Kind::ExpireBegin(begin) => Some(event.time_ns as i64 - begin.soft_ns as i64),
            _ => None,
        });
        late.collect()
    };
    // The reading comes 1 µs before its event, so lateness is too small by that, and no more.
    let far = [instance(machine, "", 40, 77_000_000_000)];
    assert_eq!(lateness(&machine.v6("local", &[], &far)), [2000; 40]);
    // The file says `mono`, and it cannot be.
    let whole = read_bytes(&machine.v6("mono", &[], &far)).unwrap();
    assert!(whole.closing.notes.iter().any(|note| note.contains("treated as another")));
    assert_eq!(lateness(&machine.v6("mono", &[], &far)), [2000; 40]);

    // OFFSET moves the trace's times away from the timers'.
    let near = [instance(machine, "", 40, 0)];
    assert_eq!(lateness(&machine.v6("mono", &[], &near)), [3000; 40]);
    let offset = |text: &[u8]| machine.v6("mono", &machine_option(machine, 7, text), &near);
    assert_eq!(lateness(&offset(b"5000000000000\0")), [2000; 40]);
    let moved = read_bytes(&offset(b"-0x1000000\0")).unwrap();
    assert_eq!(moved.events[0].time_ns, 1_000_000_000 - 2000 - 0x100_0000);
    // To before the beginning of time.
    let whole = read_bytes(&offset(b"-5000000000000\0")).unwrap();
    assert!(whole.closing.notes.iter().any(|note| note.contains("before time 0")));
    assert_eq!(lateness(&offset(b"-5000000000000\0")), [3000; 40]);
}

fn machine_option(machine: Machine, id: u64, data: &[u8]) -> Vec<u8> {
    let mut out = machine.number(id, 2);
    out.extend(machine.number(data.len() as u64, 4));
    out.extend(data);
    out
}

#[test]
fn cycles_become_nanoseconds_by_what_the_file_says_or_by_the_readings() {
    let machine = MACHINES[0];
    // 4 cycles a nanosecond: everything takes four times as long in stamps.
    let mut cpus = vec![Vec::new(), Vec::new()];
    for at in 0..40 {
        for (cpu, mut records) in cpus.iter_mut().zip(sleep(1_000_000_000 + at * 4_000_000, 0)) {
            for record in &mut records {
                record.0 *= 4;
            }
            cpu.push(machine.page(&records, None));
        }
    }
    let instances = [Instance { name: "", cpus }];
    let mut told = machine.number(1 << 20, 4);
    told.extend(machine.number(22, 4));
    told.extend(machine.number(0, 8));
    let told = machine_option(machine, 14, &told);
    for (more, off_ns) in [(told.as_slice(), 0), (&[], 2)] {
        let whole = read_bytes(&machine.v7("x86-tsc", more, Packing::Zstd, &instances)).unwrap();
        let mut count = 0;
        for event in &whole.events {
            if let Kind::ExpireBegin(begin) = event.kind() {
                count += 1;
                let late = event.time_ns as i64 - begin.soft_ns as i64;
                assert!((late - 2000).abs() <= off_ns, "{late}");
            }
        }
        assert_eq!(count, 40);
    }
    let few = Instance { name: "", cpus: vec![instances[0].cpus[0][..1].to_vec()] };
    let why = |clock| {
        let bytes = machine.v7(clock, &[], Packing::None, std::slice::from_ref(&few));
        read_bytes(&bytes).err().unwrap().to_string()
    };
    assert!(why("x86-tsc").contains("--tsc2nsec"), "{}", why("x86-tsc"));
    assert!(why("counter").contains("no times"), "{}", why("counter"));
}

#[test]
fn parts_that_cannot_be_unpacked_are_losses_between_those_that_can() {
    let machine = MACHINES[0];
    let bytes = machine.v7("mono", &[], Packing::Zstd, &[instance(machine, "", 6, 0)]);
    let whole = read_bytes(&bytes).unwrap();
    // Chunks of CPU 0 begin at the first whole page after the sections; break the second's contents.
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let is_data = |at: &usize| *at % PAGE_BYTES == 12 && bytes[*at..].starts_with(&magic);
    let first = (0..bytes.len() - 4).find(is_data).unwrap();
    let second = (first + 4..bytes.len()).find(|at| bytes[*at..].starts_with(&magic)).unwrap();
    let mut broken = bytes.clone();
    broken[second] ^= 0xff;
    let part = read_bytes(&broken).unwrap();
    let of = |whole: &Whole, is_it: fn(&Kind) -> bool| {
        whole.events.iter().filter(|event| is_it(&event.kind())).count()
    };
    assert_eq!(of(&part, |kind| matches!(kind, Kind::Loss(_))), 1);
    let arms = |whole: &Whole| of(whole, |kind| matches!(kind, Kind::TimerArm(_)));
    assert_eq!((arms(&whole), arms(&part)), (6, 4));
    let note =
        format!("CPU 0: 1 compressed parts cannot be unpacked, the first at byte {}", second - 8);
    assert!(part.closing.notes.iter().any(|it| it.starts_with(&note)), "{:?}", part.closing.notes);
}

#[test]
fn files_without_events_say_what_to_do() {
    let machine = MACHINES[2];
    let bytes = machine.v6("mono", &[], &[instance(machine, "", 2, 0)]);
    let find = |what: &[u8]| bytes.windows(what.len()).position(|window| window == what).unwrap();
    let why = |bytes: &[u8]| read_bytes(bytes).err().unwrap().to_string();
    // A recorder that was killed has written no more than this.
    let killed = why(&bytes[..find(b"options  \0") - 4]);
    assert!(killed.contains("trace-cmd restore"), "{killed}");
    let killed = why(&bytes[..find(b"flyrecord\0")]);
    assert!(killed.contains("trace-cmd restore"), "{killed}");
    let mut text = bytes.clone();
    let at = find(b"flyrecord\0");
    text[at..at + 10].copy_from_slice(b"latency  \0");
    assert!(why(&text).contains("latency tracer"), "{}", why(&text));
    // Cut where the first page would begin.
    let cut = why(&bytes[..at + 10 + 2 * 16]);
    assert!(cut.contains("cut short before its first event"), "{cut}");
}

#[test]
fn options_that_go_in_a_circle_end() {
    let machine = MACHINES[0];
    let mut bytes = machine.v7("mono", &[], Packing::None, &[instance(machine, "", 1, 0)]);
    // The last list's last option says where the next is: the first, which is the file's last part.
    let first = u64::from_le_bytes(bytes[27..35].try_into().unwrap());
    let at = first as usize - 8;
    assert_eq!(bytes[at..at + 8], [0; 8]);
    bytes[at..at + 8].copy_from_slice(&first.to_le_bytes());
    let why = read_bytes(&bytes).err().unwrap().to_string();
    assert!(why.contains("do not end"), "{why}");
}
