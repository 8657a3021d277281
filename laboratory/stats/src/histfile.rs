//! Histogram files as cyclictest writes them with `-h`/`-H` and `--histfile`.
//!
//! One line per microsecond, one column per thread, with `-H` one more with the sum; after them
//! totals, minima, means, maxima and overflows, in lines that begin with `#`. The same files for the
//! same plotting scripts. The `tardy-import` crate reads them.

use crate::Histogram;
use std::io::{self, Write};

/// Writes the file, with a column of sums (`-H`) where there is more than one thread and
/// `with_sums`.
///
/// # Errors
/// What `out` says.
pub fn write(mut out: impl Write, threads: &[Histogram], with_sums: bool) -> io::Result<()> {
    let with_sums = with_sums && threads.len() > 1;
    let columns = |bin: fn(&Histogram) -> u64, all: fn(&mut dyn Iterator<Item = u64>) -> u64| {
        let mut columns: Vec<u64> = threads.iter().map(bin).collect();
        if with_sums {
            columns.push(all(&mut threads.iter().map(bin)));
        }
        columns
    };
    writeln!(out, "# Histogram")?;
    let len = threads.iter().map(|thread| thread.bins.len()).max().unwrap_or(0);
    for us in 0..len {
        write!(out, "{us:06} ")?;
        let mut sum = 0;
        for (index, thread) in threads.iter().enumerate() {
            let count = thread.bins.get(us).copied().unwrap_or(0);
            sum += count;
            write!(out, "{}{count:06}", if index > 0 { "\t" } else { "" })?;
        }
        if with_sums {
            write!(out, "\t{sum:06}")?;
        }
        writeln!(out)?;
    }
    let mut line = |title: &str, columns: Vec<u64>, width: usize| {
        write!(out, "# {title}:")?;
        for column in columns {
            write!(out, " {column:0width$}")?;
        }
        writeln!(out)
    };
    let sum = |all: &mut dyn Iterator<Item = u64>| all.sum();
    let alone = |of: fn(&Histogram) -> u64| threads.iter().map(of).collect::<Vec<_>>();
    line("Total", columns(|thread| thread.bins.iter().sum(), sum), 9)?;
    line("Min Latencies", alone(|thread| thread.min_avg_max_us().0), 5)?;
    line("Avg Latencies", alone(|thread| thread.min_avg_max_us().1), 5)?;
    let max = |all: &mut dyn Iterator<Item = u64>| all.max().unwrap_or(0);
    line("Max Latencies", columns(|thread| thread.max_us, max), 5)?;
    line("Histogram Overflows", columns(|thread| thread.overflows, sum), 5)?;
    writeln!(out, "# Histogram Overflow at cycle number:")?;
    for (index, thread) in threads.iter().enumerate() {
        write!(out, "# Thread {index}:")?;
        for cycle in &thread.overflow_cycles {
            write!(out, " {cycle:05}")?;
        }
        let others = thread.overflows - thread.overflow_cycles.len() as u64;
        if others > 0 {
            write!(out, " # {others:05} others")?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tardy_import::histogram::{self, Histograms};

    fn histogram(bins_us: usize, latencies_us: &[u64]) -> Histogram {
        let mut histogram = Histogram::new(bins_us);
        for (cycle, us) in latencies_us.iter().enumerate() {
            histogram.record(us * 1000, 0, cycle as u64);
        }
        histogram
    }

    /// As cyclictest 2.40 writes it for `-H 4`, byte for byte.
    const WITH_SUMS: &str = "\
# Histogram
000000 000000\t000000\t000000
000001 000001\t000000\t000001
000002 000002\t000000\t000002
000003 000000\t000001\t000001
# Total: 000000003 000000001 000000004
# Min Latencies: 00001 00003
# Avg Latencies: 00002 00022
# Max Latencies: 00004 00050 00050
# Histogram Overflows: 00001 00005 00006
# Histogram Overflow at cycle number:
# Thread 0: 00003
# Thread 1: 00000 00002 00003 00004 # 00001 others

";

    fn two() -> [Histogram; 2] {
        [histogram(4, &[1, 2, 2, 4]), histogram(4, &[50, 3, 40, 30, 4, 5])]
    }

    #[test]
    fn written_as_cyclictest_writes_it() {
        let mut out = vec![];
        write(&mut out, &two(), true).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), WITH_SUMS);
    }

    /// What was written, as the reader of such files understands it.
    fn read(text: &[u8]) -> Histograms {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        histogram::open(file.path()).unwrap()
    }

    #[test]
    fn read_with_and_without_sums() {
        let mut out = vec![];
        write(&mut out, &two(), false).unwrap();
        for text in [WITH_SUMS.as_bytes(), &out] {
            let file = read(text);
            let rows: Vec<_> =
                file.rows.iter().map(|row| (row.count, row.over, row.max_ns)).collect();
            assert_eq!(rows, [(4, 1, Some(4_000)), (6, 5, Some(50_000))]);
            assert!(
                matches!(&file.notes[..], [note] if note.contains("means")),
                "{:?}",
                file.notes
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            latencies in prop::collection::vec(prop::collection::vec(0u64..40, 1..60), 1..4),
            bins in 1usize..32,
            with_sums: bool,
        ) {
            let threads: Vec<_> = latencies.iter().map(|us| histogram(bins, us)).collect();
            let mut out = vec![];
            write(&mut out, &threads, with_sums).unwrap();
            let file = read(&out);
            prop_assert_eq!(file.rows.len(), threads.len());
            for (read, written) in file.rows.iter().zip(&threads) {
                let bins = written.bins.iter().enumerate().filter(|(_, count)| **count > 0);
                let bins: Vec<_> = bins.map(|(us, count)| (us as u64 * 1_000, *count)).collect();
                prop_assert_eq!(read.bins.clone().into_iter().collect::<Vec<_>>(), bins);
                prop_assert_eq!((read.over, read.count), (written.overflows, written.count()));
                let (min, avg, max) = written.min_avg_max_us();
                prop_assert_eq!((read.min_ns, read.max_ns), (Some(min * 1_000), Some(max * 1_000)));
                // The reader takes the mean of the bins, where all samples are in one.
                let sum_us: usize = written.bins.iter().enumerate().map(|(us, n)| us * *n as usize).sum();
                let mean_us = if written.overflows > 0 {
                    avg as f64
                } else {
                    sum_us as f64 / written.count() as f64
                };
                let read_us = read.mean_ns.map(|ns| ns / 1e3);
                prop_assert!(read_us.is_some_and(|us| (us - mean_us).abs() < 1e-6), "{:?}", read_us);
            }
        }
    }
}
