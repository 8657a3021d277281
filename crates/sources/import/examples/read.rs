//! Reads a trace and says what it is, what is in it, and how fast it was read: `read FILE [FORMAT]`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use tardy_import::Options;
use tardy_model::{Batch, Event, Kind};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: read FILE [FORMAT]")?);
    let format = arguments.next().map(|name| name.to_string_lossy().into_owned());
    let began = Instant::now();
    let (format, mut import) = tardy_import::open(&path, &Options { format, abi: None })?;
    let opened = began.elapsed();
    let mut batch = Batch::default();
    let mut kinds: BTreeMap<u8, u64> = BTreeMap::new();
    let mut events = 0_u64;
    while import.next_batch(&mut batch)? {
        events += batch.events.len() as u64;
        for tag in batch.events.iter().map(Event::tag) {
            *kinds.entry(tag).or_default() += 1;
        }
        batch.clear();
    }
    let took = began.elapsed();
    println!("{}: {:?}", format.name(), import.origin());
    for (tag, name) in Kind::TAGS {
        if let Some(count) = kinds.get(tag) {
            println!("{count:>12} {name}");
        }
    }
    println!("{:#?}", import.closing());
    println!(
        "{events} events in {:.3} s ({:.3} s of it before the first): {:.2} million a second",
        took.as_secs_f64(),
        opened.as_secs_f64(),
        events as f64 / took.as_secs_f64() / 1e6
    );
    Ok(())
}
