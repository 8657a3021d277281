//! What all formats become.

use super::BINS_MAX;
use std::collections::BTreeMap;

/// What a file of histograms says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histograms {
    /// The tool that wrote it.
    pub tool: &'static str,
    /// Its version, where the file tells; else empty.
    pub version: String,
    /// The command that made it, where the file tells; else empty.
    pub command_line: String,
    /// The unit in which the tool counts, in nanoseconds. Minimum and maximum are whole units.
    pub unit_ns: u64,
    /// The width of every bin, in nanoseconds.
    pub bin_ns: u64,
    /// A row per thread, CPU or column.
    pub rows: Vec<Row>,
    /// What a reader must know besides, a sentence each.
    pub notes: Vec<String>,
}

/// One distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What the tool calls it.
    pub name: String,
    /// The thread's id, where it is told.
    pub pid: Option<u32>,
    /// The CPU, where it is told.
    pub cpu: Option<u32>,
    /// The scheduling policy, as on tardy's command line, where it is told.
    pub policy: Option<&'static str>,
    /// The real-time priority, where it is told.
    pub prio: Option<u8>,
    /// The time between two wakeups, where it is told.
    pub interval_ns: Option<u64>,
    /// Counts that are not 0, by the time at which the bin begins.
    pub bins: BTreeMap<u64, u64>,
    /// Where the last bin of the file begins, whatever is in it; `None` where the file lists only bins that hold
    /// something.
    pub last_bin_ns: Option<u64>,
    /// How many were above the bins.
    pub over: u64,
    /// How many there were, as the tool says; what is in the bins and above where it does not.
    pub count: u64,
    /// The least, where it is told.
    pub min_ns: Option<u64>,
    /// The mean, as exact as the tool tells it.
    pub mean_ns: Option<f64>,
    /// The most, where it is told.
    pub max_ns: Option<u64>,
}

/// Bins that have been filled, of at most [`BINS_MAX`].
#[derive(Debug, Default)]
pub(super) struct Filled(usize);

impl Filled {
    /// Counts `count` into the bin of `row` that begins at `from_ns`.
    pub(super) fn add(&mut self, row: &mut Row, from_ns: u64, count: u64) -> Result<(), String> {
        row.last_bin_ns = row.last_bin_ns.max(Some(from_ns));
        if count == 0 {
            return Ok(());
        }
        if self.0 == BINS_MAX {
            return Err(format!("more than {BINS_MAX} bins with a count"));
        }
        let bin = row.bins.entry(from_ns).or_default();
        self.0 += usize::from(*bin == 0);
        *bin = bin.checked_add(count).ok_or("its counts add up to more than 2^64")?;
        Ok(())
    }
}

impl Row {
    /// Whether what is in the bins and above them can be summed.
    pub(super) fn is_countable(&self) -> bool {
        let sum: u128 = self.bins.values().map(|count| u128::from(*count)).sum();
        u64::try_from(sum + u128::from(self.over)).is_ok()
    }

    /// Where the bins end: what is above them is no less. `None` where there are none.
    pub fn end_ns(&self, bin_ns: u64) -> Option<u64> {
        let last_ns = self.bins.keys().next_back().copied().max(self.last_bin_ns)?;
        Some(last_ns.saturating_add(bin_ns))
    }

    /// How many are in the bins or above them. Readers see to it that the sum is no more than `u64`.
    pub fn binned(&self) -> u64 {
        self.bins.values().sum::<u64>() + self.over
    }

    /// The time that `of_10_000` in 10,000 of all did not exceed: the upper edge of the bin in which
    /// that one lies, and no more than the maximum. `None` where it lies above the bins, or there is
    /// nothing.
    pub fn quantile_ns(&self, of_10_000: u32, bin_ns: u64) -> Option<u64> {
        let n = u128::from(self.binned());
        let rank = (n * u128::from(of_10_000)).div_ceil(10_000).max(1);
        let mut before = 0u128;
        for (from_ns, count) in &self.bins {
            before += u128::from(*count);
            if before >= rank {
                let edge_ns = from_ns.saturating_add(bin_ns);
                return Some(self.max_ns.map_or(edge_ns, |max_ns| edge_ns.min(max_ns)));
            }
        }
        None
    }

    /// What in it cannot be.
    fn contradictions(&self, bin_ns: u64) -> Vec<String> {
        let mut found = Vec::new();
        let name = &self.name;
        let binned = self.binned();
        // A tool that tells no bins contradicts nothing.
        let has_bins = !self.bins.is_empty() || self.over > 0;
        if has_bins && binned != self.count {
            found.push(format!(
                "{name}: the tool counts {} samples, but its bins have {binned}; percentiles are \
                 of those in the bins",
                self.count
            ));
        }
        // Tools round minimum and maximum as they round bins; an edge that touches is no lie.
        let first_ns = self.bins.keys().next().copied();
        if let (Some(min_ns), Some(first_ns)) = (self.min_ns, first_ns)
            && (first_ns.saturating_add(bin_ns) < min_ns || min_ns < first_ns)
        {
            found.push(format!(
                "{name}: the file gives {min_ns} ns as the minimum, but the first bin with a \
                 count begins at {first_ns} ns"
            ));
        }
        let last_ns = self.bins.keys().next_back().copied();
        if let (Some(max_ns), Some(last_ns)) = (self.max_ns, last_ns) {
            let above = max_ns > last_ns.saturating_add(bin_ns);
            if max_ns < last_ns || (above && self.over == 0) {
                found.push(format!(
                    "{name}: the file gives {max_ns} ns as the maximum, but the last bin with a \
                     count begins at {last_ns} ns"
                ));
            }
        }
        found
    }
}

/// Sentences about contradictions that are kept; beyond, they are counted.
const CONTRADICTIONS_MAX: usize = 16;

impl Histograms {
    /// Adds a note for each thing that contradicts another.
    pub(super) fn check(&mut self) {
        let found = self.rows.iter().flat_map(|row| row.contradictions(self.bin_ns));
        let mut found: Vec<String> = found.collect();
        let more = found.len().saturating_sub(CONTRADICTIONS_MAX);
        found.truncate(CONTRADICTIONS_MAX);
        self.notes.append(&mut found);
        if more > 0 {
            self.notes.push(format!("{more} more such contradictions in other rows"));
        }
    }
}
