//! Writes the inputs of the binary formats, small ones, so that millions of changes can be tried:
//! `cargo run -p tardy-fuzz --example seeds -- fuzz`.
//!
//! Their events are of a real kernel, from the tests of `tardy-ftrace`. What is found by fuzzing, and
//! the texts, stand beside them in `fuzz/corpus` as they were found.

#[path = "seeds/built.rs"]
mod built;
#[path = "seeds/dat.rs"]
mod dat;
#[path = "seeds/perfetto.rs"]
mod perfetto;
#[path = "seeds/recording.rs"]
mod recording;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tardy_ftrace::format::{Endian, EventFormat};
use tardy_ftrace::page::PageLayout;
use tardy_fuzz::built::dat_file::PAGE_BYTES;

type Error = Box<dyn std::error::Error + Send + Sync>;

const FORMATS: &str = include_str!("../../diagnosis/sources/ftrace/tests/data/formats");
const HEADER_PAGE: &str = include_str!("../../diagnosis/sources/ftrace/tests/data/header_page");
const KALLSYMS: &str = include_str!("../../diagnosis/sources/ftrace/tests/data/kallsyms");
const CPUS: [&[u8]; 2] = [
    include_bytes!("../../diagnosis/sources/ftrace/tests/data/cpu0.pages"),
    include_bytes!("../../diagnosis/sources/ftrace/tests/data/cpu1.pages"),
];

/// A record of a kernel, with its time.
#[derive(Clone, Copy)]
struct Record {
    time_ns: u64,
    bytes: &'static [u8],
}

fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).ok_or("usage: seeds FOLDER, which is fuzz")?;
    let folder = Path::new(&folder);
    let write = |name: &str, bytes: &[u8]| -> Result<(), Error> {
        // Some are small and become large.
        let path = match name.split_once("/large/") {
            Some((target, name)) => folder.join("large").join(target).join(name),
            None => folder.join("corpus").join(name),
        };
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        Ok(fs::write(path, bytes)?)
    };
    let formats: Vec<&str> = FORMATS.split("group: ").skip(1).collect();
    let cpus = CPUS.map(records);
    for (cpu, records) in cpus.iter().enumerate() {
        // The first byte says which machine's it is.
        let page = [&[0][..], &page(&one_of_each(records, 2))].concat();
        write(&format!("ftrace-page/cpu{cpu}"), &page)?;
    }
    let loss = [&[0][..], &lossy(page(&one_of_each(&cpus[0], 1)))].concat();
    write("ftrace-page/loss", &loss)?;
    write("event-format/header_page", HEADER_PAGE.as_bytes())?;
    let records = one_of_each(&cpus.concat(), 1);
    for format in &formats {
        let Some((_, text)) = format.split_once('\n') else { continue };
        let parsed = EventFormat::parse(text)?;
        // Vectors differ by name only.
        if format.starts_with("irq_vectors") && parsed.name != "local_timer_entry" {
            continue;
        }
        let of_this = |record: &&Record| id(record.bytes) == parsed.id;
        let record = records.iter().find(of_this).map_or(&[][..], |record| record.bytes);
        let bytes = [text.trim_end().as_bytes(), b"\nRECORD\n", record].concat();
        write(&format!("event-format/{}", parsed.name), &bytes)?;
    }
    // Most of a file would be formats; these events have one of each kind of field.
    let few: Vec<&str> = formats.iter().copied().filter(|format| is_in_dat(format)).collect();
    let few_ids: BTreeSet<u16> = few.iter().filter_map(|format| format_id(format)).collect();
    let cpus = cpus.map(|mut records| {
        records.retain(|record| few_ids.contains(&id(record.bytes)));
        records
    });
    for (name, bytes) in dat::files(&few, &cpus) {
        write(&format!("trace-dat/{name}"), &bytes)?;
    }
    for (name, bytes) in perfetto::files()? {
        write(&format!("perfetto/{name}"), &bytes)?;
    }
    built::write(&write)?;
    recording::write(&write)
}

/// Whether the small `trace.dat` files have events of this format.
fn is_in_dat(format: &str) -> bool {
    const EVENTS: [&str; 6] = [
        "sched_switch",
        "sched_waking",
        "hrtimer_start",
        "hrtimer_expire_entry",
        "timer_start",
        "irq_handler_entry",
    ];
    EVENTS.iter().any(|event| format.contains(&format!("name: {event}\n")))
}

fn format_id(format: &str) -> Option<u16> {
    let (_, text) = format.split_once('\n')?;
    Some(EventFormat::parse(text).ok()?.id)
}

/// The number of a record's event.
fn id(record: &[u8]) -> u16 {
    u16::from_le_bytes([record[0], record[1]])
}

fn records(pages: &'static [u8]) -> Vec<Record> {
    let layout = PageLayout::parse(HEADER_PAGE, Endian::Little).expect("a kernel's header_page");
    let mut records = Vec::new();
    for page in pages.chunks(layout.page_bytes) {
        let (_, events) = layout.events(page).expect("whole pages");
        records.extend(events.map(|event| Record { time_ns: event.time_ns, bytes: event.record }));
    }
    records
}

/// The first `count` of each event, in order of time.
fn one_of_each(records: &[Record], count: usize) -> Vec<Record> {
    let ids: BTreeSet<u16> = records.iter().map(|record| id(record.bytes)).collect();
    let of =
        |id_of: u16| records.iter().filter(move |record| id(record.bytes) == id_of).take(count);
    let mut records: Vec<Record> = ids.into_iter().flat_map(of).copied().collect();
    records.sort_by_key(|record| record.time_ns);
    records
}

/// A page of as many bytes as these records take.
fn page(records: &[Record]) -> Vec<u8> {
    let first_ns = records.first().map_or(0, |record| record.time_ns);
    let (mut data, mut last_ns) = (Vec::new(), first_ns);
    for record in records {
        let delta = (record.time_ns - last_ns).min((1 << 27) - 1) as u32;
        let words = record.bytes.len().div_ceil(4);
        if words <= 28 {
            data.extend((delta << 5 | words as u32).to_le_bytes());
        } else {
            data.extend((delta << 5).to_le_bytes());
            data.extend((4 + record.bytes.len() as u32).to_le_bytes());
        }
        data.extend(record.bytes);
        data.resize(data.len().next_multiple_of(4), 0);
        last_ns = record.time_ns;
    }
    [&first_ns.to_le_bytes()[..], &(data.len() as u64).to_le_bytes(), &data].concat()
}

/// The same page after a loss of 3 events.
fn lossy(mut page: Vec<u8>) -> Vec<u8> {
    page[11] |= 0xc0;
    page.extend(3u64.to_le_bytes());
    page
}

/// Pages of [`PAGE_BYTES`].
fn pages(records: &[Record]) -> Vec<u8> {
    let (mut pages, mut rest) = (Vec::new(), records);
    while !rest.is_empty() {
        let fits = |count: &usize| page(&rest[..*count]).len() <= PAGE_BYTES;
        let count = (1..=rest.len()).take_while(fits).last().expect("records are small");
        let mut one = page(&rest[..count]);
        one.resize(PAGE_BYTES, 0);
        pages.extend(one);
        rest = &rest[count..];
    }
    pages
}
