//! The figures of several runs, as a table.

use super::Over;
use serde::Deserialize;
use std::fmt;

/// Makes `tardy measure` print what can be read here.
pub(super) fn ask_for(command: &mut Vec<String>) {
    let measures = matches!(command.as_slice(), [tardy, measure, ..] if tardy == "tardy" && measure == "measure");
    if measures && !command.iter().any(|word| word == "--json") {
        command.push("--json".to_owned());
    }
}

/// What is read of `tardy.measure/1`.
#[derive(Debug, Deserialize)]
struct Measured {
    threads: Vec<Thread>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    name: String,
    samples: u64,
    min_ns: Option<u64>,
    mean_ns: Option<f64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// Rows of a run and thread each.
pub(super) struct Figures(Vec<(u64, Thread)>);

impl Figures {
    /// Of runs that printed them; none where they did not.
    pub(super) fn of(runs: &[Over]) -> Option<Self> {
        let mut rows = vec![];
        for over in runs {
            let measured: Measured = serde_json::from_slice(&over.finished.stdout).ok()?;
            rows.extend(measured.threads.into_iter().map(|thread| (over.seed, thread)));
        }
        (!rows.is_empty()).then_some(Self(rows))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["min ns", "mean ns", "p99 ns", "max ns"];
        write!(f, "{:>6}  {:16} {:>9}", "seed", "thread", "n")?;
        for name in head {
            write!(f, " {name:>10}")?;
        }
        writeln!(f)?;
        let whole = |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| ns.to_string());
        for (seed, thread) in &self.0 {
            let mean = thread.mean_ns.map_or("-".to_owned(), |ns| format!("{ns:.0}"));
            writeln!(
                f,
                "{seed:>6}  {:16} {:>9} {:>10} {mean:>10} {:>10} {:>10}",
                thread.name,
                thread.samples,
                whole(thread.min_ns),
                whole(thread.p99_ns),
                whole(thread.max_ns)
            )?;
        }
        let spread = |values: Vec<f64>| {
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!("{min:.0} to {max:.0}")
        };
        let threads = || self.0.iter().map(|(_, thread)| thread);
        let means = threads().filter_map(|thread| thread.mean_ns).collect();
        let maxima = threads().filter_map(|thread| thread.max_ns.map(|ns| ns as f64)).collect();
        writeln!(
            f,
            "mean {} ns, max {} ns, over {} rows",
            spread(means),
            spread(maxima),
            self.0.len()
        )
    }
}
