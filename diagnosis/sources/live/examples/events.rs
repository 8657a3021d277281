//! Prints the running kernel's events for a moment, one a line:
//! `cargo run -p tardy-live --example events [milliseconds]`.

use std::time::{Duration, Instant};
use tardy_live::{Live, LiveSource, Options};
use tardy_model::{Batch, Source, Tables};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let milliseconds = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let mut live = Live::start(&Options::default())?;
    eprintln!("this kernel does not have: {:?}", live.missing());
    let end = Instant::now() + Duration::from_millis(milliseconds);
    let mut tables = Tables::default();
    let mut batch = Batch::default();
    let mut going = true;
    while going {
        if Instant::now() > end {
            live.stop()?;
        }
        std::thread::sleep(Duration::from_millis(5));
        going = live.next_batch(&mut batch)?;
        batch.define(&mut tables);
        for timer in &batch.timers {
            println!("{timer:?} {}", tables.name(timer.function));
        }
        for event in &batch.events {
            println!("{} {} {:>6} {:?}", event.time_ns, event.cpu, event.task, event.kind());
        }
        batch.clear();
    }
    eprintln!("lost {}", live.lost());
    Ok(())
}
