//! What was compared: loads, what was measured otherwise, what was left out and why.

use super::Part;
use crate::clean::clean;
use crate::experiment::grid::{Grid, Holds};
use crate::experiment::measured::Shown;
use crate::text::Terminal;
use crate::units::{count, duration};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tardy_experiment::Condition;

pub(super) struct Conditions;

impl Part for Conditions {
    fn terminal(
        &self,
        shown: &Shown<'_>,
        terminal: Terminal,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        grid(shown).write(terminal, out)
    }

    fn html(&self, shown: &Shown<'_>) -> Markup {
        html! {
            section #conditions {
                h2 { "Conditions" }
                (grid(shown).html())
            }
        }
    }
}

fn grid(shown: &Shown<'_>) -> Grid {
    let results = shown.results;
    let mut grid = Grid::new("What was compared");
    grid.column("condition", Holds::Name);
    grid.measured(["blocks", "measured"]);
    grid.column("load", Holds::Words);
    grid.column("otherwise", Holds::Words);
    for (number, condition) in results.experiment.conditions.iter().enumerate() {
        let blocks = results.blocks_of(number).count() as u64;
        let length_ns: u128 = results.blocks_of(number).map(|block| block.length.as_nanos()).sum();
        grid.row(vec![
            condition.name.clone(),
            count(blocks),
            if blocks == 0 { String::new() } else { duration(length_ns as u64) },
            clean(&condition.load),
            otherwise(condition),
        ]);
    }
    let measure = settings(&results.experiment.measure);
    if !measure.is_empty() {
        grid.note(format!("Measured in all of them: {measure}."));
    }
    let threads = threads(&results.experiment.kernel_threads);
    if !threads.is_empty() {
        grid.note(format!("Kernel threads in all of them: {threads}."));
    }
    let switches = switches(&results.experiment.timer_policy);
    if !switches.is_empty() {
        grid.note(format!("Timer policy in all of them: {switches}."));
    }
    for (name, why) in &results.run.left_out {
        grid.note(format!("“{name}” was left out: {why}."));
    }
    grid.without_empty_columns()
}

/// What is measured otherwise, and which kernel threads and timers have another policy.
fn otherwise(condition: &Condition) -> String {
    let words = [
        settings(&condition.measure),
        threads(&condition.kernel_threads),
        switches(&condition.timer_policy),
    ];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join("; ")
}

/// `ktimers at fifo:70`.
fn threads(policies: &BTreeMap<String, String>) -> String {
    let one = |(name, policy): (&String, &String)| format!("{name} at {policy}");
    let words: Vec<String> = policies.iter().map(one).collect();
    clean(&words.join(", "))
}

/// `rearm lazy`.
fn switches(policies: &BTreeMap<String, String>) -> String {
    let one = |(name, to): (&String, &String)| format!("{name} {to}");
    let words: Vec<String> = policies.iter().map(one).collect();
    clean(&words.join(", "))
}

/// `interval = "237us", prio = 98`: as the file has it.
fn settings(table: &toml::Table) -> String {
    let one = |(key, value): (&String, &toml::Value)| format!("{key} = {value}");
    let words: Vec<String> = table.iter().map(one).collect();
    clean(&words.join(", "))
}
