//! Histogram files as cyclictest writes them with `-h`/`-H` and `--histfile`.
//!
//! One line per microsecond, one column per thread, with `-H` one more with the sum; after them
//! totals, minima, means, maxima and overflows, in lines that begin with `#`. The same files for the
//! same plotting scripts.

use crate::Histogram;
use crate::cyclic::THREADS_MAX;
use crate::histogram::HISTOGRAM_MAX_US;
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// The longest line that is read: a column for each thread in the widest number there is.
const LINE_MAX_BYTES: usize = (THREADS_MAX + 2) * 21;

/// What a histogram file says. All columns are threads; a column of sums is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histfile {
    /// One entry per thread.
    pub threads: Vec<Column>,
}

/// What a histogram file says of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// How many latencies fell into each unit of time, from 0: µs, or ns for cyclictest's `-N`.
    pub bins: Vec<u64>,
    /// How many lay above.
    pub overflows: u64,
    /// The least.
    pub min: u64,
    /// The mean, truncated.
    pub avg: u64,
    /// The most.
    pub max: u64,
}

/// Why a histogram file is not understood.
#[derive(Debug, Error)]
pub enum HistfileError {
    /// It could not be read.
    #[error("could not read the histogram: {0}")]
    Io(#[from] io::Error),
    /// A line is not what it should be.
    #[error("line {line} of the histogram: {what}; expected a file from `cyclictest --histfile`")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// Something is not there at all.
    #[error("the histogram has no line `{0}`: is the file whole?")]
    Missing(&'static str),
}

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

/// Reads a file of cyclictest's or of ours, with or without a column of sums.
///
/// # Errors
/// Where it is not such a file, has more than [`THREADS_MAX`] threads or more bins than
/// [`HISTOGRAM_MAX_US`].
pub fn read(file: impl BufRead) -> Result<Histfile, HistfileError> {
    let mut rows: Vec<Vec<u64>> = vec![];
    let (mut min, mut avg, mut max, mut overflows) = (None, None, None, None);
    let mut file = file;
    let mut bytes = vec![];
    for line in 1.. {
        let wrong = |what: String| HistfileError::Line { line, what };
        bytes.clear();
        // Not `lines()`: a file without a line end must not decide how much memory is taken.
        let mut limited = io::Read::take(&mut file, LINE_MAX_BYTES as u64 + 1);
        if limited.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if bytes.len() > LINE_MAX_BYTES && !bytes.starts_with(b"# Thread") {
            return Err(wrong(format!("longer than {LINE_MAX_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| wrong("not text".to_owned()))?.trim();
        let numbers = |text: &str| {
            let numbers = text.split_whitespace().map(|number| {
                number.parse().map_err(|_| wrong(format!("`{number}` is not a count")))
            });
            numbers.collect::<Result<Vec<u64>, _>>()
        };
        if let Some(comment) = text.strip_prefix('#') {
            let Some((title, values)) = comment.trim_start().split_once(':') else { continue };
            let place = match title {
                "Min Latencies" => &mut min,
                "Avg Latencies" => &mut avg,
                "Max Latencies" => &mut max,
                "Histogram Overflows" => &mut overflows,
                // After it only cycle numbers, as many as there are; nothing that is read here.
                "Histogram Overflow at cycle number" => break,
                _ => continue,
            };
            *place = Some(numbers(values)?);
        } else if !text.is_empty() {
            let row = numbers(text)?;
            if row[0] != rows.len() as u64 || rows.len() >= HISTOGRAM_MAX_US {
                return Err(wrong(format!("bin {} where {} was due", row[0], rows.len())));
            }
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                return Err(wrong(format!("{} columns, others have another number", row.len())));
            }
            rows.push(row);
        }
    }
    let min = min.ok_or(HistfileError::Missing("# Min Latencies:"))?;
    let avg = avg.ok_or(HistfileError::Missing("# Avg Latencies:"))?;
    let max = max.ok_or(HistfileError::Missing("# Max Latencies:"))?;
    let overflows = overflows.ok_or(HistfileError::Missing("# Histogram Overflows:"))?;
    let count = min.len();
    // A column of sums stands after the threads in the bins, the maxima and the overflows.
    let fits = |len: usize| len == count || len == count + 1;
    let widths = [rows.first().map_or(count, |row| row.len() - 1), max.len(), overflows.len()];
    if count > THREADS_MAX || avg.len() != count || !widths.into_iter().all(fits) {
        let what = format!("{count} threads by their minima, another number elsewhere");
        return Err(HistfileError::Line { line: rows.len() + 2, what });
    }
    let threads = (0..count).map(|index| Column {
        bins: rows.iter().map(|row| row[index + 1]).collect(),
        overflows: overflows[index],
        min: min[index],
        avg: avg[index],
        max: max[index],
    });
    Ok(Histfile { threads: threads.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn read_with_and_without_sums() {
        let mut out = vec![];
        write(&mut out, &two(), false).unwrap();
        for text in [WITH_SUMS.as_bytes(), &out] {
            let file = read(text).unwrap();
            let first = Column { bins: vec![0, 1, 2, 0], overflows: 1, min: 1, avg: 2, max: 4 };
            let second = Column { bins: vec![0, 0, 0, 1], overflows: 5, min: 3, avg: 22, max: 50 };
            assert_eq!(file.threads, [first, second]);
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused_with_its_line() {
        for (text, said) in [
            ("", "no line `# Min Latencies:`"),
            ("hello\n", "line 1 of the histogram: `hello` is not a count"),
            ("000000 1\n000002 1\n", "line 2 of the histogram: bin 2 where 1 was due"),
            ("0 1\n1 1 2\n", "line 2 of the histogram: 3 columns"),
            ("0 1 2 3\n# Min Latencies: 1\n", "no line `# Avg Latencies:`"),
            (
                "0 1 2 3\n# Min Latencies: 1\n# Avg Latencies: 1\n# Max Latencies: 1\n\
                 # Histogram Overflows: 1\n",
                "1 threads by their minima",
            ),
            ("0 18446744073709551616\n", "is not a count"),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
        let long = "0 ".repeat(LINE_MAX_BYTES);
        assert!(read(long.as_bytes()).unwrap_err().to_string().contains("longer than"));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            latencies in prop::collection::vec(prop::collection::vec(0u64..40, 0..60), 1..4),
            bins in 1usize..32,
            with_sums: bool,
        ) {
            let threads: Vec<_> = latencies.iter().map(|us| histogram(bins, us)).collect();
            let mut out = vec![];
            write(&mut out, &threads, with_sums).unwrap();
            let file = read(&*out).unwrap();
            prop_assert_eq!(file.threads.len(), threads.len());
            for (read, written) in file.threads.iter().zip(&threads) {
                prop_assert_eq!(&read.bins, &written.bins);
                prop_assert_eq!(read.overflows, written.overflows);
                prop_assert_eq!((read.min, read.avg, read.max), written.min_avg_max_us());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in 0usize..WITH_SUMS.len(),
            byte: u8,
        ) {
            let _ = read(&*bytes);
            let mut damaged = WITH_SUMS.as_bytes().to_vec();
            damaged[at] = byte;
            let _ = read(&*damaged);
            let _ = read(&WITH_SUMS.as_bytes()[..at]);
        }
    }
}
