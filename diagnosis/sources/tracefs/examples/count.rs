//! Records for some seconds, and prints what came and what it cost: `count 5`, or with a buffer of
//! 64 KiB for each CPU, `count 5 64`.

use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tardy_model::{Batch, Kind, Source};
use tardy_tracefs::{LiveSource, Options, Tracefs};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |seconds| seconds.parse())?;
    let mut options = Options::default();
    if let Some(kib) = std::env::args().nth(2) {
        options.buffer_bytes_per_cpu = Some(kib.parse::<u64>()? * 1024);
    }
    let began = Instant::now();
    let mut source = Tracefs::start(&options)?;
    println!("started in {:?}", began.elapsed());
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let (mut counts, mut last, mut stopped) = (BTreeMap::new(), None, false);
    let mut batch = Batch::default();
    let cpu_before = cpu_time_ns();
    loop {
        batch.clear();
        if !source.next_batch(&mut batch)? {
            break;
        }
        for event in &batch.events {
            *counts.entry(event.tag()).or_insert(0u64) += 1;
        }
        last = batch.events.last().copied().or(last);
        if !stopped && Instant::now() > deadline {
            source.stop()?;
            stopped = true;
        }
        if batch.is_empty() {
            sleep(Duration::from_millis(50));
        }
    }
    for (tag, name) in Kind::TAGS {
        println!("{name:14} {}", counts.get(tag).unwrap_or(&0));
    }
    let events: u64 = counts.values().sum();
    let cost_ns = cpu_time_ns() - cpu_before;
    println!("{events} events, {} ns of CPU each; last {last:?}", cost_ns / events.max(1));
    println!("{} bytes per CPU, missing: {:?}", source.bytes_per_cpu(), source.missing());
    println!("late: {}, not decoded: {}", source.late(), source.undecoded());
    for note in source.closing_notes() {
        println!("{note}");
    }
    Ok(())
}

fn cpu_time_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
