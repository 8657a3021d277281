//! How fast a file is read: bytes and events per second, the best of some runs.
//!
//! `cargo run --release -p tardy-import --example speed -- FILE [RUNS]`

use std::path::Path;
use std::time::Instant;
use tardy_import::Options;
use tardy_model::Batch;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: speed FILE [RUNS]")?;
    let runs: u32 = arguments.next().map_or(Ok(5), |runs| runs.parse())?;
    let path = Path::new(&path);
    let bytes = std::fs::metadata(path)?.len();
    let (mut best_s, mut events) = (f64::INFINITY, 0);
    for run in 0..runs {
        let begin = Instant::now();
        let (format, mut import) = tardy_import::open(path, &Options::default())?;
        let mut batch = Batch::default();
        events = 0;
        while import.next_batch(&mut batch)? {
            events += batch.events.len();
            batch.clear();
        }
        best_s = best_s.min(begin.elapsed().as_secs_f64());
        if run == 0 {
            println!("{}, {:?}", format.name(), import.origin());
            let closing = import.closing();
            for sentence in closing.notes.iter().chain(&closing.missing) {
                println!("  {sentence}");
            }
        }
    }
    println!(
        "{:.1} MB, {events} events: {:.0} MB/s, {:.2} million events/s (best of {runs})",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / best_s,
        events as f64 / 1e6 / best_s,
    );
    Ok(())
}
