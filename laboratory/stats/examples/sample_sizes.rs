//! How many wakeups does it take to see a difference? Prints a table.
//!
//! ```text
//! cargo run --release -p tardy-stats --example sample_sizes            wakeups made by rule
//! cargo run --release -p tardy-stats --example sample_sizes -- FILE    a latency in ns a line, in order of time
//! ```

use std::error::Error;
use tardy_stats::ab::{Effect, Needed, Question, Test, needed};
use tardy_stats::{Counted, Sample};

#[path = "../tests/ab/synthetic.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod synthetic;

/// The chance to see what is there.
const POWER: f64 = 0.8;

/// How many wakeups are made, and how long a block of them or of a file is: a second at 1 ms.
const PILOT: usize = 200_000;
const BLOCK: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let samples = if let Some(file) = std::env::args().nth(1) {
        let text = std::fs::read_to_string(&file).map_err(|why| format!("{file}: {why}"))?;
        let series: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        let series = series.map_err(|why| format!("{file}: {why}: one latency in ns a line"))?;
        vec![
            Sample::of_series("in blocks of 1000", &series, series.len() / BLOCK),
            Sample::unordered("taken for independent", Counted::of_values(series), 1),
        ]
    } else {
        let mut maker = synthetic::Maker::new(1);
        let independent = Counted::of_values(maker.wakeups(PILOT));
        let spells = maker.moody(PILOT);
        vec![
            Sample::unordered("independent", independent, 1),
            Sample::of_series("spells, in blocks of 1000", &spells, PILOT / BLOCK),
        ]
    };
    for sample in &samples {
        table(sample);
    }
    Ok(())
}

fn table(pilot: &Sample) {
    let question = Question::default();
    let tests = question.quantiles.len() + 2;
    println!("\n{}: n = {}, {} blocks", pilot.name, pilot.count(), pilot.blocks.len());
    println!("for a chance of {POWER}, at {} for all {tests} tests together\n", question.alpha);
    println!("| what happens | soonest by | values a side | then by | values a side |");
    println!("|---|---|---:|---|---:|");
    let shift = |ns| (format!("all {ns} ns later"), Effect::Shift { ns });
    let late = |share: f64, ns: u64| {
        (format!("{} % later by {} µs", share * 100.0, ns / 1000), Effect::Late { share, ns })
    };
    for (what, effect) in [
        shift(50),
        shift(100),
        shift(500),
        shift(1000),
        late(0.1, 3000),
        late(0.01, 3000),
        late(0.01, 30_000),
        late(0.001, 30_000),
        late(0.0001, 100_000),
    ] {
        let all = needed(pilot, effect, POWER, &question);
        let cells = |needed: Option<&Needed>| {
            needed.map_or("— | —".to_owned(), |one| {
                format!("{} | {}", name(one.test), one.values)
            })
        };
        println!("| {what} | {} | {} |", cells(all.first()), cells(all.get(1)));
    }
}

fn name(test: Test) -> String {
    match test {
        Test::Mean => "mean".to_owned(),
        Test::Ranks => "ranks".to_owned(),
        Test::Quantile(q) => format!("p{}", (q * 1e6).round() / 1e4),
    }
}
