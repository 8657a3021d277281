//! Pages of a real kernel, read as that kernel itself reads them, and decoded.
//!
//! The fixture in `data/` was made by `examples/capture_fixture.rs`; its text files are what the
//! kernel wrote of the same pages.

use proptest::prelude::*;
use std::collections::HashMap;
use tardy_ftrace::decode::Decoder;
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_ftrace::page::PageLayout;
use tardy_kernel::{ClockOffsets, Symbols};
use tardy_model::event::{Irq, Vector};
use tardy_model::{Batch, CpuId, Kind, Tables, TimerClass};

const FORMATS: &str = include_str!("data/formats");
const HEADER_PAGE: &str = include_str!("data/header_page");
const KALLSYMS: &str = include_str!("data/kallsyms");
const CPUS: [(&[u8], &str); 2] = [
    (include_bytes!("data/cpu0.pages"), include_str!("data/cpu0.text")),
    (include_bytes!("data/cpu1.pages"), include_str!("data/cpu1.text")),
];

/// The fixture's machine ticks at 250 Hz.
const TICK_NS: u64 = 4_000_000;

fn formats() -> Vec<(&'static str, EventFormat)> {
    let parts = FORMATS.split("group: ").skip(1);
    parts
        .map(|part| {
            let (group, format) = part.split_once('\n').unwrap();
            (group, EventFormat::parse(format).unwrap())
        })
        .collect()
}

/// Every record of the fixture, in time order.
fn records() -> Vec<(u64, CpuId, &'static [u8])> {
    let layout = PageLayout::parse(HEADER_PAGE, Endian::Little).unwrap();
    let mut records = Vec::new();
    for (cpu, (pages, _)) in (0..).zip(CPUS) {
        for page in pages.chunks(layout.page_bytes) {
            let (_, events) = layout.events(page).unwrap();
            records.extend(events.map(|event| (event.time_ns, CpuId(cpu), event.record)));
        }
    }
    records.sort_by_key(|(time_ns, ..)| *time_ns);
    records
}

#[test]
fn pages_read_as_the_kernel_reads_them() {
    let formats = formats();
    let kind = formats[0].1.field("common_type").unwrap();
    let names: HashMap<u64, &str> =
        formats.iter().map(|(_, format)| (format.id.into(), format.name.as_str())).collect();
    for (cpu, (_, text)) in (0..).zip(CPUS) {
        let ours: Vec<String> = records()
            .into_iter()
            .filter(|(_, on, _)| on.0 == cpu)
            .map(|(time_ns, _, record)| {
                let name = names[&kind.number(record, Endian::Little).unwrap()];
                // The kernel rounds to microseconds.
                format!("{} {name}", (time_ns + 500) / 1000)
            })
            .collect();
        assert!(ours.len() > 100, "{} events on CPU {cpu}", ours.len());
        let kernels: Vec<&str> = text.lines().take(ours.len()).collect();
        assert_eq!(ours, kernels, "CPU {cpu}");
    }
}

#[test]
fn records_become_events_of_the_model() {
    let clocks =
        ClockOffsets { realtime_ahead_ns: 1 << 60, boottime_ahead_ns: 0, tai_ahead_ns: 1 << 60 };
    let mut decoder = Decoder::new(Endian::Little, clocks, TICK_NS, Symbols::from_text(KALLSYMS));
    for (group, format) in formats() {
        assert!(decoder.learn(group, &format), "{group}/{}", format.name);
    }
    let records = records();
    let (mut batch, mut tables) = (Batch::default(), Tables::default());
    let (kind, rename) = formats()
        .into_iter()
        .find(|(_, format)| format.name == "task_rename")
        .map(|(_, format)| (format.field("common_type").unwrap().clone(), format.id))
        .unwrap();
    // Every record is one event; names are told beside them, and by renaming itself.
    let mut others = 0;
    for (time_ns, cpu, record) in &records {
        others += usize::from(kind.number(record, Endian::Little) != Some(rename.into()));
        decoder.decode(*time_ns, *cpu, record, &mut batch);
    }
    batch.define(&mut tables);
    assert_eq!(decoder.undecoded(), 0);
    let not_names = batch.events.iter().filter(|event| !matches!(event.kind(), Kind::TaskName(_)));
    assert_eq!(not_names.count(), others);
    assert_eq!(decoder.silent_idle_cpus(), [CpuId(1)], "as this kernel was");
    assert!(batch.events.is_sorted_by_key(|event| event.time_ns));

    let (mut sleepers, mut wheel, mut ticks, mut interrupts) = (0, 0, 0, 0);
    for event in &batch.events {
        match event.kind() {
            Kind::TimerArm(arm) => {
                let timer = tables.timer(arm.timer);
                assert!((1..1000).contains(&timer.address), "a place, no address: {timer:?}");
                match (tables.function(arm.timer), timer.class) {
                    ("hrtimer_wakeup", _) => {
                        sleepers += 1;
                        assert_eq!(timer.owner, event.task);
                    }
                    ("tick_nohz_handler", _) => {
                        ticks += 1;
                        assert_eq!(arm.soft_ns % TICK_NS, 0, "a tick is at its phase");
                    }
                    (_, TimerClass::TimerList) => {
                        wheel += 1;
                        assert!(arm.mode.is_soft() && arm.soft_ns >= event.time_ns);
                    }
                    _ => {}
                }
            }
            Kind::ExpireBegin(begin) => {
                assert!(!tables.function(begin.timer).starts_with("0x"));
                assert!(begin.soft_ns <= event.time_ns, "{event:?}");
            }
            Kind::IrqBegin(begin) if begin.irq == Irq::Vector(Vector::LOCAL_TIMER) => {
                interrupts += 1;
            }
            _ => {}
        }
    }
    println!("{sleepers} {wheel} {ticks} {interrupts}");
    assert!(sleepers > 0 && wheel > 0 && ticks > 0 && interrupts > 0);
}

proptest! {
    /// Whatever stands in records of known events, at whatever times: each is an event or counted.
    #[test]
    fn hostile_records(
        records in prop::collection::vec(
            (any::<u64>(), any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..80)),
            0..40,
        ),
        realtime_ahead_ns: i64,
        boottime_ahead_ns: i64,
        tai_ahead_ns: i64,
        tick_ns: u64,
    ) {
        let formats = formats();
        let clocks = ClockOffsets { realtime_ahead_ns, boottime_ahead_ns, tai_ahead_ns };
        let mut decoder = Decoder::new(Endian::Little, clocks, tick_ns, Symbols::from_text(KALLSYMS));
        for (group, format) in &formats {
            decoder.learn(group, format);
        }
        let mut batch = Batch::default();
        for (time_ns, which, mut bytes) in records.iter().cloned() {
            if let Some(kind) = bytes.get_mut(..2) {
                kind.copy_from_slice(&which.get(&formats).1.id.to_le_bytes());
            }
            decoder.decode(time_ns, CpuId(0), &bytes, &mut batch);
        }
        prop_assert!(batch.events.len() as u64 + decoder.undecoded() >= records.len() as u64);
    }
}
