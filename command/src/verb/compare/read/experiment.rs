//! An experiment's folder: blocks of one condition, or of all.

use super::super::opened::{Data, Opened};
use super::super::rows::listed;
use super::{choose, circumstance};
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use tardy_experiment::{Fit, Folder, Results};
use tardy_report::{SideFacts, SideKind};
use tardy_stats::Counted;

/// Reads one. `chosen` stands behind the folder's name: a condition, or a condition and a series
/// (`quiet:cyclic-0`). Without it, each series of each condition is a row (`quiet / cyclic-0`).
pub(super) fn read(
    given: &str,
    path: &Path,
    chosen: Option<&str>,
    thread: Option<&str>,
) -> Result<Opened, Failure> {
    let results = Folder::open(path)?.into_results();
    let (condition, series) = match chosen {
        None => (None, None),
        Some(chosen) => {
            let (condition, series) = condition(&results, chosen).ok_or_else(|| {
                let names: Vec<&str> =
                    results.experiment.conditions.iter().map(|one| one.name.as_str()).collect();
                Failure::new(format!(
                    "{} has no condition {chosen:?}: it has {}",
                    path.display(),
                    listed(&names)
                ))
            })?;
            (Some(condition), series)
        }
    };
    let rounds = rounds(&results, condition);
    let all = rows(&results, condition, &rounds);
    let rows = choose(given, all, series.or(thread))?;
    let (names, rows) = rows.into_iter().unzip();
    let place = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    Ok(Opened {
        facts: facts(given, &results, condition),
        settings: results.settings(condition),
        account: Err(format!("{given} is an experiment, which keeps no events")),
        reserve: reserve(&results),
        names,
        data: Data::Blocks { run: (place, rounds), rows },
    })
}

/// The condition that a text begins with, and what stands behind it.
fn condition<'a>(results: &Results, chosen: &'a str) -> Option<(usize, Option<&'a str>)> {
    let conditions = &results.experiment.conditions;
    conditions.iter().enumerate().find_map(|(place, condition)| {
        let rest = chosen.strip_prefix(condition.name.as_str())?;
        match rest.strip_prefix(':') {
            None if rest.is_empty() => Some((place, None)),
            None => None,
            Some(series) => Some((place, Some(series))),
        }
    })
}

/// Rounds in which there is a block of what was chosen, ascending.
fn rounds(results: &Results, condition: Option<usize>) -> Vec<u32> {
    let blocks = results.blocks.iter();
    let mut rounds: Vec<u32> = blocks
        .filter(|block| condition.is_none_or(|chosen| block.condition == chosen))
        .map(|block| block.round)
        .collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds
}

/// Per series, a block for each of the rounds; empty where a round has none.
fn rows(
    results: &Results,
    condition: Option<usize>,
    rounds: &[u32],
) -> Vec<(String, Vec<Counted>)> {
    let mut rows: Vec<(String, Vec<Counted>)> = Vec::new();
    for block in &results.blocks {
        if condition.is_some_and(|chosen| block.condition != chosen) {
            continue;
        }
        let Ok(at) = rounds.binary_search(&block.round) else { continue };
        let of = results.experiment.conditions.get(block.condition);
        for series in &block.series {
            let name = match (condition, of) {
                (None, Some(of)) => format!("{} / {}", of.name, series.name),
                _ => series.name.clone(),
            };
            let place = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                rows.push((name, vec![Counted::default(); rounds.len()]));
                rows.len() - 1
            });
            rows[place].1[at].merge(&series.latencies);
        }
    }
    rows
}

/// Why its blocks may not be fit to be compared.
fn reserve(results: &Results) -> Option<String> {
    let verdict = match results.fitness.fit {
        Fit::Fit => return None,
        Fit::Doubtful => "to be compared with caution",
        Fit::Unfit => "not fit to be compared",
    };
    Some(format!("{verdict}: {}", results.fitness.why.join(" ")))
}

fn facts(given: &str, results: &Results, condition: Option<usize>) -> SideFacts {
    let load = condition.and_then(|place| results.experiment.conditions.get(place));
    let told = [
        ("experiment", results.experiment.name.as_str()),
        ("kernel", &results.run.kernel),
        ("host", &results.run.host),
        ("hypervisor", results.run.hypervisor.as_deref().unwrap_or_default()),
        ("load", load.map_or("", |condition| condition.load.as_str())),
    ];
    let mut circumstances: Vec<(String, String)> =
        told.into_iter().filter_map(|(name, value)| circumstance(name, value)).collect();
    circumstances.push(("CPUs".to_owned(), results.run.cpus.to_string()));
    let mut notes = Vec::new();
    if results.blocks.len() < results.planned {
        notes.push(format!(
            "ended early: {} of {} blocks were measured",
            results.blocks.len(),
            results.planned
        ));
    }
    notes.extend(results.notes.iter().cloned());
    SideFacts {
        given: given.to_owned(),
        kind: SideKind::Experiment,
        circumstances,
        notes,
        ..SideFacts::default()
    }
}
