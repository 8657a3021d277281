//! Prints a recording's events, one a line: `cargo run -p tardy-recording --example events REC
//! [FROM_NS TO_NS]`.

use std::path::Path;
use tardy_model::{Batch, Tables};
use tardy_recording::Recording;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(folder) = arguments.get(1) else { return Err("which recording?".into()) };
    let bound = |at: usize, none: u64| arguments.get(at).map_or(Ok(none), |text| text.parse());
    let (from_ns, to_ns) = (bound(2, 0)?, bound(3, u64::MAX)?);
    let mut recording = Recording::open(Path::new(folder))?;
    let mut tables = Tables::default();
    let mut batch = Batch::default();
    while recording.read(&mut batch)? {
        batch.define(&mut tables);
        for event in &batch.events {
            if (from_ns..to_ns).contains(&event.time_ns) {
                println!("{} {} {:>6} {:?}", event.time_ns, event.cpu, event.task, event.kind());
            }
        }
        batch.clear();
    }
    Ok(())
}
