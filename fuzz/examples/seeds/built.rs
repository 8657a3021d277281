//! How to build files and streams: the other inputs, and stories that are told in tests, in the words of
//! `tardy_fuzz::built`.

use super::{CPUS, Error, FORMATS, Record, id, one_of_each, records};
use std::path::Path;
use tardy_ftrace::format::EventFormat;
use tardy_fuzz::built::{BUILT, CLOSE, PACKET};
use tardy_import::{Input, Options, read};
use tardy_model::{Batch, Event};
use tardy_perfetto::wire::{Fields, Value};
use tardy_perfetto::{Described as _, Message, Trace};

type Write<'a> = &'a dyn Fn(&str, &[u8]) -> Result<(), Error>;

/// Stories of which events are made: some of each kind.
const STORIES: [&str; 18] = [
    "deadline_budget_busy",
    "cfs_bandwidth_of_named_group",
    "hotplug_moves_timer",
    "fsync_four_waits",
    "soft_timer_preempted_twice",
    "softirq_in_ksoftirqd",
    "timer_in_slack",
    "many_timers_first",
    "stopped_in_a_call_for_a_lock",
    "forced_idle",
    "events_lost",
    "nmi",
    "id_used_again",
    "device_wakes_by_its_thread",
    "policy_boosted",
    "real_time_bandwidth",
    "wheel_softirq_waits_to_begin",
    "periodic_timerfd",
];

/// Where they are.
const TRACES: &str = "../diagnosis/explain/tests/cases/traces";

/// A story has so many events at most here.
const EVENTS_MAX: usize = 60;

/// Writes them.
pub(super) fn write(write: Write<'_>) -> Result<(), Error> {
    for (cpu, pages) in CPUS.into_iter().enumerate() {
        let records = one_of_each(&records(pages), 1);
        // Versions and packing: 7, 6, 7 packed.
        for kind in 1..=3u8 {
            let how = trace_dat(kind, cpu as u8, &records);
            write(&format!("trace-dat/built-{cpu}-{kind}"), &how)?;
        }
    }
    for (name, file) in super::perfetto::files()? {
        if matches!(name, "plain" | "compact") {
            let mut how = vec![BUILT];
            for packet in packets(&file) {
                how.push(PACKET);
                fields(Trace::MESSAGE.and_then(|trace| trace.fields[0].message), packet, &mut how);
            }
            write(&format!("perfetto/built-{name}"), &how)?;
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(TRACES);
    let mut paths: Vec<_> = std::fs::read_dir(folder)?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if !STORIES.contains(&name) {
            continue;
        }
        let events = told(&path)?;
        write(&format!("explain/{name}"), &[&[0][..], &events.concat()].concat())?;
        if name == STORIES[0] {
            let mut how = vec![BUILT, 1, 1, 1, 1, b'a', 2, 1, 1, 1, 1, 1, 0];
            for events in events.chunks(16) {
                how.extend([0, events.len() as u8]);
                how.extend(events.concat());
            }
            write("segment/built", &how)?;
        }
    }
    Ok(())
}

/// A number as `Taker::number` takes it.
fn number(number: u64) -> Vec<u8> {
    if number < 0xe0 {
        return vec![number as u8];
    }
    let bytes = (8 - number.leading_zeros() as usize / 8).max(1);
    [&[0xe0 | (bytes as u8 - 1)][..], &number.to_le_bytes()[..bytes]].concat()
}

fn some(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(255)];
    [&[bytes.len() as u8][..], bytes].concat()
}

fn trace_dat(kind: u8, cpu: u8, records: &[Record]) -> Vec<u8> {
    let ids: Vec<u16> = FORMATS
        .split("group: ")
        .filter_map(|text| EventFormat::parse(text.split_once('\n')?.1).ok())
        .map(|format| format.id)
        .collect();
    let (mut how, mut last_ns) =
        (vec![BUILT, kind], records.first().map_or(0, |first| first.time_ns));
    how.extend([0xe1, cpu]);
    how.extend(number(last_ns));
    for record in records {
        let Some(at) = ids.iter().position(|known| *known == id(record.bytes)) else { continue };
        how.extend([at as u8, cpu]);
        how.extend(number(record.time_ns - last_ns));
        how.push(record.bytes[4]);
        how.extend(some(&record.bytes[8..]));
        how.push(0);
        last_ns = record.time_ns;
    }
    how
}

fn packets(trace: &[u8]) -> Vec<&[u8]> {
    let (mut packets, mut fields) = (Vec::new(), Fields::of(trace));
    while let Ok(Some((_, value))) = fields.next() {
        packets.push(value.bytes());
    }
    packets
}

fn fields(message: Option<&'static Message>, bytes: &[u8], how: &mut Vec<u8>) {
    let Some(message) = message else { return };
    let mut fields_of = Fields::of(bytes);
    while let Ok(Some((number_of, value))) = fields_of.next() {
        let known = message.fields.iter().position(|field| field.number == number_of);
        let Some(at) = known else { continue };
        let field = &message.fields[at];
        how.push(at as u8);
        match value {
            _ if field.message.is_some() => {
                fields(field.message, value.bytes(), how);
                how.push(CLOSE);
            }
            Value::Bytes(bytes) if field.encoding.contains("packed = \"true\"") => {
                let mut numbers = Vec::new();
                let _ = tardy_perfetto::wire::numbers(Value::Bytes(bytes), |number| {
                    numbers.push(number);
                });
                how.push(numbers.len() as u8);
                how.extend(numbers.into_iter().flat_map(number));
            }
            Value::Bytes(bytes) => how.extend(some(bytes)),
            other => how.extend(number(other.number())),
        }
    }
}

/// The events of a trace, each as `built/events.rs` takes it: with few tasks and timers.
fn told(path: &Path) -> Result<Vec<Vec<u8>>, Error> {
    let input = Input::from_bytes(path, std::fs::read(path)?);
    let (_, mut import) = read(input, &Options::default())?;
    let mut batch = Batch::default();
    let mut events = Vec::new();
    loop {
        batch.clear();
        let more = import.next_batch(&mut batch)?;
        events.append(&mut batch.events);
        if !more {
            break;
        }
    }
    let mut tasks: Vec<u32> = vec![0];
    for event in &events {
        if !tasks.contains(&event.task.0) {
            tasks.push(event.task.0);
        }
    }
    let mut last_ns = events.first().map_or(0, |first| first.time_ns);
    let few = |task: u32| tasks.iter().position(|known| *known == task).map(|at| at as u32);
    let told = |event: &Event| {
        let payload = event.payload();
        let task = few(event.task.0).unwrap_or_default() as u8 & 7;
        let mut how = vec![event.tag(), task << 2 | event.cpu.0 as u8 & 3, 253];
        how.extend(number(event.time_ns - last_ns));
        last_ns = event.time_ns;
        how.push(payload.flags);
        match payload.a {
            small @ 0..253 => how.push(small as u8),
            later if later >= event.time_ns => {
                how.push(254);
                how.extend(number(later - event.time_ns));
            }
            any => {
                how.push(255);
                how.extend(number(any));
            }
        }
        how.extend(number(few(payload.b).unwrap_or(payload.b).into()));
        how.extend(number(payload.c.into()));
        how
    };
    Ok(events.iter().take(EVENTS_MAX).map(told).collect())
}
