//! Writes the pages of the five experiments, with made-up results, into a folder:
//! `cargo run -p tardy-report --example experiment_pages -- DIR`. To look at while changing them.

#[path = "../tests/experiments/fixture.rs"]
mod fixture;

use std::{env, fs, io, path::PathBuf};
use tardy_report::{ExperimentData, Terminal, experiment_page, experiment_text};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    fs::create_dir_all(&folder)?;
    for made in fixture::all() {
        let data = ExperimentData { results: &made.results, comparisons: &made.comparisons };
        let name = &made.results.experiment.name;
        fs::write(folder.join(format!("{name}.html")), experiment_page(data))?;
        let mut text = Vec::new();
        experiment_text(data, Terminal::default(), &mut text)?;
        fs::write(folder.join(format!("{name}.txt")), text)?;
    }
    Ok(())
}
