//! How fast a file is read: `cargo run --release -p tardy-import --example trace_dat_speed -- FILE [n]`.

use std::path::Path;
use std::time::Instant;
use tardy_import::Options;
use tardy_model::Batch;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: trace_dat_speed FILE [times]");
    let times: u32 = arguments.next().map_or(5, |times| times.parse().expect("a number"));
    for round in 0..times {
        let start = Instant::now();
        let (format, mut import) = tardy_import::open(Path::new(&path), &Options::default())
            .unwrap_or_else(|error| {
                eprintln!("{error}");
                std::process::exit(1)
            });
        let opened = start.elapsed();
        let begun = Instant::now();
        let (mut batch, mut events) = (Batch::default(), 0);
        while import.next_batch(&mut batch).expect("a readable file") {
            events += batch.events.len();
            batch.clear();
        }
        let reading = begun.elapsed();
        let per_second = events as f64 / reading.as_secs_f64() / 1e6;
        println!(
            "{events} events: opened in {opened:.1?}, read in {reading:.1?}, {per_second:.1} M/s"
        );
        if round == 0 {
            println!("{} {:#?} {:#?}", format.name(), import.origin(), import.closing());
        }
    }
}
