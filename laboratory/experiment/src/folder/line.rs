//! A block as a line of JSON.

use crate::schedule::Slot;
use crate::{Block, Experiment, Figure, Series, SystemState};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io;
use std::time::Duration;
use tardy_stats::Counted;

/// A line: the block and a checksum of its bytes, as they stand here.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    crc32c: u32,
    #[serde(borrow)]
    block: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct Written {
    index: usize,
    condition: String,
    round: u32,
    begun_unix_s: u64,
    length_ns: u64,
    series: Vec<WrittenSeries>,
    figures: Vec<Figure>,
    notes: Vec<String>,
    before: SystemState,
    after: SystemState,
}

#[derive(Serialize, Deserialize)]
struct WrittenSeries {
    name: String,
    /// Values in ns with how often each was seen.
    values: Vec<(u64, u64)>,
}

pub(super) fn write(block: &Block, experiment: &Experiment) -> io::Result<Vec<u8>> {
    let written = Written {
        index: block.index,
        condition: experiment.conditions[block.condition].name.clone(),
        round: block.round,
        begun_unix_s: block.begun_unix_s,
        length_ns: block.length.as_nanos() as u64,
        series: block
            .series
            .iter()
            .map(|series| WrittenSeries {
                name: series.name.clone(),
                values: series.latencies.classes().to_vec(),
            })
            .collect(),
        figures: block.figures.clone(),
        notes: block.notes.clone(),
        before: block.before.clone(),
        after: block.after.clone(),
    };
    let block = serde_json::value::to_raw_value(&written)?;
    let line = Line { crc32c: crc32c::crc32c(block.get().as_bytes()), block: &block };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads a line of a run that is planned as `slots`. Says why it cannot.
pub(super) fn read(text: &[u8], experiment: &Experiment, slots: &[Slot]) -> Result<Block, String> {
    let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if crc32c::crc32c(line.block.get().as_bytes()) != line.crc32c {
        return Err("its checksum does not fit".to_owned());
    }
    let written: Written =
        serde_json::from_str(line.block.get()).map_err(|error| error.to_string())?;
    let name = written.condition;
    let slot = slots.get(written.index).ok_or_else(|| {
        format!("it is block {}, of which there are {}", written.index, slots.len())
    })?;
    if experiment.conditions[slot.condition].name != name {
        return Err(format!(
            "it belongs to {name:?}, but block {} belongs to another condition",
            written.index
        ));
    }
    let series = written.series.into_iter().map(|series| {
        let counts = series.values.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        counts.ok_or("its counts add up to more than 2^64")?;
        Ok(Series { name: series.name, latencies: Counted::new(series.values) })
    });
    Ok(Block {
        index: written.index,
        condition: slot.condition,
        round: slot.round,
        begun_unix_s: written.begun_unix_s,
        length: Duration::from_nanos(written.length_ns),
        series: series.collect::<Result<_, &str>>()?,
        figures: written.figures,
        notes: written.notes,
        before: written.before,
        after: written.after,
    })
}
